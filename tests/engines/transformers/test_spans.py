"""Span decoding: what an answer contains, how it ends, and the fallback to tokens."""

from __future__ import annotations

from typing import Any

import pytest

from semqa import InputError, Source
from semqa.engines import Request
from semqa.engines.transformers import TransformersOptions
from semqa.quotes import ABSTENTION
from tests.engines.transformers.tiny_engine import BRIDGE, engine
from tests.models import tiny

QUESTION = "When was the bridge opened?"
SOURCES = (*BRIDGE, Source("After the flood a new bridge was opened in 1954.", "New bridge"))


@pytest.mark.parametrize("family", ["gpt2", "llama-chat", "llama-sentencepiece"])
def test_relevant_spans_are_quoted_once_and_the_answer_ends(family: str) -> None:
    made = engine(family, quote_bias=0.0, max_new_tokens=256)
    (generation,) = made.generate([Request(QUESTION, SOURCES)])
    answer = generation.read(SOURCES)
    assert generation.finished
    assert generation.breach is None
    assert answer.verified
    assert [quote.source for quote in answer.quotes] == [1, 3]
    assert "1932" in answer.quotes[0].text
    assert "1954" in answer.quotes[-1].text


def test_irrelevant_sources_are_not_quoted() -> None:
    made = engine("gpt2", quote_bias=0.0, max_new_tokens=256)
    assert made.answer("Who invented the telephone?", SOURCES).marked == ABSTENTION


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"quote_from": (3,)}, lambda answer: {q.source for q in answer.quotes} == {3}),
        ({"max_new_tokens": 24}, lambda _: True),
    ],
)
def test_the_constraint_always_applies(settings: dict[str, Any], rule: Any) -> None:
    made = engine("gpt2", **({"quote_bias": 0.0, "max_new_tokens": 256} | settings))
    (generation,) = made.generate([Request(QUESTION, SOURCES)])
    assert generation.finished
    assert generation.breach is None
    assert rule(generation.read(SOURCES))


def test_tokens_already_read_are_not_read_again() -> None:
    made = engine("gpt2", quote_bias=0.0, max_new_tokens=256)
    passes = 0

    def count(*_: object) -> None:
        nonlocal passes
        passes += 1

    hook = tiny("gpt2").model.register_forward_hook(count)
    try:
        (generation,) = made.generate([Request(QUESTION, SOURCES)])
    finally:
        hook.remove()
    assert passes < 0.42 * (generation.new_tokens or 0)


def test_tokens_are_chosen_if_spans_cannot_be() -> None:
    spans, tokens = engine("gpt2"), engine("gpt2", decoding="tokens")
    assert spans.answer(QUESTION, SOURCES) != tokens.answer(QUESTION, SOURCES)
    for settings in ({"num_beams": 2}, {"temperature": 0.5}, {"constraint": "off"}):
        given = engine("gpt2", **settings).answer(QUESTION, SOURCES)
        assert given == engine("gpt2", decoding="tokens", **settings).answer(QUESTION, SOURCES)
        with pytest.raises(InputError, match="decoding can be spans only"):
            TransformersOptions(decoding="spans", **settings)
    assert engine("t5").answer(QUESTION, SOURCES).verified
    with pytest.raises(InputError, match="with an encoder"):
        engine("t5", decoding="spans")
    with pytest.raises(InputError, match="must be spans or tokens"):
        TransformersOptions(decoding="words")  # type: ignore[arg-type]


def test_a_failed_answer_does_not_affect_the_next() -> None:
    made = engine("gpt2", quote_bias=0.0, max_new_tokens=256)
    expected = made.answer(QUESTION, SOURCES)
    for fatal in (1, 3, 5):
        passes = 0

        def fail(*_: object, fatal: int = fatal) -> None:
            nonlocal passes
            passes += 1
            if passes == fatal:
                raise RuntimeError("out of memory")

        # Layers before this one have read their tokens by then.
        hook = tiny("gpt2").model.transformer.h[-1].register_forward_pre_hook(fail)
        try:
            with pytest.raises(RuntimeError):
                made.answer("Who opened the bridge?", SOURCES)
        finally:
            hook.remove()
        assert made.answer(QUESTION, SOURCES) == expected
