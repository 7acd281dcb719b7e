"""Lead-k and Tail-k follow the paper's recipe."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa import Source
from semqa.engines.lead import EdgeEngine
from semqa.errors import InputError

SOURCES = [Source("One. Two!  Three? Four."), Source(" "), Source("Five [a] six")]


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
def test_recipe(edge: str, k: int, expected: str) -> None:
    assert EdgeEngine(edge, k).answer("Who?", SOURCES).marked == expected  # type: ignore[arg-type]


def test_names() -> None:
    assert (EdgeEngine("lead", 2).name, EdgeEngine("tail", 12).name) == ("lead-2", "tail-12")


@given(st.text("ab. !?\n", max_size=30), st.integers(1, 4))
def test_the_words_are_those_of_the_recipe_and_stand_in_the_source(text: str, k: int) -> None:
    sentences = re.split(r"(?<=[.!?])\s+", text)
    for engine, kept in ((EdgeEngine("lead", k), sentences[:k]), (EdgeEngine("tail", k), sentences[-k:])):  # fmt: skip
        answer = engine.answer("Who?", [Source(text)])
        assert answer.plain.split() == " ".join(kept).split()
        assert all(quote.verified for quote in answer.quotes)


def test_a_span_without_its_brackets_is_not_verbatim() -> None:
    answer = EdgeEngine("lead", 1).answer("Who?", SOURCES)
    assert [quote.status.value for quote in answer.quotes] == ["verified", "fabricated"]


@pytest.mark.parametrize("k", [0, -1, True, 1.5])
def test_k_is_a_whole_number_from_one(k: int) -> None:
    with pytest.raises(InputError, match=r"^lead-K: got .+, expected a whole number from 1; write"):
        EdgeEngine("lead", k)


def test_bad_input() -> None:
    with pytest.raises(InputError, match=r"^the question is blank: got no words, expected a"):
        EdgeEngine("lead", 1).answer("  ", SOURCES)
    with pytest.raises(InputError, match=r"^no source to answer from: got 0, expected at least 1"):
        EdgeEngine("tail", 1).answer("Who?", [])
