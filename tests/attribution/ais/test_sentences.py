"""Sentences rated one by one."""

from __future__ import annotations

from typing import Any

import pytest

from semqa.attribution.ais import Rating, consensus, join_sentences
from tests.attribution.ais.makers import said


def rated(*sentences: str, **fields: Any) -> list[Rating]:
    """Ratings of an answer, the annotators' letters for each sentence."""
    return [
        rating
        for number, letters in enumerate(sentences, 1)
        for rating in said(letters, sentence=number, output=f"S{number}.", **fields)
    ]


@pytest.mark.parametrize(
    ("sentences", "expected", "share"),
    [
        (("yyy", "yyn"), (False, True, True), 1.0),
        (("yyy", "nnn", "yyy", "yyy"), (False, True, False), 0.75),
        (("yyy", "uuu"), (False, False, None), 0.5),
        (("yyy", "fff"), (True, None, None), None),
        (("nnn",), (False, True, False), 0.0),
    ],
)
def test_one_sentence_spoils_the_answer(
    sentences: tuple[str, ...], expected: Any, share: float | None
) -> None:
    verdicts, (joined,) = join_sentences(consensus(rated(*sentences)))
    (verdict,) = verdicts
    assert (verdict.flagged, verdict.interpretable, verdict.attributable) == expected
    assert joined.share.value == share
    assert joined.sentences == len(sentences)
    assert verdict.output == " ".join(f"S{n}." for n, _ in enumerate(sentences, 1))


def test_a_sentence_that_nobody_rated_leaves_the_answer_open() -> None:
    ratings = [rating for rating in rated("yyy", "yyy", "yyy") if rating.sentence != 2]
    _, (joined,) = join_sentences(consensus(ratings))
    assert (joined.verdict.interpretable, joined.verdict.attributable) == (None, None)
    assert joined.share.unscored == "sentence 2 was not rated"
    ratings = [rating for rating in rated("uuu", "yyy", "yyy") if rating.sentence != 2]
    _, (joined,) = join_sentences(consensus(ratings))
    assert joined.verdict.interpretable is False


def test_ties_that_are_left_open_stay_open() -> None:
    _, (joined,) = join_sentences(consensus(rated("yynn", "yyyy"), ties="open"))
    assert (joined.verdict.interpretable, joined.verdict.attributable) == (True, None)
    assert joined.share.to_dict() == {"value": 1.0, "n": 1}
    _, (joined,) = join_sentences(consensus(rated("yynn"), ties="open"))
    assert joined.to_dict()["attributable_sentences"] == {
        "value": None,
        "n": 0,
        "unscored": "every sentence is open",
    }


def test_whole_answers_and_sentences_keep_their_order() -> None:
    ratings = [*said("yyy", item="b"), *rated("nnn", item="a"), *said("yyy", item="a")]
    verdicts, joined = join_sentences(consensus(ratings))
    assert [(v.item, v.attributable) for v in verdicts] == [("b", True), ("a", True)]
    assert [each.verdict.attributable for each in joined] == [False]
