"""What would break a quote: stop texts, parameters that force or forbid tokens, failures of ours."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from semqa import Source
from semqa.decoding import QuotePolicy
from tests.vllm.engine import Engine, params
from tests.vllm.tiny import SOURCES

OPTIONS = {"max_model_len": 256, "max_num_seqs": 8}
QUOTING = QuotePolicy(free="any", quote_bias=6)


STOPS = (["\n"], ["e"], ["bridge"], [" was", "."], ["a"], ["r "], ["2 T"], ["1 White"], ["é", "in"])


def test_stops_end_answers_between_quotes_only(engine: Engine, runner: int) -> None:
    words, characters = (
        QuotePolicy(free="any", quote_bias=3, boundary=each) for each in ("word", "char")
    )
    asked = [
        (STOPS[n % len(STOPS)], (words, characters)[n % 2])
        for n in range(144 if runner == 1 else 9)
    ]
    given = [
        params(policy, stop=stop, seed=n, max_tokens=28, include_stop_str_in_output=n % 4 < 2)
        for n, (stop, policy) in enumerate(asked)
    ]
    stopped = quotes = 0
    for output, (texts, policy) in zip(engine.generate(given), asked, strict=True):
        completion = output.outputs[0]
        answer = engine.check(completion, policy, stopped_by_text=True)
        stopped += completion.stop_reason in texts
        quotes += len(answer.quotes)
        assert not any(text in quote.text for quote in answer.quotes for text in texts)
    assert stopped
    assert quotes


def test_parameters_that_would_break_quotes_go_without_sources_only(engine: Engine) -> None:
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import StructuredOutputsParams

    options: dict[str, Any]
    grammar = StructuredOutputsParams(regex="yes|no")
    for options in ({"structured_outputs": grammar}, {"min_tokens": 4}, {"stop": ["]"]}):
        with pytest.raises(VLLMValidationError, match=f"{next(iter(options))} "):
            engine.generate([params(QUOTING, **options)])
    alone, quoting = engine.generate(
        [params(sources=None, structured_outputs=grammar), params(QUOTING)]
    )
    assert alone.outputs[0].text in ("yes", "no")
    engine.check(quoting.outputs[0])


def test_a_failure_of_one_answer_is_its_own(
    engine: Engine, runner: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A constraint that cannot be compiled: its answer is empty, and the engine goes on."""
    from semqa.decoding import CopyConstraint
    from semqa.decoding.vllm import answers

    def poisoned(vocabulary: Any, sources: Any, *rest: Any, **named: Any) -> Any:
        if sources[0].text == "poison":
            raise MemoryError("no room")
        return CopyConstraint(vocabulary, sources, *rest, **named)

    monkeypatch.setattr(answers, "CopyConstraint", poisoned)
    given = [
        params(QUOTING, [Source("poison")] if n % 4 == 1 else SOURCES, max_tokens=16)
        for n in range(8)
    ]
    with caplog.at_level(logging.ERROR, logger="semqa.vllm"):
        outputs = engine.generate(given)
    for n, output in enumerate(outputs):
        completion = output.outputs[0]
        if n % 4 == 1:
            assert (completion.text, completion.finish_reason) == ("", "stop")
        else:
            engine.check(completion, QUOTING)
    assert sum("no room" in record.getMessage() for record in caplog.records) == 2


def test_failures_while_masking_end_answers_and_nothing_else(
    engine: Engine, runner: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from semqa.decoding import rows
    from semqa.decoding.automaton.entries import entries as compiled

    entries = compiled()
    broken = {"after": 6}

    def step(addresses: Any, states: Any, *rest: Any) -> None:
        broken["after"] -= 1
        if broken["after"] < 0 and len(addresses) > 1:
            raise RuntimeError("poison")
        entries.step(addresses, states, *rest)

    monkeypatch.setattr(rows, "entries", lambda: entries._replace(step=step))
    for output in engine.generate([params(QUOTING, max_tokens=16) for _ in range(6)]):
        engine.check(output.outputs[0], QUOTING)


def test_whatever_goes_wrong_the_engine_lives(
    engine: Engine, runner: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = engine.processor._runner
    foreign = [output.outputs[0].text for output in engine.generate([params(sources=None, seed=4)])]
    calls = {"left": 5}

    def broken(*_: Any) -> Any:
        calls["left"] -= 1
        if calls["left"] < 0:
            raise RuntimeError("poison")
        return inner_apply(*_)

    inner_apply = inner.apply
    monkeypatch.setattr(inner, "apply", broken)
    given = [params(QUOTING, max_tokens=30) for _ in range(3)] + [params(sources=None, seed=4)]
    outputs = engine.generate(given)
    for output in outputs[:3]:
        assert len(output.outputs[0].token_ids) <= 6
        assert output.outputs[0].finish_reason == "stop"
    assert [outputs[3].outputs[0].text] == foreign
    monkeypatch.undo()
    engine.check(engine.generate([params(QUOTING)])[0].outputs[0], QUOTING)


def test_requests_without_sources_can_be_refused(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beam search loses what a request says of its sources; a server can insist on them."""
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import BeamSearchParams

    beams = BeamSearchParams(beam_width=2, max_tokens=4)
    assert engine.llm.beam_search(["Who?"], beams)
    monkeypatch.setenv("SEMQA_VLLM_REQUIRE_SOURCES", "1")
    with pytest.raises(VLLMValidationError, match=r"semqa_sources is required.+Beam search"):
        engine.llm.beam_search(["Who?"], beams)
    with pytest.raises(VLLMValidationError, match="semqa_sources is required"):
        engine.generate([params(sources=None)])
    engine.check(engine.generate([params(QUOTING)])[0].outputs[0], QUOTING)
