"""Random weights as the adversary, in the real engine: tight memory, prompts in pieces."""

from __future__ import annotations

from typing import Any

import pytest

from semqa import QuotedAnswer
from semqa.decoding import QuotePolicy
from tests.vllm.engine import Engine, params
from tests.vllm.tiny import SOURCES

# No seeds where prompts may be read in pieces: on a CPU vLLM's first runner cannot take back a draw.
# Prompts are read in pieces, prefixes are shared, and there is no room for all answers at once.
OPTIONS = {
    "max_num_batched_tokens": 64,
    "block_size": 32,
    "num_gpu_blocks_override": 14,
    "enable_prefix_caching": True,
    "max_num_seqs": 8,
    "max_model_len": 256,
}
LONG = "Who sang it, and when was the bridge opened? " * 2
POLICIES = (
    QuotePolicy(free="any", quote_bias=4),
    QuotePolicy(),
    QuotePolicy(free="any", boundary="char", quote_bias=3),
    QuotePolicy(quote_from=(2,), quote_bias=3),
)


def test_the_runner_is_the_one_that_is_meant(engine: Engine, runner: int) -> None:
    assert engine.config.use_v2_model_runner == (runner == 2)


def test_answers_of_a_full_engine_are_valid(engine: Engine, runner: int) -> None:
    """Requests join one by one, are preempted, go on, and leave."""
    count = 60 if runner == 1 else 8
    given = [
        params(POLICIES[n % 4], max_tokens=90, temperature=1.0 + n % 3 / 2) for n in range(count)
    ]
    before = engine.metric("vllm:num_preemptions")
    outputs = engine.run(given, prompts=[LONG if n % 2 else "Who?" for n in range(count)])
    assert engine.metric("vllm:num_preemptions") > before
    quotes = tokens = 0
    for n in range(count):
        completion = outputs[str(n)].outputs[0]
        quotes += len(engine.check(completion, POLICIES[n % 4]).quotes)
        tokens += len(completion.token_ids)
    assert quotes > count
    assert tokens > 30 * count


def test_answers_end_within_their_budget(engine: Engine, runner: int) -> None:
    budgets = [most for most in (16, 20, 28, 40) for _ in range(8 if runner == 1 else 2)]
    outputs = engine.generate([params(POLICIES[0], max_tokens=most) for most in budgets])
    for most, output in zip(budgets, outputs, strict=True):
        assert len(output.outputs[0].token_ids) <= most
        engine.check(output.outputs[0])


def test_without_a_limit_the_context_is_the_limit(engine: Engine) -> None:
    (output,) = engine.generate([params(POLICIES[0], max_tokens=None)], [5] * 204)
    assert len(output.outputs[0].token_ids) <= 52
    engine.check(output.outputs[0])


def test_more_tokens_than_the_context_has(engine: Engine) -> None:
    (output,) = engine.generate([params(POLICIES[0], max_tokens=200)], [5] * 236)
    assert len(output.outputs[0].token_ids) <= 20
    engine.check(output.outputs[0])


SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0.0},
    "samples": {"n": 3},
    "penalties": {"presence_penalty": 2.0, "frequency_penalty": 2.0, "repetition_penalty": 2.0},
    "negative penalties": {"presence_penalty": -2.0, "repetition_penalty": 0.2},
    "top k": {"top_k": 1},
    "top k 5": {"top_k": 5, "temperature": 2.0},
    "top p": {"top_p": 0.1},
    "min p": {"min_p": 0.9},
    "logprobs": {"logprobs": 5, "prompt_logprobs": 1},
    "bias": {"logit_bias": dict.fromkeys(range(1, 200), -100.0)},
    "bias to brackets": {"logit_bias": dict.fromkeys(range(7, 100), 100.0)},
    "special tokens shown": {"skip_special_tokens": False},
    "hot": {"temperature": 2.0},
}


@pytest.mark.parametrize("names", [list(SETTINGS)[n : n + 5] for n in range(0, len(SETTINGS), 5)])
def test_all_sampling_parameters(engine: Engine, names: list[str]) -> None:
    """A few at once: for more rows vLLM takes a kernel that Triton's interpreter cannot run."""
    given = [params(POLICIES[0], max_tokens=24, **SETTINGS[name]) for name in names]
    for output, name in zip(engine.generate(given), names, strict=True):
        assert len(output.outputs) == SETTINGS[name].get("n", 1)
        for completion in output.outputs:
            engine.check(completion)


def test_an_ended_answer_repeats_its_end_where_that_is_ignored(engine: Engine) -> None:
    (output,) = engine.generate([params(POLICIES[0], ignore_eos=True, max_tokens=12)])
    completion = output.outputs[0]
    assert len(completion.token_ids) == 12
    assert completion.token_ids[-1] == 1
    assert all(quote.verified for quote in QuotedAnswer.parse(completion.text, SOURCES).quotes)


def test_seeds_decide(engine: Engine) -> None:
    one, other, third = engine.generate([params(POLICIES[0], seed=s) for s in (5, 5, 6)])
    assert one.outputs[0].text == other.outputs[0].text != third.outputs[0].text


def test_requests_that_are_aborted_leave_no_trace(engine: Engine, runner: int) -> None:
    count = 24 if runner == 1 else 8
    aborted = {str(n) for n in range(count) if n % 3 == 0}

    def between(step: int, last: dict[str, Any]) -> None:
        if step in (3, 7):
            engine.llm.llm_engine.abort_request([name for name in aborted if name in last])

    given = [params(POLICIES[n % 4], max_tokens=24) for n in range(count)]
    outputs = engine.run(given, between=between)
    for n in range(count):
        if str(n) not in aborted:
            engine.check(outputs[str(n)].outputs[0], POLICIES[n % 4])


def test_requests_without_sources_are_left_alone(engine: Engine, llama: Any, runner: int) -> None:
    foreign = [params(sources=None, seed=n, max_tokens=20) for n in range(4)]
    alone = [output.outputs[0].text for output in engine.generate(foreign)]
    mixed = [
        one for n in range(4) for one in (foreign[n], params(POLICIES[0], seed=n, max_tokens=20))
    ]
    outputs = engine.generate(mixed)
    assert [output.outputs[0].text for output in outputs[::2]] == alone
    for output in outputs[1::2]:
        engine.check(output.outputs[0])
    assert not all(QuotedAnswer.parse(text, SOURCES).verified and "[" in text for text in alone)
    if runner == 1:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        # The same weights without vLLM and without the processor.
        greedy = engine.generate([params(sources=None, temperature=0, max_tokens=8)])[0]
        model: Any = AutoModelForCausalLM.from_pretrained(llama, dtype=torch.float32)
        ids = AutoTokenizer.from_pretrained(llama)(greedy.prompt, return_tensors="pt")
        wanted = model.generate(
            ids["input_ids"], max_new_tokens=8, do_sample=False, pad_token_id=0
        )[0, ids["input_ids"].shape[1] :]
        assert list(greedy.outputs[0].token_ids) == wanted.tolist()


def test_bad_requests_are_refused_and_others_go_on(engine: Engine) -> None:
    from vllm.exceptions import VLLMValidationError

    core = engine.llm.llm_engine
    core.add_request("good", "Who?", params(POLICIES[0], max_tokens=9))
    last = next(iter(core.step()), None)
    bad = params(sources=None, extra_args={"semqa_sources": "text"})
    with pytest.raises(VLLMValidationError, match="semqa_sources must be a list"):
        core.add_request("bad", "Who?", bad)
    while core.has_unfinished_requests():
        last = next(iter(core.step()), last)
    assert last is not None
    engine.check(last.outputs[0])
