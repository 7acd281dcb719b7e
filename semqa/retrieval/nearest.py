"""Exemplars whose questions are nearest to the question at hand.

Source: Schuster et al., SEMQA (NAACL 2024), few-shot prompting: nearest training questions by
Sentence-T5 embeddings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.prompting.exemplar import Exemplar
    from semqa.retrieval.embeddings import TextEncoder
    from semqa.retrieval.pool import ExemplarPool

__all__ = ["NearestExemplars"]


class NearestExemplars:
    """Chooses by the cosine similarity of embedded questions, the nearest first.

    Equally near ones keep the order of the pool. The pool is embedded when it is first needed.

    Args:
        pool: what may be chosen.
        encoder: embeds texts, `semqa.retrieval.encoder.SentenceEncoder` for one.
    """

    def __init__(self, pool: ExemplarPool, encoder: TextEncoder) -> None:
        self._pool = pool
        self._encoder = encoder
        self._vectors: NDArray[np.float32] | None = None
        self._known: dict[str, NDArray[np.float32]] = {}

    def select(self, question: str, count: int) -> list[Exemplar]:
        """Choose `count` exemplars, the nearest first.

        Raises:
            InputError: there are not so many, or the encoder is not usable.
        """
        places = np.array(self._pool.candidates(question, count), dtype=np.intp)
        if question not in self._known:
            self.prepare([question], count)
        vectors = self._pool_vectors()  # [exemplars, width]
        similarity = vectors[places] @ self._known[question]  # [candidates]
        # Rounded, so that the last bits of a sum do not decide between equals.
        nearest = np.argsort(-similarity.round(6), kind="stable")[:count]
        return [self._pool.exemplars[place] for place in places[nearest]]

    def available(self, question: str) -> int:
        """Return how many exemplars there are for a question, itself not counted."""
        return len(self._pool.candidates(question, 0))

    def prepare(self, questions: Sequence[str], count: int) -> None:
        """Embed the pool and these questions.

        Raises:
            InputError: there are not `count` exemplars for one of them, or the encoder is not
                usable.
        """
        for question in questions:
            self._pool.candidates(question, count)
        self._pool_vectors()
        new = [question for question in dict.fromkeys(questions) if question not in self._known]
        if not new:
            return
        for question, vector in zip(new, _unit(self._encoder.encode(new)), strict=True):
            self._known[question] = vector

    def identity(self) -> dict[str, object]:
        """Return what the choice depends on, ready for JSON."""
        return {
            "strategy": "knn",
            "encoder": self._encoder.name,
            "encoder_id": self._encoder.identity(),
            "pool_sha256": self._pool.sha256,
        }

    def _pool_vectors(self) -> NDArray[np.float32]:
        if self._vectors is None:
            texts = [exemplar.question for exemplar in self._pool.exemplars]
            self._vectors = _unit(self._encoder.encode(texts))
        return self._vectors


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale each row to length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: NDArray[np.float32] = vectors / np.where(lengths > 0, lengths, np.float32(1))
    return unit
