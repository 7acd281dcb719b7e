"""Most questions that people approved for QuoteSum pass the rules: the figures of docs/questions.md."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from semqa.data.quotesum import read_quotesum
from semqa.questions.filters import filter_questions
from semqa.questions.records import CollectedQuestion, PassageAnswer
from semqa.questions.rules import AmbigqaRules, Rules
from semqa.questions.similar import similar_pairs

DATA = Path(os.environ.get("SEMQA_TEST_DATA", Path(__file__).resolve().parents[3] / "shared"))
DEV = DATA / "data" / "quotesum" / "dev_a.jsonl"

pytestmark = pytest.mark.skipif(not DEV.exists(), reason="needs the QuoteSum data")


@pytest.mark.parametrize(
    ("origin", "rules", "share"), [("PAQ", Rules(), 0.85), ("AmbigQA", AmbigqaRules(), 0.9)]
)
def test_most_approved_questions_pass(origin: str, rules: Rules, share: float) -> None:
    approved = [
        CollectedQuestion(
            question.qid,
            question.question,
            tuple(
                PassageAnswer(answer, source.title, source.text)
                for source, answer in zip(
                    question.sources, question.references[0].source_answers, strict=False
                )
                if source.text and answer
            ),
        )
        for question in read_quotesum(DEV)
        if question.origin == origin
    ]
    left = filter_questions(rules, approved).questions
    assert len(left) >= share * len(approved) > 5


def test_no_approved_questions_are_merged() -> None:
    asked = [question.question for question in read_quotesum(DEV)]
    assert list(similar_pairs(asked, Rules().similar)) == []
