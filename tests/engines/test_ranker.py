"""Vectorized computations equal word-by-word references."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa import Source
from semqa.engines.extractive.passage import read_passage
from semqa.engines.extractive.question import read_inquiry
from semqa.engines.extractive.reading import load_weights, read_request, score_spans
from semqa.engines.extractive.relevance import decayed, measure
from semqa.engines.extractive.spans import find_candidates
from tests.engines import naive

WORDS = 'the The Ann Bob opened bridge , . ( ) in 1932 who was and because " Oslo it'
sentences = st.lists(st.sampled_from(WORDS.split()), max_size=30).map(" ".join)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(-1, 2)), max_size=12),
    st.floats(0.5, 20),
    st.sampled_from([-1, 0, 1]),
)
def test_decay_equals_the_reference(
    words: list[tuple[float, int]], reach: float, side: int
) -> None:
    weights = [weight for weight, _ in words]
    homes = [home for _, home in words]
    fast = decayed(np.array(weights), np.array(homes, dtype=np.int64), reach, side)
    assert fast.tolist() == pytest.approx(naive.decayed(weights, homes, reach, side))


@settings(deadline=None)
@given(sentences, sentences.map(lambda text: text[:12]), sentences)
def test_expected_f1_equals_the_reference(body: str, title: str, question: str) -> None:
    weights = load_weights()
    _, (reading,) = read_request(question, [Source(body, title=title)])
    alone, titled = score_spans(reading, weights)
    for span in range(len(alone)):
        assert math.isclose(
            alone[span], naive.expected_f1(reading, weights, span, titled=False), abs_tol=1e-9
        )
        expected = (
            naive.expected_f1(reading, weights, span, titled=True) if reading.title_words else -1.0
        )
        assert math.isclose(titled[span], expected, abs_tol=1e-9)


PASSAGE_WORDS = (
    "it It they he She her its Ann Aas Oslo in from when that as opened was is said runs the May "
    "1932 bridge . ,"
)
bodies = st.lists(st.sampled_from(PASSAGE_WORDS.split()), min_size=1, max_size=25).map(" ".join)


@given(bodies, st.lists(st.integers(0, 3), min_size=50, max_size=50))
def test_sums_over_spans(text: str, values: list[int]) -> None:
    passage = read_passage(text)
    c = find_candidates(passage, np.ones(len(passage.words)))
    of_words = values[: len(passage.words)]
    inside = [of_words[a:b] for a, b in zip(c.first, c.last, strict=True)]
    assert c.total(np.array(of_words, float)).tolist() == [sum(span) for span in inside]
    assert c.holds(np.array(of_words) > 0).tolist() == [any(span) for span in inside]


@settings(deadline=None)
@given(bodies, st.lists(bodies, min_size=1, max_size=3))
def test_bm25(question: str, texts: list[str]) -> None:
    inquiry, passages = read_inquiry(question), [read_passage(text) for text in texts]
    measured = measure(inquiry, passages, [frozenset()] * len(passages))
    for source, relevance in enumerate(measured):
        assert relevance.bm25.tolist() == pytest.approx(naive.bm25(inquiry, passages, source))


def test_strength_is_one_for_the_best_source_and_falls_with_fewer_question_words() -> None:
    _, readings = read_request(
        "Who opened the bridge in Oslo?",
        [Source("Ann slept."), Source("Ann opened the bridge in Oslo."), Source("It is in Oslo.")],
    )
    strengths = [reading.relevance.strength for reading in readings]
    assert strengths[1] == 1.0
    assert strengths[0] == 0.0 < strengths[2] < 1.0
