"""Lead-k and Tail-k follow the paper; bm25 and nearest quote the best matches."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa import Source
from semqa.engines import Engine, create_engine
from semqa.engines.baselines import K1, B, Bm25Engine, EdgeEngine, NearestEngine, split_sentences
from semqa.errors import InputError

SOURCES = [Source("One. Two!  Three? Four. "), Source(" "), Source("Five [a] six")]


@pytest.mark.parametrize(
    ("edge", "k", "expected"),
    [
        ("lead", 1, "[ 1 One. ] [ 3 Five a six ]"),
        ("lead", 2, "[ 1 One. Two! ] [ 3 Five a six ]"),
        ("tail", 1, "[ 1 Four. ] [ 3 Five a six ]"),
        ("tail", 3, "[ 1 Two!  Three? Four. ] [ 3 Five a six ]"),
        ("lead", 9, "[ 1 One. Two!  Three? Four. ] [ 3 Five a six ]"),
    ],
)
def test_matches_the_paper(edge: str, k: int, expected: str) -> None:
    assert EdgeEngine(edge, k).answer("Who?", SOURCES).marked == expected  # type: ignore[arg-type]


@given(st.text("ab. !?\n", max_size=30), st.integers(1, 4))
def test_the_words_match_the_paper_and_the_source(text: str, k: int) -> None:
    sentences = re.split(r"(?<=[.!?])\s+", text.strip())
    for engine, kept in ((EdgeEngine("lead", k), sentences[:k]), (EdgeEngine("tail", k), sentences[-k:])):  # fmt: skip
        answer = engine.answer("Who?", [Source(text)])
        assert answer.plain.split() == " ".join(kept).split()
        assert all(quote.verified for quote in answer.quotes)


def test_a_span_without_its_brackets_is_not_verbatim() -> None:
    answer = EdgeEngine("lead", 1).answer("Who?", SOURCES)
    assert [quote.status.value for quote in answer.quotes] == ["verified", "fabricated"]


def test_k_is_at_least_one() -> None:
    with pytest.raises(InputError, match=r"lead-K needs"):
        create_engine("lead-0")


MANUAL = """# Dehumidifier

It runs at night, and
stops at dawn. "Is it loud?" No! It hums.
- Empty the tank daily
- Clean the filter; see [the shop](http://shop.example) for a new one.

| Code | Meaning |
|------|---------|
| E3   | Evaporator frozen |
1. Press R. Then wait.
4.2 Guarantee: two years.
---
End
"""


def test_headings_items_and_rows_are_separate_sentences() -> None:
    assert split_sentences(MANUAL) == [
        "# Dehumidifier",
        "It runs at night, and\nstops at dawn.",
        '"Is it loud?"',
        "It hums.",
        "- Empty the tank daily",
        "- Clean the filter; see [the shop](http://shop.example) for a new one.",
        "| Code | Meaning |",
        "| E3   | Evaporator frozen |",
        "1. Press R.",
        "Then wait.",
        "4.2 Guarantee: two years.",
    ]
    assert split_sentences(" \n\n") == []


@given(st.text("ab A.!?\n\r-#|1 ", max_size=40))
def test_sentences_are_verbatim_and_in_order(text: str) -> None:
    at = 0
    for sentence in split_sentences(text):
        at = text.index(sentence, at) + len(sentence)
        assert sentence == sentence.strip()


def quoted(engine: Engine, question: str, *texts: str) -> list[tuple[int, str]]:
    answer = engine.answer(question, [Source(text) for text in texts])
    assert all(quote.verified for quote in answer.quotes)
    return [(quote.source, quote.text) for quote in answer.quotes]


def test_bm25_quotes_the_best_three_of_all_sources() -> None:
    found = quoted(
        create_engine("bm25"),
        "What does the code E3 mean?",
        "It rained. The code was changed. It rained again.",
        MANUAL,
        "The code E3 is rare. The code E3 is rare.",
    )
    assert found == [
        (2, "| Code | Meaning |"),
        (2, "| E3   | Evaporator frozen |"),
        (3, "The code E3 is rare."),
    ]


def test_bm25_matches_the_formula() -> None:
    sentences = ["red red fish", "red bird sang a long song", "blue bird", "grey stone"]
    scores = Bm25Engine.scores("Red BIRD", sentences)
    mean = 13 / 4

    def weight(having: int) -> float:
        return math.log(1 + (4 - having + 0.5) / (having + 0.5))

    def part(count: int, length: int) -> float:
        return count * (K1 + 1) / (count + K1 * (1 - B + B * length / mean))

    assert scores == pytest.approx(
        [
            weight(2) * part(2, 3),
            weight(2) * part(1, 6) * 2,
            weight(2) * part(1, 2),
            0.0,
        ]
    )
    assert Bm25Engine.scores("the red and the blue", sentences)[0] > 0


def test_brackets_are_left_out_of_quotes() -> None:
    found = quoted(Bm25Engine(), "Where is a new filter?", MANUAL)
    assert (1, "- Clean the filter; see") in found
    assert (1, "the shop") in found


@pytest.mark.slow
def test_nearest_compares_meaning() -> None:
    engine = create_engine("nearest")
    text = "It rained. The cat slept. We ate soup. The feline was asleep on the sofa. He swam."
    found = quoted(engine, "Did the kitten sleep?", text, " ")
    assert {(1, "The cat slept."), (1, "The feline was asleep on the sofa.")} <= set(found)
    assert len(found) == 3
    assert quoted(engine, "Did the kitten sleep?", text, " ") == found


def test_nearest_takes_another_encoder() -> None:
    with pytest.raises(InputError, match=r"got './none'"):
        NearestEngine("./none")
    with pytest.raises(InputError, match=r"encoder is not an option"):
        create_engine("bm25", {"encoder": "x"})


@pytest.mark.parametrize("name", ["bm25", "nearest"])
def test_without_a_sentence_nothing_is_quoted(name: str) -> None:
    engine = create_engine(name)
    assert engine.name == name
    with pytest.raises(InputError, match=r"blank"):
        engine.answer(" ", [Source("It rained.")])
    if name == "bm25":
        assert engine.answer("Who?", [Source("", title="Oslo")]).quotes == ()
