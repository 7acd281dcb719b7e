"""Tries kept on disk, so that a large vocabulary is sorted once for all processes to come.

A file is found by the fingerprint of its vocabulary and believed only when it says so itself, is
whole and is in range: anything else is built anew. A cache that cannot be read or written costs
time and nothing else.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import TYPE_CHECKING

import numpy as np

from semqa.decoding.trie import Trie, add_tables, build_trie
from semqa.errors import SemqaError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["FORMAT", "cache_path", "cached_trie"]

FORMAT = 1
"""Goes up whenever the arrays of a trie change their meaning."""

_WORTH_A_FILE = 10_000
_STORED = {
    "first_child": np.int32,
    "child_count": np.int32,
    "byte": np.uint8,
    "token_start": np.int32,
    "token_ids": np.int32,
}


def cache_path(fingerprint: str) -> Path:
    """Return where the trie of a vocabulary is kept, whether it is there or not.

    Raises:
        InputError: there is no cache folder (see `semqa.data.cache_folder`).
    """
    from semqa.data.fetch import cache_folder

    return cache_folder() / "vocabularies" / f"{fingerprint}.{FORMAT}.npz"


def cached_trie(blob: NDArray[np.uint8], offsets: NDArray[np.int64], fingerprint: str) -> Trie:
    """Return the trie of a vocabulary, from disk where it is there.

    Small vocabularies are built faster than a file is read; they leave none.

    Args:
        blob: uint8, the bytes of all tokens joined.
        offsets: int64[V + 1].
        fingerprint: of the vocabulary's whole content.
    """
    tokens = int(np.count_nonzero(np.diff(offsets)))
    if tokens < _WORTH_A_FILE:
        return build_trie(blob, offsets)
    try:
        path = cache_path(fingerprint)
    except SemqaError:
        return build_trie(blob, offsets)
    stored = _read(path, fingerprint, tokens, offsets.size - 1)
    if stored is not None:
        return stored
    trie = build_trie(blob, offsets)
    _write(path, fingerprint, trie)
    return trie


def _read(path: Path, fingerprint: str, tokens: int, size: int) -> Trie | None:
    try:
        data = io.BytesIO(path.read_bytes())  # numpy leaves the file of a broken archive open
        with np.load(data, allow_pickle=False) as file:
            if str(file["fingerprint"]) != fingerprint:
                return None
            arrays = {name: file[name] for name in _STORED}
    except (
        OSError,
        EOFError,
        KeyError,
        ValueError,
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
    ):
        return None
    if any(arrays[name].dtype != kind or arrays[name].ndim != 1 for name, kind in _STORED.items()):
        return None
    return add_tables(**arrays) if _in_range(arrays, tokens, size) else None


def _in_range(arrays: dict[str, NDArray[np.generic]], tokens: int, size: int) -> bool:
    """Tell whether compiled code may walk the arrays without leaving them."""
    first, count, byte, start, ids = (arrays[name] for name in _STORED)
    nodes = first.size
    if not nodes or not count.size == byte.size == nodes == start.size - 1 or ids.size != tokens:
        return False
    counts = count.astype(np.int64)
    return bool(
        counts.min() >= 0
        and counts.sum() == nodes - 1
        and (first == 1 + np.cumsum(counts) - counts).all()
        and start[0] == 0
        and start[-1] == tokens
        and (np.diff(start) >= 0).all()
        and ids.min() >= 0
        and ids.max() < size
    )


def _write(path: Path, fingerprint: str, trie: Trie) -> None:
    from semqa.data.files import write_atomic

    buffer = io.BytesIO()
    kept = {name: getattr(trie, name) for name in _STORED}
    np.savez(buffer, fingerprint=np.array(fingerprint), **kept)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, [buffer.getvalue()])
    except (OSError, SemqaError):
        return
