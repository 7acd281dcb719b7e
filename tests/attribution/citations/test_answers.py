"""Short answers, ROUGE-L, Disambig-F1 and DR."""

from __future__ import annotations

import pytest

from semqa.attribution.citations.examples import AnswerExample, ShortAnswers
from semqa.attribution.citations.scores import disambig_scores, dr_score, rouge_l, string_match
from tests.attribution.citations.judges import WordJudge


def wanted(*answers: tuple[str, ...]) -> list[ShortAnswers]:
    return [ShortAnswers("", each) for each in answers]


def test_short_answers_are_found_as_squad_compares_them() -> None:
    text = "In the U.S. it sold well-known records, 1,000 of them."
    assert (
        string_match(text, wanted(("US",), ("wellknown", "x"), ("1000",), ("x", "y"))).value == 75
    )
    assert string_match(text, []).unscored == "the question has no short answers"
    assert (
        string_match("party", wanted(("art",))).value == 100
    )  # within a word: the papers' measure


def test_what_normalises_to_nothing_is_found_officially_alone() -> None:
    assert string_match("It.", wanted(("The",))).value == 0
    assert string_match("It.", wanted(("The",)), official=True).value == 100


def test_rouge_takes_the_closest_reference() -> None:
    references = ["The cat sat.", "A dog lay down. It slept.", "It slept."]
    assert rouge_l("A dog lay down. It slept.", references).value == pytest.approx(100)
    # The third reference is not looked at.
    official = rouge_l("It slept.", ["Cats sat.", "Dogs lay.", "It slept."], official=True)
    assert official.value == 0
    assert rouge_l("Cats", ["The cat"], official=True).value == pytest.approx(200 / 3)
    assert rouge_l("Cats", ["The cat"]).value == 0
    assert rouge_l("x", []).unscored == "the question has no reference"


def test_disambig_f1_by_hand() -> None:
    examples = [
        AnswerExample(
            "1",
            "Who?",
            "The singer Bing Crosby sang [1]. The writer Irving wrote.",
            short_answers=(
                ShortAnswers("Name of the singer?", ("Bing Crosby", "Crosby")),
                ShortAnswers("Name of the writer?", ("Irving",)),
                ShortAnswers("Name of the producer?", ("Kapp",)),
            ),
        ),
        AnswerExample("2", "Why?", ""),
    ]
    first, second = disambig_scores(examples, WordJudge())
    assert [pair.found for pair in first.pairs] == ["Bing", "Irving", ""]
    assert [pair.f1 for pair in first.pairs] == pytest.approx([2 / 3, 1, 0])
    assert first.f1 == pytest.approx(100 * (2 / 3 + 1) / 3)
    assert first.exact == pytest.approx(100 / 3)
    assert first.hit == 0
    assert (second.f1, second.unscored) == (None, "the question has no short answers")


def test_dr_is_the_geometric_mean() -> None:
    # The figures that the README of ASQA's scripts prints for T5.
    assert dr_score(26.373514957680307, 39.151834028242725) == pytest.approx(32.13365028073338)
    assert dr_score(None, 3) is None
    assert dr_score(0.0, 3) == 0
