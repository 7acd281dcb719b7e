"""The filters: compared with plain definitions, and on clear examples."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa.errors import InputError
from semqa.metrics.text import normalise_answer
from semqa.questions.filters import (
    few_edits,
    filter_questions,
    has_several_answers,
    one_per_page,
    overlap,
    same_words,
    without_overlap,
)
from semqa.questions.records import CollectedQuestion, PassageAnswer
from semqa.questions.rules import Rules
from tests.effort import effort

ANSWERS = ("Bing Crosby", "Crosby", "the 1943", "1943", "1944", "12 May", "13 May", "Josh Gates")
WORDS = ("bridge", "opened", "was", "in", "the", "river", "by", "and", *ANSWERS)

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=30).map(" ".join)
answered = st.builds(
    PassageAnswer,
    answer=st.sampled_from(ANSWERS),
    title=st.sampled_from(("A", "a", "B", "C", "D")),
    text=texts,
    score=st.sampled_from((0.5, 0.75, 1.0)),
)
some = st.lists(answered, max_size=8)
questions = st.builds(
    CollectedQuestion,
    qid=st.integers().map(str),
    question=st.sampled_from(("When was the bridge opened?", "Who opened the bridge?")),
    answers=some.map(tuple),
)


@settings(max_examples=effort(50))
@given(some)
def test_passages_that_stay_do_not_overlap(answers: list[PassageAnswer]) -> None:
    kept = without_overlap(answers)
    for at, one in enumerate(kept):
        for other in kept[at + 1 :]:
            assert not overlap(one, other)
            assert normalise_answer(one.answer) != normalise_answer(other.answer)
    # Nothing was dropped without a reason.
    for each in answers:
        assert any(
            normalise_answer(each.answer) == normalise_answer(other.answer) or overlap(each, other)
            for other in kept
        )


def test_of_a_page_the_best_passage_stays() -> None:
    first, better, equal = (
        PassageAnswer("Ann", "Page", t, x) for t, x in (("a", 0.5), ("b", 0.9), ("c", 0.9))
    )
    other = PassageAnswer("Bob", "Other", "d", 0.1)
    assert one_per_page([first, other, better._replace(title="PAGE"), equal]) == [
        better._replace(title="PAGE"),
        other,
    ]


def test_an_answer_that_has_one_passage_gets_it() -> None:
    both, one = "Ann and Bob built it together.", "Ann was the elder of the two."
    found = without_overlap(
        [
            PassageAnswer("Ann", "T", both, 0.9),
            PassageAnswer("Bob", "T", both, 0.9),
            PassageAnswer("Ann", "T", one, 0.5),
        ]
    )
    assert {(each.answer, each.text) for each in found} == {("Bob", both), ("Ann", one)}


@settings(max_examples=effort(50))
@given(st.lists(questions, max_size=4), st.booleans())
def test_what_is_left_passes_all_rules(given_: list[CollectedQuestion], per_page: bool) -> None:
    rules = Rules(least_words=3, most_words=25, one_per_page=per_page, most_sources=3)
    left, counts = filter_questions(rules, given_)
    by_id = {id(each): each for each in given_}
    assert len(left) <= len(by_id)
    for question in left:
        assert has_several_answers(question.answers)
        assert len(question.answers) <= 3
        assert [-each.score for each in question.answers] == sorted(
            -e.score for e in question.answers
        )
        for at, one in enumerate(question.answers):
            assert 3 <= len(one.text.split()) <= 25
            assert one.score >= rules.least_score
            for other in question.answers[at + 1 :]:
                assert not few_edits(one.answer, other.answer, rules.least_edits)
                assert not same_words(one.answer, other.answer, rules.most_overlap)
                if per_page:
                    assert one.title.casefold() != other.title.casefold()
                else:
                    assert not overlap(one, other)
    steps = ("length", "scored", "pages", "edits", "words", "equivalence", "most")
    for what in ("questions", "answers"):
        numbers = [counts[f"{step}.{what}"] for step in steps]
        assert numbers == sorted(numbers, reverse=True)
    assert counts["most.questions"] == len(left)
    assert counts["most.answers"] == sum(len(each.answers) for each in left)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("the late 19th century", "late 19th century", True),
        ("Bing Crosby", "Crosby", True),
        ("William Shakespeare", "Wiliam Shakespeare", True),
        ("two", "2", True),  # the judge
        ("12 May 1990", "May 12, 1990", True),
        ("1943", "1944", False),
        ("12 May 1990", "13 May 1990", False),
        ("Bing Crosby", "Josh Gates", False),
        ("National Civic Art Society", "National Carbon Accounting System", False),
    ],
)
def test_answers_that_say_the_same(one: str, other: str, same: bool) -> None:
    passages = (f"The bridge was built by or in {one}.", f"A bridge was built, it says: {other}.")
    question = CollectedQuestion(
        "q",
        "The bridge was built by or in?",
        (PassageAnswer(one, "A", passages[0]), PassageAnswer(other, "B", passages[1])),
    )
    left = filter_questions(Rules(least_words=1, least_score=0.0), [question]).questions
    assert bool(left) is not same


@pytest.mark.parametrize("wrong", [{"least_score": 1.5}, {"least_words": 300}, {"most_sources": 9}])
def test_rules_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Rules(**wrong)
