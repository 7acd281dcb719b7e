"""Citation recall and precision, short answers and ROUGE-L."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa import Source
from semqa.attribution.citations import CitedAnswer, CitedSentence, score_citations
from semqa.attribution.citations.examples import AnswerExample, ShortAnswers
from semqa.attribution.citations.scores import disambig_scores, dr_score, rouge_l, string_match
from semqa.attribution.judges import Entailment, Pair, Reading, Span
from tests.attribution.fake_judge import FakeJudge, find


def _entailment(pair: Pair) -> Entailment:
    known = set(pair.hypothesis.strip(".").split()) <= set(pair.premise.split())
    return Entailment(1.0, 0.0, 0.0) if known else Entailment(0.0, 1.0, 0.0)


def _answer(reading: Reading) -> Span | None:
    """Return the word after the last word of the question."""
    _, key, rest = reading.passage.partition(f"{reading.question.rstrip('?').split()[-1]} ")
    return find(rest.split()[0].strip(".,"), reading.passage) if key else None


JUDGE = FakeJudge(entailment=_entailment, answer=_answer)
PASSAGES = (Source("a b"), Source("c"), Source("a"), Source("d", "T"))


def answer(*sentences: tuple[str, tuple[int, ...]]) -> CitedAnswer:
    return CitedAnswer(tuple(CitedSentence(*each) for each in sentences), PASSAGES)


numbers = st.lists(st.integers(0, 5), max_size=5).map(tuple)
sentences = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", "d", "a b", "a c", "b d", "a b c"]), numbers),
    max_size=4,
)


@given(st.lists(sentences, max_size=3), st.none() | st.integers(1, 4), st.booleans())
def test_a_plain_reading_of_the_paper(
    drawn: list[list[tuple[str, tuple[int, ...]]]], at_most: int | None, official: bool
) -> None:
    answers = [answer(*each) for each in drawn]
    found = score_citations(answers, JUDGE, at_most=at_most, official=official)
    plain = naive_official if official else naive
    for scores, given_answer in zip(found, answers, strict=True):
        expected = plain(given_answer, at_most)
        assert (scores.recall, scores.precision) == pytest.approx(expected)


def entails(indices: list[int], text: str) -> bool:
    pair = Pair("\n".join(f"{PASSAGES[i].title} {PASSAGES[i].text}" for i in indices), text)
    return _entailment(pair).entailed


def naive(answer: CitedAnswer, at_most: int | None) -> tuple[float | None, float | None]:
    recalled = precise = cited = 0
    for sentence in answer.sentences:
        numbers: list[int] = []
        for number in sentence.citations:
            if number not in numbers and (at_most is None or len(numbers) < at_most):
                numbers.append(number)
        cited += len(numbers)
        real = [number - 1 for number in numbers if 1 <= number <= len(PASSAGES)]
        if not (real and entails(real, sentence.text)):
            continue
        recalled += 1
        for index in real:
            others = [other for other in real if other != index]
            needed = not others or not entails(others, sentence.text)
            precise += entails([index], sentence.text) or needed
    n = len(answer.sentences)
    return 100 * recalled / n if n else None, 100 * precise / cited if cited else None


def naive_official(answer: CitedAnswer, at_most: int | None) -> tuple[float | None, float | None]:
    """Count as eval.py does, sentence by sentence."""
    if not answer.sentences:
        return None, None
    recalled = precise = cited = 0
    for sentence in answer.sentences:
        refs = [number - 1 for number in sentence.citations]
        if not refs or any(ref >= len(PASSAGES) for ref in refs):
            continue
        refs = refs[: at_most or 3]
        cited += len(refs)
        if not entails(refs, sentence.text):
            continue
        recalled += 1
        if len(refs) == 1:
            precise += 1
            continue
        for ref in refs:
            others = list(refs)
            others.remove(ref)
            precise += entails([ref], sentence.text) or not entails(others, sentence.text)
    return 100 * recalled / len(answer.sentences), 100 * precise / cited if cited else 0


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
    first, second = disambig_scores(examples, JUDGE)
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
