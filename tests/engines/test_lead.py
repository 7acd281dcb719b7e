"""Lead-k and Tail-k follow the paper's recipe."""

from __future__ import annotations

import pytest

from semqa import Source
from semqa.engines.lead import LeadEngine, TailEngine
from semqa.errors import InputError

SOURCES = [Source("One. Two!  Three? Four."), Source(""), Source("Five [a] six")]


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        (LeadEngine(1), "[ 1 One. ] [ 3 Five a six ]"),
        (LeadEngine(2), "[ 1 One. Two! ] [ 3 Five a six ]"),
        (TailEngine(1), "[ 1 Four. ] [ 3 Five a six ]"),
        (TailEngine(3), "[ 1 Two! Three? Four. ] [ 3 Five a six ]"),
        (LeadEngine(9), "[ 1 One. Two! Three? Four. ] [ 3 Five a six ]"),
    ],
)
def test_recipe(engine: LeadEngine | TailEngine, expected: str) -> None:
    assert engine.write("Who?", SOURCES) == expected


def test_names() -> None:
    assert (LeadEngine(2).name, TailEngine(12).name) == ("lead-2", "tail-12")


def test_a_sentence_joined_over_wide_space_is_no_longer_verbatim() -> None:
    answer = LeadEngine(3).answer("Who?", [Source("One. Two!  Three?")])
    assert [quote.status.value for quote in answer.quotes] == ["fabricated"]


@pytest.mark.parametrize("k", [0, -1, True, 1.5])
def test_k_is_a_whole_number_from_one(k: int) -> None:
    with pytest.raises(InputError, match=r"^lead-K: got .+, expected a whole number from 1; write"):
        LeadEngine(k)


def test_bad_input() -> None:
    with pytest.raises(InputError, match=r"^the question is blank: got no words, expected a"):
        LeadEngine(1).answer("  ", SOURCES)
    with pytest.raises(InputError, match=r"^no source to answer from: got 0, expected at least 1"):
        TailEngine(1).answer("Who?", [])
