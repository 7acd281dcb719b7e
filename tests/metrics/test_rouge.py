"""ROUGE equals rouge-score on any two texts, and its fast parts equal their slow definitions."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from semqa.metrics import rouge_scores
from semqa.metrics.rouge import (
    UNKNOWN,
    RougeScores,
    RougeText,
    Vocabulary,
    closest_rouge,
    lcs_length,
    lcs_positions,
    position_masks,
)
from tests.reference import scores as reference

# Few words, so that texts share many; many line ends, for ROUGE-Lsum.
words = st.sampled_from(["a", "b", "c", "the", "cat", "Cat", "5th", "é", "—", "K", "İ", "ΑΣ"])
lines = st.lists(words, max_size=9).map(" ".join)
texts = st.lists(lines, max_size=5).map("\n".join) | st.text(max_size=60)
sequences = st.text("abcde", max_size=70)


def slow(target: str, prediction: str) -> tuple[float, ...]:
    """F-measures of rouge-score, from 0 to 1: times 100 they may tie where they do not."""
    scores = reference.ROUGE.score(target, prediction)
    return tuple(scores[m].fmeasure for m in ("rouge1", "rouge2", "rougeL", "rougeLsum"))


def percent(scores: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(100 * score for score in scores)


def closest(targets: list[str], prediction: str) -> RougeScores:
    vocabulary = Vocabulary()
    encoded = [RougeText.read(text, vocabulary.learn) for text in targets]
    return closest_rouge(encoded, RougeText.read(prediction, vocabulary.encode))


@given(texts, texts)
def test_equals_rouge_score(target: str, prediction: str) -> None:
    assert rouge_scores(target, prediction) == pytest.approx(
        percent(slow(target, prediction)), rel=0, abs=1e-9
    )


@given(st.lists(texts, min_size=1, max_size=4), texts)
@example(["a a a a a a a", "a a"], "a a a b b b b b")  # nearly equal
def test_the_closest_reference_is_the_first_of_the_highest_rouge_lsum(
    targets: list[str], prediction: str
) -> None:
    got = closest(targets, prediction)
    expected = max((slow(text, prediction) for text in targets), key=lambda row: row[3])
    assert got == pytest.approx(percent(expected), rel=0, abs=1e-9)


@given(sequences, sequences)
def test_lcs_positions_are_those_that_rouge_score_reads_from_its_table(
    target: str, candidate: str
) -> None:
    bits = lcs_positions(position_masks(target), len(target), candidate)
    got = [i for i in range(len(target)) if bits >> i & 1]
    assert got == rouge_scorer.lcs_ind(target, candidate)
    assert len(got) == lcs_length(target, candidate)


def test_scoring_one_prediction_leaves_the_vocabulary_as_it_was() -> None:
    vocabulary = Vocabulary()
    references = [RougeText.read("the cat sat\non the mat", vocabulary.learn)]
    first = closest_rouge(references, RougeText.read("the mat", vocabulary.encode))
    closest_rouge(references, RougeText.read("entirely new\nset of words", vocabulary.encode))
    assert vocabulary.encode(["entirely"]) == UNKNOWN
    assert closest_rouge(references, RougeText.read("the mat", vocabulary.encode)) == first
