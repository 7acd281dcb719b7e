"""Unfinished characters that may become digits.

Where numbers must be quoted it matters which character comes of a few bytes, and not only which bytes
may follow. Of all beginnings of characters, fewer than a hundred lead to a digit; those from which the
same bytes do so are of one kind, and there are some three dozen kinds.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from semqa.decoding.characters import DIGIT, class_table
from semqa.decoding.core.layout import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["UnfinishedDigits", "kind_of", "unfinished_digits"]


class UnfinishedDigits(NamedTuple):
    """The kinds of unfinished characters that may become digits, or something else.

    Attributes:
        kinds: int32[P, 2], ascending: PART of a state (`core.state`), and its kind.
        samples: int32[K], a PART of each kind.
    """

    kinds: NDArray[np.int32]
    samples: NDArray[np.int32]


@cache
def unfinished_digits() -> UnfinishedDigits:
    """Find the kinds; they depend on Python's Unicode alone."""
    endings: dict[int, set[bytes]] = {}
    beginnings: dict[int, bytes] = {}
    for code in np.flatnonzero(class_table() & DIGIT).tolist():
        data = chr(code).encode()
        bits = data[0] & 0x7F >> len(data)
        for length in range(1, len(data)):
            part = (len(data) - length) << 21 | bits
            endings.setdefault(part, set()).add(data[length:])
            beginnings[part] = data[:length]
            bits = bits << 6 | data[length] & 0x3F
    by_future: dict[tuple[int, bytes, frozenset[bytes]], int] = {}
    kinds: list[tuple[int, int]] = []
    samples: list[int] = []
    for part, ends in sorted(endings.items()):
        future = part >> 21, _next_bytes(beginnings[part]), frozenset(ends)
        if future not in by_future:
            by_future[future] = len(samples)
            samples.append(part)
        kinds.append((part, by_future[future]))
    return UnfinishedDigits(np.array(kinds, np.int32), np.array(samples, np.int32))


def _next_bytes(beginning: bytes) -> bytes:
    """Return the bytes that may follow in UTF-8."""
    return bytes(byte for byte in range(0x80, 0xC0) if _begins(beginning + bytes([byte])))


def _begins(data: bytes) -> bool:
    try:
        getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


@jit
def kind_of(kinds: Any, count: int, part: int) -> int:
    """Look an unfinished character up.

    Args:
        kinds: a pointer to the kinds, see `UnfinishedDigits`.
        count: how many rows there are.
        part: PART of the state.

    Returns:
        Its kind, -1 if it cannot become a digit.
    """
    left, right = 0, count
    while left < right:
        middle = (left + right) >> 1
        if kinds[2 * middle] < part:
            left = middle + 1
        else:
            right = middle
    return kinds[2 * left + 1] if left < count and kinds[2 * left] == part else -1
