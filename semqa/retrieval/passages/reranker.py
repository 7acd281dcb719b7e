"""A closer look at what was found: a model that reads the question and a passage together."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from semqa.errors import InputError
from semqa.retrieval.sentence_models import SentenceModel, said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.retrieval.passages.rerank import Candidate

__all__ = ["LOOKS_AT", "Reranker", "read_again"]

LOOKS_AT = 40
"""Passages that it reads, the best by all else; a small model on two cores reads some 40 a second."""

BATCH = 16


class Reranker:
    """A cross-encoder of sentence-transformers, for one thread at a time; loaded when first used.

    Args:
        model: a folder with one, or its name on the Hub.

    Raises:
        InputError: it is a path where no folder is.
    """

    def __init__(self, model: str) -> None:
        self.name = model
        self._source = SentenceModel("CrossEncoder", model, role="reranker")
        self._lock = threading.Lock()

    @cached_property
    def _model(self) -> Any:
        return self._source.load()

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return how well each text answers the query, float32[texts]; higher is better.

        Raises:
            InputError: the model is not usable.
            UnavailableError: it cannot be had, or packages are missing.
        """
        with self._lock:
            model = self._model
            try:
                found = model.predict(
                    [(query, text) for text in texts], batch_size=BATCH, show_progress_bar=False
                )
            except Exception as error:
                raise InputError(f"Reranker {self.name} failed: {said(error)}.") from error
        scores = np.asarray(found, dtype=np.float32)
        if scores.shape != (len(texts),) or not np.isfinite(scores).all():
            raise InputError(
                f"Reranker {self.name} returned scores of shape {scores.shape}, or infinite numbers, for {len(texts)} passages."
            )
        return scores


def read_again(reranker: Reranker, query: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates, best first, with the reranker's scores for theirs.

    Raises:
        InputError: the model is not usable.
        UnavailableError: it cannot be had, or packages are missing.
    """
    if not candidates:
        return []
    texts = ["\n".join(filter(None, (each.title, each.context, each.text))) for each in candidates]
    scores = reranker.scores(query, texts)
    for candidate, score in zip(candidates, scores.tolist(), strict=True):
        candidate.score = score
    return sorted(candidates, key=lambda each: -each.score)
