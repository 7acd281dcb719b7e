"""Exemplars by chance, the same chance every time."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from semqa.retrieval.same import question_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.prompting.exemplar import Exemplar
    from semqa.retrieval.pool import ExemplarPool

__all__ = ["SeededExemplars"]


class SeededExemplars:
    """Chooses at random, by a seed and the question.

    The choice depends neither on the order in which questions are asked, nor on that of the pool:
    each exemplar draws a lot from seed, question and its own question, and the lowest lots win.
    Hence a choice of fewer is the beginning of a choice of more.

    Args:
        pool: what may be chosen.
        seed: another one gives another choice.
    """

    def __init__(self, pool: ExemplarPool, seed: int = 0) -> None:
        self._pool = pool
        self._seed = seed

    def select(self, question: str, count: int) -> list[Exemplar]:
        """Choose `count` exemplars, the first drawn first.

        Raises:
            InputError: there are not so many.
        """
        key = question_key(question)

        def lot(exemplar: Exemplar) -> bytes:
            text = f"{self._seed}\0{key}\0{question_key(exemplar.question)}"
            return hashlib.sha256(text.encode("utf-8", "backslashreplace")).digest()

        candidates = self._pool.candidates(question, count)
        return sorted((self._pool.exemplars[place] for place in candidates), key=lot)[:count]

    def available(self, question: str) -> int:
        """Return how many exemplars there are for a question, itself not counted."""
        return len(self._pool.candidates(question, 0))

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """See that there are enough for each question.

        Raises:
            InputError: there are not.
        """
        for question in questions:
            self._pool.candidates(question, count)

    def identity(self) -> dict[str, object]:
        """Return what the choice depends on, ready for JSON."""
        return {"strategy": "random", "seed": self._seed, "pool_sha256": self._pool.sha256}
