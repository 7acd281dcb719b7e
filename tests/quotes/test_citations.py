"""Sentence-level citations: invariants of the QSum-S conversion, and the paper's two examples."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given

from semqa import QuotedAnswer, Source
from semqa.quotes.citations import sentence_citations
from tests.strategies import answers

SOURCES = [Source("Bing Crosby sang it in 1943. A hit."), Source("It rained.", title="Weather")]


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("", ""),
        ("Nothing quoted. At all.", "Nothing quoted. At all."),
        ("It was [ 1 1943 ] .", "It was 1943 [1]."),
        ("[ 1 Bing ] and [ 1 hit ]", "Bing and hit [1]"),
        ("[ 2 It rained. ] [ 1 Bing ] sang.", "It rained [2]. Bing sang [1]."),
        ("[ 2 It ] and [ 1 Bing ] sang!", "It and Bing sang [1] [2]!"),
        ("At approx. five [ 1 Bing ] sang.", "At approx. five Bing sang [1]."),
        ("[ 1 in 1943. A hit ] .", "in 1943. A hit [1]."),
    ],
)
def test_sentences(marked: str, expected: str) -> None:
    assert sentence_citations(QuotedAnswer.parse(marked, SOURCES)) == expected


def test_only_verified_quotes_are_cited_unless_asked() -> None:
    answer = QuotedAnswer.parse("[ 1 Bing ] met [ 2 Sinatra ].", SOURCES)
    assert sentence_citations(answer) == "Bing met Sinatra [1]."
    assert sentence_citations(answer, only_verified=False) == "Bing met Sinatra [1] [2]."


def test_the_examples_of_the_paper(shared: Path) -> None:
    golden = json.loads((shared / "golden/alce_qsum_s.json").read_text(encoding="utf-8"))
    examples = golden["qsum_s"]["paper_examples"]
    assert examples
    for example in examples:
        answer = QuotedAnswer.parse(example["input"], [])
        assert sentence_citations(answer, only_verified=False) == example["expected"]


def test_invariants_on_human_answers(shared: Path) -> None:
    lines = (shared / "data/quotesum/dev_a.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    for row in rows:
        answer = QuotedAnswer.parse(row["summary"], [])
        cited = sentence_citations(answer, only_verified=False)
        assert {int(n) for n in re.findall(r"\[(\d+)\]", cited)} == {
            q.source for q in answer.quotes
        }
        assert not re.search(r"\[ \d", cited)
        assert "".join(re.sub(r"\[\d+\]", "", cited).split()) == "".join(answer.plain.split())


@given(answers())
def test_no_text_is_lost(drawn: tuple[str, list[Source]]) -> None:
    answer = QuotedAnswer.parse(*drawn)
    letters = [char for char in answer.plain if char.isalpha()]
    assert [char for char in sentence_citations(answer) if char.isalpha()] == letters
