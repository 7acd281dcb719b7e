"""Evidence: which words look like the requested answer."""

from __future__ import annotations

import pytest

from semqa.engines.extractive.evidence import evidence, trust
from semqa.engines.extractive.passage import read_passage
from semqa.engines.extractive.question import read_inquiry


def answers(question: str, text: str) -> list[str]:
    asked, passage = read_inquiry(question), read_passage(text)
    weights = evidence(passage, asked)
    return [w for w, e in zip(passage.words, weights, strict=True) if e >= trust(asked).least]


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("How long is it?", "It is 2,467 metres long.", ["2", "467", "metres"]),
        ("How long is it?", "Five years later, in 1990, it had 3 doors.", []),
        ("How heavy is it?", "Since 1911 it weighs 8.5 tonnes.", ["8", "5", "tonnes"]),
        ("How much is it?", "It costs $12 in May 2020.", ["12"]),
        ("How hot is it?", "It has 464° by day.", ["464"]),
        ("How many are there?", "There are 12 of them.", ["12"]),
        ("How many are there?", "In 1990 it fell.", []),
        ("What is it made of?", "It is made of larch.", ["made", "of", "larch"]),
        ("What is a moraine?", "A moraine is a heap.", ["is", "a"]),
        ("Where is it?", "It stands above Port Elling.", ["port", "elling"]),
        ("When and who?", "Ann Aas came in 1990.", ["ann", "aas", "1990"]),
    ],
)
def test_answers(question: str, text: str, expected: list[str]) -> None:
    assert answers(question, text) == expected
