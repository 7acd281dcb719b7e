"""The extractive engine abstains if no source is relevant to the question."""

from __future__ import annotations

from pathlib import Path

import pytest

from semqa import Source
from semqa.data import read_quotesum
from semqa.engines.extractive import ExtractiveEngine

SOURCES = [
    Source("The bridge was opened in 1932 by the mayor.", "Harbour Bridge"),
    Source("It rained."),
]


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("When was the bridge opened?", True),
        ("Who opened the Harbour Bridge?", True),
        ("Bridge?", True),
        ("Who?", False),
        ("What is the capital of France?", False),
        ("Who invented the bridge loan in medieval Florence?", False),
        ("qwzx?", False),
    ],
)
def test_only_relevant_sources_are_answered_from(question: str, answers: bool) -> None:
    engine = ExtractiveEngine()
    attempted = engine.attempt(question, SOURCES)
    assert (attempted is not None) == answers
    if answers:
        assert attempted == engine.answer(question, SOURCES)


def test_sources_of_other_questions_are_rejected(shared: Path) -> None:
    examples = list(read_quotesum(shared / "data" / "quotesum" / "dev_a.jsonl"))
    given = list({e.question: e.sources for e in examples}.items())
    engine = ExtractiveEngine()
    own, foreign = [], []
    for (other, _), (question, sources) in zip(given[::4], given[1::4], strict=False):
        own.append(engine.attempt(question, sources) is not None)
        foreign.append(engine.attempt(other, sources) is not None)
    assert own.count(False) <= 1
    assert sum(foreign) <= 0.1 * len(foreign)
