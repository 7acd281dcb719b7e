"""Q² step by step, with a judge whose opinions are written down."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.attribution.judges import (
    Entailment,
    Pair,
    Reading,
    Span,
    TooLongError,
)
from semqa.attribution.q2 import Q2, Response, Settings, summarise
from semqa.attribution.q2.baselines import baseline_scores
from semqa.attribution.q2.responses import (
    ANOTHER_ANSWER,
    PERSONAL,
    TOO_LONG,
    UNANSWERED,
    Found,
    Question,
    ResponseScore,
)
from semqa.attribution.q2.spans import InformativeSpan, RuleSpans
from semqa.errors import InputError
from tests.attribution.q2.judges import LABELS, WrittenJudge

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


def score(judge: WrittenJudge, *spans: str, text: str = TEXT, **settings: Any) -> ResponseScore:
    measure = Q2(judge, Spans(*spans), Settings(**settings))
    (found,) = measure.score([Response("r", text, KNOWLEDGE)])
    return found


def test_questions_are_tried_from_the_best_until_one_is_answered_by_its_span() -> None:
    questions = {"LA": ["Where are you?", "In 1983?", "Nowhere?", "Where?", "Where else?"]}
    answers = {
        ("In 1983?", TEXT): "1983",
        ("Where?", TEXT): "LA",
        ("Where else?", TEXT): "LA",
        ("Where?", KNOWLEDGE): "Los Angeles",
        ("Where else?", KNOWLEDGE): "The band",
    }
    judge = WrittenJudge(questions, answers)
    found = score(judge, "LA")
    assert [(q.text, q.rejected, q.own_answer) for q in found.questions] == [
        ("Where are you?", PERSONAL, None),
        ("In 1983?", ANOTHER_ANSWER, "1983"),
        ("Nowhere?", UNANSWERED, None),
        ("Where?", None, "LA"),
    ]
    assert ("Where else?", TEXT) not in judge.readings, "the first that counts is enough"
    assert all(reading.question != "Where are you?" for reading in judge.readings)

    few = score(WrittenJudge(questions, answers), "LA", beams=3)
    assert (len(few.questions), few.valid) == (3, ())
    kept = score(WrittenJudge(questions, answers), "LA", beams=1, personal=True)
    assert [q.rejected for q in kept.questions] == [UNANSWERED]


def test_a_judge_of_entailment_is_needed() -> None:
    class Reader:
        name = identity = "reader"
        ask, answer = WrittenJudge().ask, WrittenJudge().answer

    with pytest.raises(InputError, match=r"cannot judge entailment"):
        Q2(Reader(), Spans("LA"))


class ShortSighted(WrittenJudge):
    """Reads so many characters at most, and says so of the whole batch."""

    def __init__(self, reads: int, **tables: Any) -> None:
        super().__init__(**tables)
        self.reads = reads

    def ask(self, readings: Sequence[tuple[str, str]], *, count: int = 5) -> list[list[str]]:
        self.check(answer for answer, _ in readings)
        return super().ask(readings, count=count)

    def answer(self, readings: Sequence[Reading]) -> list[Span | None]:
        self.check(reading.question for reading in readings)
        return super().answer(readings)

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        self.check(pair.hypothesis for pair in pairs)
        return super().entailment(pairs)

    def check(self, texts: Iterable[str]) -> None:
        if any(len(text) > self.reads for text in texts):
            raise TooLongError("too long: got a text, expected less of it; shorten it")


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
    found, unscored = Q2(ShortSighted(12, **tables), Spans("LA", "1983", span)).score(responses)
    assert [(q.span, q.text, q.rejected) for q in found.questions] == [
        ("LA", long, TOO_LONG),
        ("LA", "Where?", None),
        ("1983", "When?", None),
        (span, "", TOO_LONG),
    ]
    assert found.q2 == 1.0
    assert unscored.q2 is None
    assert unscored.unscored("q2") == "too long for the judge"

    narrow = Q2(ShortSighted(9, **tables), Spans("LA", "1983")).score(responses[:1])
    assert narrow[0].q2 is None, "the answers could not be compared"
    assert narrow[0].q2_no_nli == 0.5
    assert baseline_scores("nli", responses, judge=ShortSighted(24)) == [None, None]
    assert baseline_scores("nli", responses, judge=ShortSighted(25)) == [None, 0.5]


def test_judges_that_lack_something() -> None:
    class Nothing:
        name = identity = "nothing"

    with pytest.raises(InputError, match=r"cannot ask questions"):
        Q2(Nothing(), RuleSpans())
    with pytest.raises(InputError, match="--beams"):
        Settings(beams=0)


QUESTIONS = st.builds(
    Question,
    text=st.text(max_size=5),
    span=st.sampled_from(["LA", "1983", "the"]),
    own_answer=st.none() | st.just("LA"),
    rejected=st.none() | st.sampled_from([PERSONAL, UNANSWERED]),
    answer=st.none()
    | st.builds(Found, st.sampled_from(["LA", "nan", ""]), st.just(0), st.just(2), st.just(0.5)),
    entailment=st.none() | st.sampled_from(list(LABELS.values())),
    stated=st.none() | st.floats(0, 1),
)


@given(
    st.lists(QUESTIONS, max_size=4),
    st.none() | st.sampled_from(list(LABELS.values())),
    st.booleans(),
)
def test_a_row_of_a_record_has_scores_or_reasons(
    questions: list[Question], fallback: Entailment | None, official: bool
) -> None:
    response = Response("r", "t", "k", True, "s", "c")
    given_score = ResponseScore(response, tuple(questions), fallback, official, 3, {"bleu": 2.0})
    row = json.loads(json.dumps(given_score.to_dict(), allow_nan=False))
    for measure in ("q2", "q2_no_nli"):
        assert (row[measure] is None) == (measure in row["unscored"])
        assert row[measure] is None or 0 <= row[measure] <= 1


def test_a_system_is_the_mean_of_its_responses_not_of_its_questions() -> None:
    one = Question("q", "LA", answer=Found("LA"))
    none = Question("q", "LA")
    scores = [
        ResponseScore(Response("1", "t", "k"), (one,)),
        ResponseScore(Response("2", "t", "k"), (none, none, none)),
        ResponseScore(Response("3", "t", "k"), (), baselines={"bleu": 4.0}),
    ]
    found = summarise(scores, resamples=0)
    assert (found["q2"]["value"], found["q2"]["n"]) == (0.5, 2)
    assert found["q2"]["unscored"] == {"too long for the judge": 1}
    assert found["bleu"] == {
        "value": 4.0,
        "n": 1,
        "interval": None,
        "unscored": {"not computed": 2},
    }
