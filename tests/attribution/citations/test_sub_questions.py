"""Sub-questions of QuoteSum: which reading goes with which source, and what is left alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from semqa import Source
from semqa.attribution.citations.examples import NO_SUB_QUESTIONS, sub_questions
from semqa.data.quotesum import Question, Reference, read_quotesum

SHARED = Path(__file__).resolve().parents[4] / "shared"
DATA = Path(os.environ.get("SEMQA_TEST_DATA", SHARED)) / "data/quotesum/dev_a.jsonl"


def read(text: str, *rows: tuple[str, ...], sources: int = 2) -> list[tuple[str, tuple[str, ...]]]:
    references = tuple(
        Reference(f"q_{at}", "x", "", answers, text) for at, answers in enumerate(rows)
    )
    passages = tuple(Source(f"Passage {at}.") for at in range(sources))
    found = sub_questions(Question("q", "When?", passages, references))
    return [(pair.question, pair.answers) for pair in found.pairs]


@pytest.mark.parametrize(
    ("text", "rows", "expected"),
    [
        ("US? | UK?", [("1942", "1943")], [("US?", ("1942",)), ("UK?", ("1943",))]),
        # Several people name other short answers of one source.
        ("US? | UK?", [("1942", "1943"), ("1942", "May")], [("US?", ("1942",)), ("UK?", ("1943", "May"))]),
        # One reading that two sources answer.
        ("US? | us?", [("1942", "in 1942")], [("US?", ("1942", "in 1942"))]),
        # A bar without blanks is between two wordings.
        ("US?|America? | UK?", [("1942", "1943")], [("US?", ("1942",)), ("UK?", ("1943",))]),
        # A source without a short answer has no reading, or one that nothing can be told of.
        ("UK?", [("", "1943")], [("UK?", ("1943",))]),
        ("US? | UK?", [("", "1943")], [("UK?", ("1943",))]),
        ("US? | ", [("1942", "1943")], []),
    ],
)  # fmt: skip
def test_readings_go_with_their_sources(
    text: str, rows: list[tuple[str, ...]], expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert read(text, *rows) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [("", NO_SUB_QUESTIONS), (" ", NO_SUB_QUESTIONS), ("a? | b? | c?", "another number of")],
)
def test_what_cannot_be_told_is_unscored(text: str, said: str) -> None:
    row = Reference("q_0", "x", "", ("1942", "1943"), text)
    found = sub_questions(Question("q", "When?", (Source("a"), Source("b")), (row,)))
    assert found.pairs == ()
    assert found.unscored is not None
    assert said in found.unscored


def test_all_questions_from_ambigqa_have_them() -> None:
    if not DATA.exists():
        pytest.skip(f"needs QuoteSum's dev_a.jsonl: none at {DATA}; set SEMQA_TEST_DATA")
    for question in read_quotesum(DATA):
        found = sub_questions(question)
        if question.origin == "AmbigQA":
            assert 2 <= len(found.pairs) <= len(question.numbers), question.qid
        else:
            assert found.unscored == NO_SUB_QUESTIONS, question.qid
