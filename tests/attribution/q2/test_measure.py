"""Q² step by step, with a judge whose opinions are written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from semqa.attribution.judges import Judge, Pair
from semqa.attribution.q2 import Q2, Response
from semqa.attribution.q2.baselines import BertScore, baseline_scores
from semqa.attribution.q2.responses import TOO_LONG
from semqa.attribution.q2.spans import InformativeSpan, RuleSpans
from semqa.errors import InputError
from tests.attribution.fake_judge import FakeJudge, by_tables
from tests.judge_models import save_reader

TEXT, KNOWLEDGE = "They formed in LA in 1983.", "The band formed in Los Angeles in 1983."


class Spans:
    """The spans that a test names."""

    name = "named"

    def __init__(self, *texts: str) -> None:
        self.texts = texts

    def spans(self, text: str) -> list[InformativeSpan]:
        return [InformativeSpan(each, 0, len(each)) for each in self.texts if each in text]

    def personal(self, question: str) -> bool:
        return "you" in question


def short_sighted(reads: int, **tables: Any) -> FakeJudge:
    """Return a judge that reads so many characters at most of an answer, question or hypothesis."""

    def too_long(each: Any) -> bool:
        return len(each.hypothesis if isinstance(each, Pair) else each[0]) > reads

    return by_tables(**tables, too_long=too_long)


def test_what_is_too_long_costs_itself_alone() -> None:
    long = "What, in all the years that they were together, was the place?"
    tables: dict[str, Any] = {
        "questions": {"LA": [long, "Where?"], "1983": ["When?"]},
        "answers": {
            ("Where?", TEXT): "LA",
            ("Where?", KNOWLEDGE): "Los Angeles",
            ("When?", TEXT): "1983",
            ("When?", KNOWLEDGE): "1983",
        },
        "labels": {("Where? Los Angeles.", "Where? LA."): "entailment"},
    }
    span = "formed in LA in 1983"
    responses = [Response("1", TEXT, KNOWLEDGE), Response("2", "A response without spans.", "k")]
    found, unscored = Q2(short_sighted(12, **tables), Spans("LA", "1983", span)).score(responses)
    assert [(q.span, q.text, q.rejected) for q in found.questions] == [
        ("LA", long, TOO_LONG),
        ("LA", "Where?", None),
        ("1983", "When?", None),
        (span, "", TOO_LONG),
    ]
    assert found.q2 == 1.0
    assert unscored.q2 is None
    assert unscored.unscored("q2") == "too long for the judge"

    narrow = Q2(short_sighted(9, **tables), Spans("LA", "1983")).score(responses[:1])
    assert narrow[0].q2 is None, "the answers could not be compared"
    assert narrow[0].q2_no_nli == 0.5
    assert baseline_scores("nli", responses, judge=short_sighted(24)) == [None, None]
    assert baseline_scores("nli", responses, judge=short_sighted(25)) == [None, 0.5]


def test_bertscore_of_an_unknown_model_needs_a_layer(tmp_path: Path) -> None:
    encoder = save_reader(tmp_path / "encoder")
    with pytest.raises(InputError, match="--bertscore-layer"):
        BertScore(str(encoder))
    with pytest.raises(InputError, match=r"config\.json is missing"):
        BertScore(str(tmp_path), layers=1).scores([Response("1", "a", "b")])
    assert BertScore().rescale


def test_judges_that_lack_something() -> None:
    class Nothing(Judge):
        name = identity = "nothing"

    with pytest.raises(InputError, match=r"cannot ask questions"):
        Q2(Nothing(), RuleSpans())
