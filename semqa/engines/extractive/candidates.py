"""Candidate spans: every stretch of a sentence between two cuts where a quote may begin or end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from semqa.engines.extractive.cuts import Cut, closes_at, opens_at, separates
from semqa.engines.extractive.lexicon import (
    DETERMINERS,
    PREPOSITIONS,
    REASONS,
    RELATIVES,
    is_verb,
)
from semqa.engines.extractive.nesting import nesting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semqa.engines.extractive.passage import Passage, Sentence

__all__ = ["Candidates", "find_candidates"]

MAX_WORDS = 45
"""Longest span inside a sentence; a whole sentence may be longer."""

MAX_SPANS = 1_500
"""Past this many candidates of one source only whole sentences are added."""

_STRONG = 0.9
"""Evidence from which a run of words is cut out as an answer."""

_LEADING = REASONS | RELATIVES | {"to", "of", "using", "via"}
"""Words that lead to an answer, and so never end one."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Spans of one passage as parallel arrays; shapes [spans].

    Attributes:
        first: index of each span's first word.
        last: index after its last word.
        sentence: index of the sentence it starts in.
        before: the `Cut` it begins at.
        after: the `Cut` it ends at.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    sentence: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum the values of the words in each span; shapes [words] to [spans]."""
        sums = np.concatenate([[0.0], np.cumsum(values)])
        totals: NDArray[np.float64] = sums[self.last] - sums[self.first]
        return totals

    def holds(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Say which spans hold a flagged word; shapes [words] to [spans]."""
        counts = np.concatenate([[0], np.cumsum(flags)])
        held: NDArray[np.bool_] = counts[self.last] > counts[self.first]
        return held


def find_candidates(passage: Passage, evidence: NDArray[np.float64]) -> Candidates:
    """List the whole sentences and every span between two cuts of one sentence.

    Args:
        passage: the words to choose from.
        evidence: the weight of each word as an answer, shape [words]; a span may also begin or
            end with a run of evidence.
    """
    rows: list[tuple[int, int, int, int, int]] = []
    strong = (evidence >= _STRONG).tolist()
    for number, sentence in enumerate(passage.sentences):
        a, b = sentence.first, sentence.last
        rows.append((a, b, number, Cut.SENTENCE, Cut.SENTENCE))
        if len(rows) < MAX_SPANS:
            _add_spans(passage, sentence, number, strong, rows)
    table = np.array(rows, dtype=np.int64).reshape(-1, 5)
    return Candidates(*(np.ascontiguousarray(table[:, i]) for i in range(5)))


def _add_spans(
    passage: Passage,
    sentence: Sentence,
    number: int,
    strong: list[bool],
    rows: list[tuple[int, int, int, int, int]],
) -> None:
    """Add to `rows` every span between two cuts of one sentence; `strong` flags the evidence."""
    a, b = sentence.first, sentence.last
    inside, before_mark, after_mark = nesting(passage, a, b)
    opens, closes = [(a, Cut.SENTENCE)], []
    for i in range(a + 1, b):
        if not separates(passage.gaps[i]):
            continue
        opening, closing = opens_at(passage, i, b), closes_at(passage, i, b)
        previous = passage.words[i - 1]
        loose = previous not in DETERMINERS and previous not in PREPOSITIONS
        if not opening and strong[i] and not strong[i - 1] and loose:
            opening = Cut.EVIDENCE
        ended = strong[i - 1] and not strong[i] and previous not in _LEADING
        if not closing and ended and loose and not is_verb(passage.words[i]):
            closing = Cut.EVIDENCE
        if opening:
            opens.append((i, opening))
        if closing:
            closes.append((i, closing))
    closes.append((b, Cut.SENTENCE))
    for first, before in opens:
        for last, after in closes:
            if last - first > MAX_WORDS:
                break
            balanced = inside[first - a] == inside[last - 1 - a] or not (
                before_mark[first - a] or after_mark[last - 1 - a]
            )
            if first < last and balanced and (first != a or last != b):
                rows.append((first, last, number, before, after))
