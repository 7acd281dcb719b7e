"""Suffix arrays, in time linear in the text, whatever the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from semqa.decoding.automaton.entries import entries

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["suffix_array"]


def suffix_array(text: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the starts of all suffixes of a text, sorted by suffix (int32[n]).

    Source: SA-IS, see `semqa.decoding.automaton.suffixes`.

    Example:
        >>> suffix_array(np.frombuffer(b"banana", np.uint8)).tolist()
        [5, 3, 1, 0, 4, 2]
    """
    return _sort(text.astype(np.int32), 256)


def _sort(symbols: NDArray[np.int32], size: int) -> NDArray[np.int32]:
    if symbols.size < 2:
        return np.arange(symbols.size, dtype=np.int32)
    valleys, names, distinct = entries().name_pieces(symbols, size)
    if distinct < valleys.size:
        order = _sort(names, distinct)
    else:
        order = np.empty_like(names)
        order[names] = np.arange(names.size, dtype=np.int32)
    sorted_suffixes: NDArray[np.int32] = entries().induce(symbols, size, valleys[order])
    return sorted_suffixes
