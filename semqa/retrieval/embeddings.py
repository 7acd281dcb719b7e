"""Embeddings that were computed once: a table on disk, by model and text.

One SQLite file holds all of them, so that several processes can read and write at a time and a kill
leaves a whole table. Knows nothing of how texts are embedded.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

import numpy as np

from semqa.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["EmbeddingCache", "TextEncoder"]

WAIT_SECONDS = 60.0
"""How long one process waits for another that writes."""

CHUNK = 256
"""Texts that are embedded and stored at a time: what a kill may cost."""


class TextEncoder(Protocol):
    """Turns texts into vectors.

    Attributes:
        name: the model, as the user calls it.
    """

    name: str

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row a text, float32[texts, width]."""
        ...

    def identity(self) -> str:
        """Return what tells this model from others, its content if that is known."""
        ...


class EmbeddingCache:
    """Vectors by model and text, in a file.

    Args:
        path: the file; made with its folder when it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def encode(
        self,
        model: str,
        texts: Sequence[str],
        compute: Callable[[Sequence[str]], NDArray[np.float32]],
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> NDArray[np.float32]:
        """Return a vector for each text, from the file where it is there.

        Args:
            model: what tells the model from others.
            texts: the texts.
            compute: embeds texts, float32[texts, width]; not called where nothing is missing.
            on_progress: called with how many texts are done, and of how many.

        Raises:
            UnavailableError: the file cannot be read or written.
        """
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        keys = [_key(model, text) for text in texts]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=WAIT_SECONDS)) as table:
                table.execute(
                    "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)"
                    " WITHOUT ROWID"
                )
                found = _read(table, keys)
                missing = {k: t for k, t in zip(keys, texts, strict=True) if k not in found}
                on_progress(len(texts) - len(missing), len(texts))
                waiting = list(missing.items())
                for start in range(0, len(waiting), CHUNK):
                    chunk = waiting[start : start + CHUNK]
                    vectors = compute([text for _, text in chunk]).astype("<f4")
                    rows = [(k, v) for (k, _), v in zip(chunk, vectors, strict=True)]
                    with table:  # one transaction
                        table.executemany(
                            "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                            [(key, vector.tobytes()) for key, vector in rows],
                        )
                    found.update(rows)
                    done = len(texts) - len(waiting) + start + len(chunk)
                    on_progress(done, len(texts))
        except (sqlite3.Error, OSError) as error:
            raise UnavailableError(
                f"{self._path}: The embedding cache cannot be used: {error}. Remove the file, or set SEMQA_CACHE to another folder."
            ) from error
        try:
            return np.stack([found[key] for key in keys]).astype(np.float32)
        except ValueError as error:
            raise UnavailableError(
                f"{self._path}: The embedding cache is damaged. Remove the file; it is made again."
            ) from error


def _read(table: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
    found: dict[bytes, NDArray[np.float32]] = {}
    for key in dict.fromkeys(keys):
        row = table.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        if row is not None:
            found[key] = np.frombuffer(row[0], dtype="<f4")
    return found


def _key(model: str, text: str) -> bytes:
    return hashlib.sha256(f"{model}\0{text}".encode("utf-8", "backslashreplace")).digest()
