"""Vectorized computations equal word-by-word references."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa.engines.extractive.passage import read_passage
from semqa.engines.extractive.question import read_inquiry
from semqa.engines.extractive.relevance import measure
from semqa.engines.extractive.spans import find_candidates
from tests.engines import naive

WORDS = (
    "it It they he She her its Ann Aas Oslo in from when that as opened was is said runs the May "
    "1932 bridge . ,"
)
bodies = st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=25).map(" ".join)


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
