"""AutoAIS: which sources a sentence is held against, and what is made of the judge's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.attribution.ais.auto import (
    NO_SUCH_SOURCE,
    QUOTES_NOTHING,
    AnswerCheck,
    CheckInput,
    Support,
    check_answers,
    summarise_checks,
)
from semqa.attribution.citations.reading import cited_sentences
from semqa.attribution.judges import Entailment, Pair
from semqa.quotes import QuotedAnswer, Source
from tests.attribution.fake_judge import FakeJudge

SOURCES = (
    Source("Bing Crosby sang it in 1942.", "White Christmas"),
    Source("It sold fifty million copies."),
    Source("Whales sing."),
)


def parse(text: str) -> QuotedAnswer:
    return QuotedAnswer.parse(text, SOURCES)


def judge_of(*values: float, **more: Any) -> FakeJudge:
    """Return a judge that gives these probabilities in turn, then 1."""
    left = iter(values)

    def entailment(_: Pair) -> Entailment:
        value = next(left, 1.0)
        return Entailment(value, 1 - value, 0.0)

    return FakeJudge(entailment=entailment, **more)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[ 1 Bing Crosby ] sang it. [ 2 It sold ].", [("Bing Crosby sang it.", (1,)), ("It sold.", (2,))]),
        ("[ 2 It sold ] as [ 1 Bing ] sang.", [("It sold as Bing sang.", (2, 1))]),
        ("Bing sang it [1, 3]. It sold [1-3].", [("Bing sang it.", (1, 3)), ("It sold.", (1, 2, 3))]),
        ("Bing sang it. [1] It sold. [2]", [("Bing sang it.", (1,)), ("It sold.", (2,))]),
        ("[1] Bing sang it. [2] It sold.", [("Bing sang it.", (1,)), ("It sold.", (2,))]),
        ("[ 1 Bing ] sang it. [2]", [("Bing sang it.", (1, 2))]),
        ("Bing sang it! It sold.", [("Bing sang it!", ()), ("It sold.", ())]),
        ("He sang [ 9 Bing ].", [("He sang Bing.", (9,))]),
        ("", []),
    ],
)  # fmt: skip
def test_a_sentence_rests_on_what_it_quotes_or_cites(
    text: str, expected: list[tuple[str, tuple[int, ...]]]
) -> None:
    assert [(each.text, each.citations) for each in cited_sentences(parse(text))] == expected


@given(st.text(alphabet="ab. [1]23,A!\n-", max_size=60))
def test_sentences_stand_in_the_plain_answer_in_order(text: str) -> None:
    answer = parse(text)
    at = 0
    for sentence in cited_sentences(answer):
        assert at <= sentence.start < sentence.end <= len(answer.plain)
        at = sentence.start + 1
        letters = [c for c in answer.plain[sentence.start : sentence.end] if c.isalpha()]
        assert [c for c in sentence.text if c.isalpha()] == letters


def test_the_premise_is_all_that_a_sentence_names_and_the_question_stands_in_front() -> None:
    judge = judge_of()
    answer = parse("[ 1 Bing Crosby ] sang it, and [ 2 It sold ]. [ 3 Whales ] sing.")
    check_answers([CheckInput("who sang  it", answer)], judge)
    assert judge.asked == [
        Pair(
            "Title: White Christmas\nBing Crosby sang it in 1942.\nIt sold fifty million copies.",
            "who sang it? Bing Crosby sang it, and It sold.",
        ),
        Pair("Whales sing.", "who sang it? Whales sing."),
    ]
    alone = judge_of()
    check_answers([CheckInput("Who sang it?", answer)], alone, with_question=False)
    assert alone.asked[1].hypothesis == "Whales sing."


def test_what_names_no_source_is_not_supported_and_nobody_is_asked() -> None:
    judge = judge_of()
    (check,) = check_answers(
        [CheckInput("Who?", parse("He sang. By [ 7 Bing ]. Also [0]."))], judge
    )
    assert judge.asked == []
    assert [(each.support, each.reason) for each in check.sentences] == [
        (Support.NOT_SUPPORTED, QUOTES_NOTHING),
        (Support.NOT_SUPPORTED, NO_SUCH_SOURCE),
        (Support.NOT_SUPPORTED, NO_SUCH_SOURCE),
    ]
    assert check.supported is False


@pytest.mark.parametrize(
    ("probability", "margin", "support"),
    [
        (0.61, 0.1, "supported"),
        (0.59, 0.1, "unclear"),
        (0.39, 0.1, "not supported"),
        (0.5, 0.0, "not supported"),
        (0.99, 0.5, "unclear"),
    ],
)
def test_near_one_half_is_unclear(probability: float, margin: float, support: str) -> None:
    (check,) = check_answers(
        [CheckInput("", parse("[ 1 Bing ] sang."))], judge_of(probability), margin=margin
    )
    assert [each.support.value for each in check.sentences] == [support]


def test_what_is_too_long_for_the_judge_is_unclear_and_spoils_nothing_else() -> None:
    answer = parse("[ 3 Whales ] sing. [ 1 Bing ] sang. [ 2 It ] sold. [ 3 Whales ] sing.")
    (check,) = check_answers(
        [CheckInput("", answer)], judge_of(too_long=lambda pair: len(pair.premise) > 40)
    )
    assert [(each.support.value, each.reason) for each in check.sentences] == [
        ("supported", ""),
        ("unclear", "too long for the judge"),
        ("supported", ""),
        ("supported", ""),
    ]


def _checks(*answers: Sequence[float]) -> list[AnswerCheck]:
    text = "[ 1 Bing ] sang. "
    return check_answers(
        [CheckInput("", parse(text * len(values))) for values in answers],
        judge_of(*(value for values in answers for value in values)),
    )


def test_the_summary_counts_sentences_and_whole_answers() -> None:
    found = summarise_checks(_checks([1, 1], [1, 0, 0.5], [0], []), seed=1)
    assert found["sentences"] == pytest.approx(100 * 3 / 6)
    assert found["answers"] == pytest.approx(100 / 3)
    assert found["mean"] == pytest.approx(100 * (1 + 1 / 3 + 0) / 3)
    assert found["counts"] == {"supported": 3, "not supported": 2, "unclear": 1}
    assert found["n"] == {"answers": 3, "sentences": 6, "empty": 1}
    assert found == summarise_checks(_checks([1, 1], [1, 0, 0.5], [0], []), seed=1)


def test_answers_to_one_question_are_drawn_together() -> None:
    """Two people who answer one question alike say no more of others than one of them."""
    checks = _checks([1], [0], [1], [0], [1], [0])
    alone = summarise_checks(checks[:2], qids=["a", "b"], seed=1)
    assert alone == summarise_checks(checks[:2], seed=1)
    assert alone["answers_interval"] == pytest.approx([9.45, 90.55], abs=0.01)  # Wilson's
    repeated: Any = summarise_checks(checks, qids=["a", "b"] * 3, seed=1)
    assert repeated["sentences_interval"] == alone["sentences_interval"] == (0, 100)
    assert repeated["answers_interval"] == (0, 100)
    assert summarise_checks(checks, qids=["a", "b"] * 3, resamples=0)["answers_interval"] is None
    of_one: Any = summarise_checks(checks, qids=["a"] * 6, seed=1)
    assert (of_one["sentences_interval"], of_one["answers_interval"]) == (None, None)
