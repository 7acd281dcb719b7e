"""The real vLLM in this process, and how answers from it are judged."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from semqa import QuotedAnswer, Source
from semqa.decoding import QuotePolicy, Vocabulary
from semqa.decoding.vllm import to_extra_args
from tests.vllm.tiny import SOURCES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

PROCESSOR = "semqa.decoding.vllm:CopyConstraintProcessor"
PROMPT = "Who?"


def params(
    policy: QuotePolicy | None = None,
    sources: Sequence[Source] | None = SOURCES,
    **options: Any,
) -> Any:
    """Return sampling parameters, at temperature 1, with sources unless they are None."""
    from vllm import SamplingParams

    extra = None if sources is None else to_extra_args(sources, policy or QuotePolicy())
    given: dict[str, Any] = {"temperature": 1.0, "max_tokens": 40, "extra_args": extra}
    return SamplingParams(**(given | options))


class Engine:
    """An engine in this process.

    Args:
        folder: the model.
        processors: what vLLM is told to load.
        options: of vLLM's `LLM`.
    """

    def __init__(
        self, folder: Path, *, processors: Sequence[Any] = (PROCESSOR,), **options: Any
    ) -> None:
        from vllm import LLM

        defaults: dict[str, Any] = {
            "dtype": "float32",
            "enforce_eager": True,
            "kv_cache_memory_bytes": 64 << 20,
            "max_model_len": 512,
            "max_num_seqs": 8,
            "logits_processors": list(processors),
            "disable_log_stats": False,
        }
        gc.freeze()  # vLLM collects garbage ten times per engine, and what was imported stays
        self.llm = LLM(model=str(folder), **(defaults | options))
        self.config = self.llm.llm_engine.vllm_config
        self._vocabulary: Vocabulary | None = None
        self._count = 0

    @property
    def vocabulary(self) -> Vocabulary:
        if self._vocabulary is None:
            tokenizer = self.llm.get_tokenizer()
            size = max(self.config.model_config.get_vocab_size(), len(tokenizer))
            self._vocabulary = Vocabulary.from_tokenizer(tokenizer, size)
        return self._vocabulary

    @property
    def processor(self) -> Any:
        """The processor as vLLM has made it, in this process."""
        executor = self.llm.llm_engine.engine_core.engine_core.model_executor
        runner = executor.driver_worker.worker.model_runner
        if self.config.use_v2_model_runner:
            return runner.sampler.logits_processors[-1]
        (found,) = (
            one
            for one in runner.input_batch.logitsprocs.all
            if type(one).__name__ == "CopyConstraintProcessor"
        )
        return found

    def generate(self, given: Sequence[Any], prompt: Any = PROMPT) -> list[Any]:
        """Return the outputs to one prompt under each of the sampling parameters."""
        outputs = self.llm.generate([prompt] * len(given), list(given), use_tqdm=False)
        return list(outputs)

    def run(
        self,
        given: Sequence[Any],
        *,
        prompts: Sequence[Any] | None = None,
        between: Callable[[int, dict[str, Any]], None] | None = None,
        at_a_time: int = 3,
    ) -> dict[str, Any]:
        """Let requests join step by step, and return the last output of each, by its name."""
        engine = self.llm.llm_engine
        waiting = list(range(len(given)))
        last: dict[str, Any] = {}
        step = 0
        while waiting or engine.has_unfinished_requests():
            for number in waiting[:at_a_time]:
                prompt = PROMPT if prompts is None else prompts[number]
                engine.add_request(str(number), prompt, given[number].clone())
            waiting = waiting[at_a_time:]
            for output in engine.step():
                last[output.request_id] = output
            if between is not None:
                between(step, last)
            step += 1
        return last

    def metric(self, name: str) -> float:
        """Return the sum of one of vLLM's counters so far."""
        return float(sum(one.value for one in self.llm.get_metrics() if one.name == name))

    def check(
        self,
        completion: Any,
        policy: QuotePolicy | None = None,
        sources: Sequence[Source] = SOURCES,
        *,
        stopped_by_text: bool = False,
    ) -> QuotedAnswer:
        """Hold an answer to the language: finished, quotes verified, each token allowed."""
        from semqa.decoding import CopyConstraint

        policy = policy or QuotePolicy(free="any")
        assert completion.finish_reason == "stop"
        answer = QuotedAnswer.parse(completion.text, sources)
        assert all(quote.verified for quote in answer.quotes), completion.text
        assert answer.quotes or answer.abstained or stopped_by_text, completion.text
        assert "[" not in "".join(s.text for s in answer.segments if s not in answer.quotes)
        tokens = list(completion.token_ids)
        constraint = CopyConstraint(self.vocabulary, sources, policy)
        state = constraint.start(None)
        for token in tokens:
            state = constraint.advance(state, token)
        assert constraint.has_ended(state) or stopped_by_text
        return answer

    def close(self) -> None:
        """Let go of the engine, so that the process can have another."""
        from vllm.distributed import cleanup_dist_env_and_memory

        self.llm.llm_engine.engine_core.shutdown()
        del self.llm
        gc.collect()
        cleanup_dist_env_and_memory()
