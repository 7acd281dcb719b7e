"""Whatever is computed for all spans or sentences at once equals what is counted word by word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from semqa.engines.extractive.passage import read_passage
from semqa.engines.extractive.question import read_inquiry
from semqa.engines.extractive.relevance import measure
from semqa.engines.extractive.spans import find_candidates, leaves_open, misleads, nesting
from tests.engines import naive

WORDS = (
    *("it", "It", "they", "he", "She", "her", "its", "Ann", "Aas", "Oslo", "in", "from", "when"),
    *(
        "that",
        "as",
        "opened",
        "was",
        "is",
        "said",
        "runs",
        "the",
        "May",
        "1932",
        "bridge",
        ".",
        ",",
    ),
)
bodies = st.lists(st.sampled_from(WORDS), min_size=1, max_size=25).map(" ".join)
titles = st.frozensets(st.sampled_from(["ann", "aas", "oslo", "bridge"]))


@given(bodies, titles)
@example("when it", frozenset())
@example("when. It ran", frozenset())
@example("It rained when it was opened, as she said.", frozenset())
def test_open_and_misleading_spans(text: str, title: frozenset[str]) -> None:
    passage = read_passage(text)
    c = find_candidates(passage, np.ones(len(passage.words)))
    if not len(c.first):
        return
    spans = range(len(c.first))
    expected = [naive.leaves_open(passage, c, span, title) for span in spans]
    assert leaves_open(passage, c, title).tolist() == expected
    expected = [naive.misleads(passage, c, span, title) for span in spans]
    assert misleads(passage, c, title).tolist() == expected


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


@given(st.lists(st.sampled_from(["a", "b", " ", " ", "(", ")", '"', "“", "”"])).map("".join))
def test_nesting(text: str) -> None:
    passage = read_passage("x " + text)
    inside, _, _ = nesting(passage, 0, len(passage.words))
    places = [naive.nesting(passage.text, start) for start in passage.starts]
    for number, (depth, quoted) in zip(inside, places, strict=True):
        assert (number == 0) == (depth == 0 and not quoted)
    for i, place in enumerate(places[1:]):
        between = passage.gaps[i + 1]
        if not set(between) & set('"“”()'):
            assert inside[i] == inside[i + 1]
            assert place == places[i]
