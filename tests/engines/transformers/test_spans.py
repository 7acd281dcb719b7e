"""Span decoding: what an answer contains, how it ends, and the fallback to tokens."""

from __future__ import annotations

from typing import Any

import pytest

from semqa import InputError, QuotedAnswer, Source
from semqa.engines import Request
from semqa.engines.base import Generation
from semqa.engines.model.excerpts import Excerpts
from semqa.engines.model.spans import SpanWriter
from semqa.engines.transformers import TransformersOptions
from semqa.quotes import ABSTENTION
from tests.engines.transformers.tiny_engine import BRIDGE, engine, passes_of
from tests.models import tiny

QUESTION = "When was the bridge opened?"
SOURCES = (*BRIDGE, Source("After the flood a new bridge was opened in 1954.", "New bridge"))


def written(
    request: Request, family: str = "gpt2", **settings: Any
) -> tuple[Generation, QuotedAnswer]:
    """Answer a request; the answer is finished, verified and breaks no rule."""
    made = engine(family, **({"quote_bias": 0.0, "max_new_tokens": 256} | settings))
    (generation,) = made.generate([request])
    answer = generation.read(request.sources)
    assert generation.finished
    assert generation.breach is None
    assert answer.verified
    return generation, answer


@pytest.mark.parametrize("family", ["gpt2", "llama-chat", "llama-sentencepiece"])
def test_relevant_spans_are_quoted_once_and_the_answer_ends(family: str) -> None:
    _, answer = written(Request(QUESTION, SOURCES), family)
    assert [quote.source for quote in answer.quotes] == [1, 3]
    assert "1932" in answer.quotes[0].text
    assert "1954" in answer.quotes[-1].text


def test_irrelevant_sources_are_not_quoted() -> None:
    made = engine("gpt2", quote_bias=0.0, max_new_tokens=256)
    assert made.answer("Who invented the telephone?", SOURCES).marked == ABSTENTION


def test_the_constraint_always_applies() -> None:
    _, answer = written(Request(QUESTION, SOURCES), quote_from=(3,))
    assert {quote.source for quote in answer.quotes} == {3}
    written(Request(QUESTION, SOURCES), max_new_tokens=24)


RULES = Source(
    """# Bike hire

## Not allowed

- riding on the beach
- carrying a second adult
- fitting your own locks

## After a puncture

1. Stop at once.
2. Push the bike to the next station [see map] and take the train back.
3. Call us from there.

| Bike | Day | Week |
|---|---|---|
| City bike | €14 | €60 |
| E-bike | €35 | €160 |
""",
    "Bike hire",
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "What am I not allowed to do with the bike?",
            "[ 1 Not allowed ]\n- [ 1 riding on the beach ]\n- [ 1 carrying a second adult ]\n"
            "- [ 1 fitting your own locks ]",
        ),
        (
            "What should I do after a puncture?",
            "[ 1 1. Stop at once. ]\n[ 1 2. Push the bike to the next station ] [ 1 see map ] "
            "[ 1 and take the train back. ]\n[ 1 3. Call us from there. ]",
        ),
        (
            "How much is the e-bike for a week?",
            "[ 1 Bike | Day | Week ]\n[ 1 E-bike | €35 | €160 ]",
        ),
    ],
)
def test_lists_and_tables_of_documents_stay_whole(question: str, expected: str) -> None:
    assert written(Request(question, [RULES]))[0].text == expected


def test_an_answer_from_documents_keeps_to_the_policy_and_the_budget() -> None:
    question = "What should I do after a puncture?"
    other = Source(
        "# Cars\n\nAfter a puncture, call 112 and wait in the car.\n\nCars are red.", "Cars"
    )
    request = Request(question, [RULES, other])
    assert "call 112" in written(request, quote_from=(2,))[1].plain
    _, answer = written(request, max_new_tokens=90)
    # Whole lines rather than the beginning of all.
    assert {quote.text[-1] for quote in answer.quotes} == {"."}
    written(request, max_new_tokens=12)


def test_the_models_preference_decides_between_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    adults, guided = "A visit costs €5 for adults.", "A visit with a guide costs €9."
    visits = Source(f"# Fees\n\n{adults}\n\n{guided}\n\nDogs are free.")
    for line in (adults, guided):

        def prefer(_self: object, texts: list[str], *_: object, line: str = line) -> Any:
            yield from ()
            return [[0.0] * len(texts), [200.0 * (line in text) for text in texts]]

        monkeypatch.setattr(SpanWriter, "_score_starts", prefer)
        made = engine("gpt2", quote_bias=0.0, max_new_tokens=256)
        assert made.answer("What does a visit cost?", [visits]).plain == line


def test_an_excerpt_has_the_headings_above_it() -> None:
    filler = "\n\n".join(f"The weather on day {day} was fine. " * 9 for day in range(20))
    long = Source(f"# Port\n\n## Weather\n\n{filler}\n\nThe ferry leaves at noon.\n\n{filler}")
    (shown,) = Excerpts(Request("When does the ferry leave?", [long])).within(1_500)
    assert shown.text.startswith("[…]\nPort\n[…]\nWeather\n[…]\n")
    assert "The ferry leaves at noon." in shown.text
    assert len(shown.text) < 1_600


def test_a_document_longer_than_the_context_is_read_in_excerpts() -> None:
    question = "How much is the e-bike for a week?"
    filler = "\n\n".join(f"The weather on day {day} was fine. " * 9 for day in range(20))
    long = Source(f"{filler}\n\n{RULES.text}\n\n{filler}", "Bike hire")
    generation, answer = written(Request(question, [long]), context=2_000)
    assert "| E-bike | €35 | €160 |" in generation.prompt.text
    assert answer.quotes[-1].text == "E-bike | €35 | €160"


def test_tokens_already_read_are_not_read_again() -> None:
    made = engine("gpt2", quote_bias=0.0, max_new_tokens=256)
    with passes_of(tiny("gpt2").model) as passes:
        (generation,) = made.generate([Request(QUESTION, SOURCES)])
    assert len(passes) < 0.42 * (generation.new_tokens or 0)


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
    for fatal in (1, 2, 3):
        # Layers before this one have read their tokens by then.
        last = tiny("gpt2").model.transformer.h[-1]
        with passes_of(last, fatal), pytest.raises(RuntimeError):
            made.answer("Who opened the bridge?", SOURCES)
        assert made.answer(QUESTION, SOURCES) == expected
