"""Passages that are like a question's own and do not hold its answer, by BM25."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.attribution.attrscore.simulation.matching import Forms
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.attrscore.simulation.matching import Needle

__all__ = ["Negative", "Negatives"]

_LOOKED_AT = 100
"""Passages, best first, among which one without an answer is looked for."""


class Negative(NamedTuple):
    """A passage and its rank by BM25, from 1."""

    text: str
    rank: int


class Negatives:
    """The passages of a data set, searched by words.

    Raises:
        MissingExtraError: bm25s is not installed.
    """

    def __init__(self, passages: Sequence[str]) -> None:
        bm25s: Any = require("bm25s", extra="eval", purpose="simulation of extrapolatory claims")
        self._passages = tuple(dict.fromkeys(passages))
        self._forms = tuple(map(Forms.of, self._passages))
        self._tokenise = bm25s.tokenize
        self._index: Any = bm25s.BM25()
        words = self._words(list(self._passages))
        self._known = {word for each in words for word in each}
        if self._known:
            self._index.index(words, show_progress=False)

    def _words(self, texts: list[str]) -> list[list[str]]:
        words: list[list[str]] = self._tokenise(
            texts, stopwords="en", return_ids=False, show_progress=False
        )
        return words

    def find(self, question: str, own: str, answers: Needle) -> Negative | None:
        """Return the passage nearest to a question that holds none of its answers, or None.

        Ties go to the passage that stands first in the data set.

        Args:
            question: the question.
            own: its own passage, which does not count.
            answers: all the forms of the answer.
        """
        import numpy as np

        words = [word for word in self._words([question])[0] if word in self._known]
        if not words:
            return None
        scores = self._index.get_scores(words)
        best = np.argsort(-scores, kind="stable")[:_LOOKED_AT]
        for rank, number in enumerate(map(int, best), start=1):
            if scores[number] <= 0:
                return None
            text = self._passages[number]
            if text != own and not answers.within(self._forms[number]):
                return Negative(text, rank)
        return None
