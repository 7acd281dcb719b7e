"""Citations in text, and the sub-questions of QuoteSum."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa import Source
from semqa.attribution.citations.examples import NO_SUB_QUESTIONS, sub_questions
from semqa.attribution.citations.reading import (
    official_citations,
    read_cited,
    remove_citations,
    remove_citations_officially,
)
from semqa.data.quotesum import Question, Reference, read_quotesum
from semqa.metrics.text import normalise_answer

Sentences = list[tuple[str, tuple[int, ...]]]


def read(text: str, *, official: bool = False) -> Sentences:
    answer = read_cited(text, [Source("a")], official=official)
    return [(sentence.text, sentence.citations) for sentence in answer.sentences]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A b [1].", [("A b.", (1,))]),
        ("A b[1][2].", [("A b.", (1, 2))]),
        ("A b [1, 2; 4].", [("A b.", (1, 2, 4))]),
        ("A b [1-3].", [("A b.", (1, 2, 3))]),
        ("A b [Document 2] c [doc. 3].", [("A b c.", (2, 3))]),
        ("A b [^1] c [^2^].", [("A b c.", (1, 2))]),
        ("A b [[1]] c [citation:2].", [("A b c.", (1, 2))]),
        ("A b [Source 1, Source 3] c [Sources: 1, 2, and 4].", [("A b c.", (1, 3, 1, 2, 4))]),
        ("A b [1](https://a.org/x).", [("A b.", (1,))]),
        ("A b【1】 c【2†source】.", [("A b c.", (1, 2))]),
        ("A b. [1] C d. [2]", [("A b.", (1,)), ("C d.", (2,))]),
        ("[1] A b. [2] C d.", [("A b.", (1,)), ("C d.", (2,))]),
        ("A b [1]\nC d [2]\n", [("A b", (1,)), ("C d", (2,))]),
        ("A [sic] b [x1].", [("A [sic] b [x1].", ())]),
        ("In [2014] it was [0].", [("In [2014] it was.", (0,))]),
        ("A b [1", [("A b [1", ())]),
        ("[1]", []),
        ("A [5-2].", [("A.", (5, 2))]),
        ("A [1-999].", [("A.", (1, 999))]),
    ],
)
def test_what_is_meant(text: str, expected: Sentences) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A b [1].", [("A b.", (1,))]),
        ("A b [ 1 ].", [("A b [ 1 .", ())]),
        ("A b [1, 2].", [("A b, 2.", (1,))]),
        ("A b. [1] C d. [2]", [("A b.", ()), ("C d.", (1,)), ("", (2,))]),
        ("A b [0].", [("A b.", (0,))]),
        ("A b [1].\nC d [2].", [("A b.", (1,))]),
    ],
)
def test_what_eval_py_reads(text: str, expected: Sentences) -> None:
    assert read(text, official=True) == expected


def test_helpers_of_eval_py(shared: Path) -> None:
    golden = json.loads((shared / "golden/alce_qsum_s.json").read_text("utf-8"))["alce_helpers"]
    assert len(golden["remove_citations"]) == 14
    for case in golden["remove_citations"]:
        assert remove_citations_officially(case["input"]) == case["expected"], case
    for case in golden["citation_extraction"]:
        assert official_citations(case["input"]) == case["citations_zero_based"], case
    for case in golden["normalize_answer"]:
        assert normalise_answer(case["input"]) == case["expected"], case


def test_citations_of_quotesum(shared: Path) -> None:
    """The conversion to sentence citations and the reading of them are each other's inverse."""
    from semqa import QuotedAnswer
    from semqa.attribution.citations import cited_sentences
    from semqa.quotes.citations import sentence_citations

    lines = (shared / "data/quotesum/dev_a.jsonl").read_text(encoding="utf-8").splitlines()
    for line in lines:
        answer = QuotedAnswer.parse(json.loads(line)["summary"], [Source("a")] * 8)
        text = sentence_citations(answer, only_verified=False)
        cited = {n for sentence in cited_sentences(answer) for n in sentence.citations}
        assert {int(n) for n in re.findall(r"\[(\d+)\]", text)} == cited
        assert {n for _, numbers in read(text) for n in numbers} == cited


pieces = st.lists(
    st.sampled_from(
        ["[1]", "[ 2 ]", "[1, 2]", "[", "]", " ", ". ", "A", "b", "\n", "【3】", "[9-1]", "!"]
    ),
    max_size=20,
).map("".join)


@given(pieces | st.text(max_size=40))
def test_text_is_lost_by_neither_reading(text: str) -> None:
    found = "".join(sentence for sentence, _ in read(text))
    stripped = remove_citations(text)
    assert [c for c in found if c.isalnum()] == [c for c in stripped if c.isalnum()]
    read(text, official=True)


def test_hostile_texts_take_no_time() -> None:
    for text in (
        "[1" * 50_000,
        "[1, " * 30_000,
        "[" + "1," * 50_000 + "]",
        " " * 100_000 + "[",
        "[doc " * 20_000,
    ):
        remove_citations(text)
        read(text[:20_000])


def read_row(
    text: str, *rows: tuple[str, ...], sources: int = 2
) -> list[tuple[str, tuple[str, ...]]]:
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
    assert read_row(text, *rows) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [("", NO_SUB_QUESTIONS), (" ", NO_SUB_QUESTIONS), ("a? | b? | c?", "the numbers of")],
)
def test_what_cannot_be_told_is_unscored(text: str, said: str) -> None:
    row = Reference("q_0", "x", "", ("1942", "1943"), text)
    found = sub_questions(Question("q", "When?", (Source("a"), Source("b")), (row,)))
    assert found.pairs == ()
    assert found.unscored is not None
    assert said in found.unscored


def test_all_questions_from_ambigqa_have_them(shared: Path) -> None:
    for question in read_quotesum(shared / "data/quotesum/dev_a.jsonl"):
        found = sub_questions(question)
        if question.origin == "AmbigQA":
            assert 2 <= len(found.pairs) <= len(question.numbers), question.qid
        else:
            assert found.unscored == NO_SUB_QUESTIONS, question.qid
