"""The judge without a model: what it says of pairs and questions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa.attribution.judges import Pair, Reading
from semqa.attribution.judges.lexical import LexicalJudge

PREMISE = (
    "Ann Lee opened the bridge in 1932. It is red. The mayor, Bob Fox, did not attend the opening. "
    "About 1,200 people came."
)
JUDGE = LexicalJudge()


def judge(hypothesis: str, premise: str = PREMISE) -> str:
    (found,) = JUDGE.entailment([Pair(premise, hypothesis)])
    assert sum(found) == pytest.approx(1)
    assert min(found) >= 0
    return max(found._fields, key=lambda name: getattr(found, name))


@pytest.mark.parametrize(
    ("hypothesis", "relation"),
    [
        ("The bridge was opened by Ann Lee.", "entailment"),
        ("Ann Lee opened the bridge in 1932, and it is red.", "entailment"),
        ("Bob Fox did not attend the opening.", "entailment"),
        ("Who opened it? Ann Lee.", "entailment"),
        ("Ann Lee opened the bridge in 1933.", "contradiction"),
        ("Ann Lee did not open the bridge.", "contradiction"),
        ("Bob Fox attended the opening.", "contradiction"),
        ("The bridge is blue.", "neutral"),
        ("Ann Lee opened the bridge with Carl Orff.", "neutral"),
        ("Who opened it?", "neutral"),
        ("Ann Lee opened the bridge. Whales sing in winter.", "neutral"),
    ],
)
def test_entailment_by_words(hypothesis: str, relation: str) -> None:
    assert judge(hypothesis) == relation


@given(st.text(max_size=60), st.integers(min_value=2000, max_value=9999))
def test_a_number_that_the_premise_lacks_is_never_entailed(text: str, number: int) -> None:
    assert judge(f"{text} {number} .", "Ann Lee opened the bridge in 1932.") != "entailment"


@given(st.text(), st.text())
@settings(max_examples=200)
def test_whatever_the_texts_there_is_a_judgement(premise: str, hypothesis: str) -> None:
    judge(hypothesis, premise)
    (span,) = JUDGE.answer([Reading(hypothesis, premise)])
    assert span is None or (premise[span.start : span.end] == span.text and 0 <= span.score <= 1)
    JUDGE.ask([(hypothesis, premise)])


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was the bridge opened?", "1932"),
        ("Who opened the bridge?", "Ann Lee"),
        ("How many people came?", "1,200"),
        ("Who did not attend the opening?", "Bob Fox"),
        ("What colour is the sea?", None),
    ],
)
def test_answers(question: str, answer: str | None) -> None:
    (span,) = JUDGE.answer([Reading(question, PREMISE)])
    assert (span.text if span else None) == answer


@pytest.mark.parametrize("answer", ["Ann Lee", "1932", "Bob Fox", "1,200 people"])
def test_what_it_asks_it_can_answer(answer: str) -> None:
    (questions,) = JUDGE.ask([(answer, PREMISE)])
    assert questions
    for question in questions:
        assert answer not in question
        (span,) = JUDGE.answer([Reading(question, PREMISE)])
        assert span is not None
        assert span.text in answer


@pytest.mark.parametrize(
    ("premise", "hypothesis", "entailed"),
    [
        ("The U.S. won.", "The US won.", True),
        ("The U.S. won.", "We won, all of us.", True),
        ("They let us win.", "The US win.", False),
        ("Ann's team won.", "Ann won.", True),
        ("It cost 12.5 dollars.", "It cost 125 dollars.", False),
        ("Three people came.", "3 people came.", True),
        ("Bing sang.", "(1) Bing sang.", True),
        ("Bing sang.", "One source says that Bing sang.", True),
    ],
)
def test_the_same_word_in_another_form(premise: str, hypothesis: str, entailed: bool) -> None:
    assert (judge(hypothesis, premise) == "entailment") is entailed


@pytest.mark.parametrize("text", ["a", ". ", "\n \n", "1,"])
def test_long_texts_of_any_kind_take_no_quadratic_time(text: str) -> None:
    text *= 50_000 // len(text)
    judge(f"It is. {text}", f"{text} It is.")
    JUDGE.answer([Reading("Who is it?", text)])
