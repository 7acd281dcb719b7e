"""Answers whose constraints run on the device, in the real engine: states, drafts and masks by kernels.

Only Model Runner V2 has them. On a CPU the kernels run under Triton's interpreter, or as their
definitions in torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from semqa import InputError, Source
from semqa.decoding import QuotePolicy
from tests.vllm.engine import PROCESSOR, Engine, params
from tests.vllm.tiny import SOURCES

HERE = QuotePolicy(min_quotes=2)
"""What the device takes."""
CHARS = QuotePolicy(boundary="char", min_quotes=1, numbers="quoted")
AWAY = QuotePolicy(max_words=20, min_quotes=1)
"""What stays with the host."""
REPEATS = [Source("the bridge, the bridge, the bridge, the bridge, the bridge. " * 8)]
SMALL: dict[str, Any] = {
    "max_num_batched_tokens": 64,
    "block_size": 32,
    "num_gpu_blocks_override": 9,
    "enable_prefix_caching": True,
    "max_num_seqs": 6,
    "max_model_len": 256,
}


def forbidding_processor() -> type:
    """Return a processor that forbids all tokens of a request after as many as it says."""
    from vllm.v1.worker.gpu.sample.logits_processor.interface import LogitsProcessor

    class Forbidding(LogitsProcessor):  # type: ignore[misc]
        def __init__(self, _config: Any, requests: Any) -> None:
            self._requests = requests
            self._after: dict[int, int] = {}

        def add_request(self, slot: int, sampling: Any) -> bool:
            self._after[slot] = (sampling.extra_args or {}).get("forbid_after", 1000)
            return True

        def apply(self, logits: Any, context: Any) -> Any:
            for row, slot in enumerate(context.expanded_idx_mapping.tolist()):
                written = int(
                    self._requests.total_len.gpu[slot] - self._requests.prompt_len.np[slot]
                )
                if written >= self._after[slot]:
                    logits[row] = float("-inf")
            return logits

    return Forbidding


@pytest.fixture(params=["triton", "torch"])
def kernels(runner: int, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if runner == 1:
        pytest.skip("the first model runner keeps its tokens on the host")
    monkeypatch.setenv("SEMQA_VLLM_KERNELS", request.param)
    return str(request.param)


def away(engine: Engine) -> int:
    """Return how many answers the device has, of those that were last in the slots."""
    return int(engine.processor._second._answers.away.sum())


@pytest.mark.parametrize("kernels", ["triton"], indirect=True)
def test_answers_of_a_full_engine_are_valid(llama: Path, kernels: str) -> None:
    """Requests join, are preempted, go on and leave; some stay with the host, some are foreign."""
    engine = Engine(llama, **SMALL)
    try:
        kinds = (HERE, CHARS, AWAY, None)
        given = [
            params(kinds[n % 4], max_tokens=48, temperature=1.0 + n % 3 / 2)
            if kinds[n % 4]
            else params(sources=None, max_tokens=10)
            for n in range(8)
        ]
        prompts = ["Who sang it, and when was it? " * 2 if n % 2 else "Who?" for n in range(8)]
        served: list[int] = []
        outputs = engine.run(
            given, prompts=prompts, between=lambda _step, _last: served.append(away(engine))
        )
        assert max(served) >= 2, "the device had answers"
        assert engine.metric("vllm:num_preemptions") > 0
        for n, policy in enumerate(kinds * 2):
            if policy is not None:
                engine.check(outputs[str(n)].outputs[0], policy)
    finally:
        engine.close()


def test_drafts_and_budgets(llama: Path, kernels: str) -> None:
    """Drafts are checked by states of their own, and every answer ends within its tokens."""
    drafts = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3}
    engine = Engine(llama, max_model_len=256, speculative_config=drafts)
    try:
        chars = QuotePolicy(boundary="char", min_quotes=3)
        kinds = [(chars, 44), (chars, 36), (QuotePolicy(), 3), (QuotePolicy(), 9), (HERE, 30)]
        given = [
            params(policy, REPEATS, max_tokens=most, temperature=float(n % 2))
            for n, (policy, most) in enumerate(kinds)
        ]
        outputs = engine.generate(given, "the bridge, the bridge, the bridge, the bridge")
        for (policy, most), output in zip(kinds, outputs, strict=True):
            assert len(output.outputs[0].token_ids) <= most
            engine.check(output.outputs[0], policy, REPEATS)
        assert away(engine) == 5
        assert engine.metric("vllm:spec_decode_num_accepted_tokens") > 0
    finally:
        engine.close()


def test_others_forbid_all_that_is_allowed(llama: Path, kernels: str) -> None:
    """An answer to which another processor leaves nothing is ended; its neighbours are not."""
    engine = Engine(llama, processors=[forbidding_processor(), PROCESSOR], max_model_len=256)
    try:
        policy = QuotePolicy(quote_bias=50)
        given = [params(policy, seed=n, max_tokens=30) for n in range(3)]
        given[1].extra_args |= {"forbid_after": 6}
        outputs = engine.generate([*given, params(sources=None, seed=4)])
        assert away(engine) == 3
        assert outputs[1].outputs[0].finish_reason == "stop"
        assert len(outputs[1].outputs[0].token_ids) == 7
        assert all(
            token in engine.vocabulary.eos_ids for token in outputs[1].outputs[0].token_ids[6:]
        )
        for n in (0, 2):
            engine.check(outputs[n].outputs[0], policy)
    finally:
        engine.close()


def test_answers_without_room_on_the_device_stay_with_the_host(
    llama: Path, kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from semqa.decoding import program
    from semqa.decoding.device import DeviceSlots

    def no_memory(*_: Any, **__: Any) -> Any:
        raise MemoryError("no room")

    engine = Engine(llama, max_model_len=256)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(DeviceSlots, "_hold", no_memory)
            outputs = engine.generate([params(HERE), params(CHARS)])
            assert away(engine) == 0
        with monkeypatch.context() as patch:
            patch.setattr(program, "build_program", no_memory)
            outputs += engine.generate([params(HERE, REPEATS)])
            assert away(engine) == 0
        for output, policy, sources in zip(
            outputs, (HERE, CHARS, HERE), (SOURCES, SOURCES, REPEATS), strict=True
        ):
            engine.check(output.outputs[0], policy, sources)
    finally:
        engine.close()


def test_a_choice_that_there_is_not_is_refused(
    llama: Path, runner: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if runner == 1:
        pytest.skip("the first model runner keeps its tokens on the host")
    monkeypatch.setenv("SEMQA_VLLM_KERNELS", "cuda")
    with pytest.raises(InputError, match=r"^SEMQA_VLLM_KERNELS: got 'cuda', expected auto, triton"):
        Engine(llama)
