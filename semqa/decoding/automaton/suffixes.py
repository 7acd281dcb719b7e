"""The two expensive passes of SA-IS, which builds suffix arrays in linear time.

Source: Nong, Zhang, Chan, "Two Efficient Algorithms for Linear Time Suffix Array Construction",
IEEE Transactions on Computers 60 (2011). The recursion between the passes is in
`semqa.decoding.sources`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.automaton.memory import jit

EMPTY = -1


@jit
def _is_valley(small: Any, place: int) -> bool:
    """Return whether a suffix is leftmost S-type (LMS), here called a valley.

    It is smaller than the next suffix, and the previous suffix is not.
    """
    return place > 0 and small[place] and not small[place - 1]


@jit
def _mark_small(symbols: Any) -> Any:
    """Return for each suffix whether it is smaller than the next one (S-type)."""
    small = np.zeros(symbols.size + 1, np.bool_)
    small[symbols.size] = True
    for place in range(symbols.size - 2, -1, -1):
        here, after = symbols[place], symbols[place + 1]
        small[place] = here < after or (here == after and small[place + 1])
    return small


@jit
def _induce_from(symbols: Any, small: Any, counts: Any, order: Any) -> None:
    """Sort all suffixes, given sorted valleys at the ends of their buckets."""
    n = symbols.size
    heads = np.cumsum(counts) - counts
    last = symbols[n - 1]  # the empty suffix comes first and induces the last one
    order[heads[last]] = n - 1
    heads[last] += 1
    for place in range(n):
        before = order[place] - 1
        if before >= 0 and not small[before]:
            symbol = symbols[before]
            order[heads[symbol]] = before
            heads[symbol] += 1
    tails = np.cumsum(counts)
    for place in range(n - 1, -1, -1):
        before = order[place] - 1
        if before >= 0 and small[before]:
            symbol = symbols[before]
            tails[symbol] -= 1
            order[tails[symbol]] = before


@jit
def _same_piece(symbols: Any, small: Any, left: int, right: int) -> bool:
    """Return whether the pieces (LMS substrings) at two valleys are equal."""
    n, offset = symbols.size, 0
    while True:
        one, other = left + offset, right + offset
        if one == n or other == n:
            return one == other
        if symbols[one] != symbols[other] or small[one] != small[other]:
            return False
        if offset and (_is_valley(small, one) or _is_valley(small, other)):
            return _is_valley(small, one) and _is_valley(small, other)
        offset += 1


@jit
def name_pieces(symbols: Any, size: int) -> Any:
    """Split a text (int32[n], values below `size`) at its valleys and name each piece by its rank.

    Returns:
        The valleys (int32[m], ascending), their names (int32[m]), and the number of names.
    """
    n = symbols.size
    small = _mark_small(symbols)
    counts = np.bincount(symbols, minlength=size).astype(np.int32)
    tails = np.cumsum(counts)
    order = np.full(n, EMPTY, np.int32)
    total = 0
    for place in range(n - 1, -1, -1):
        if _is_valley(small, place):
            total += 1
            tails[symbols[place]] -= 1
            order[tails[symbols[place]]] = place
    _induce_from(symbols, small, counts, order)
    names = np.full(n, EMPTY, np.int32)
    current, previous = -1, -1
    for place in order:
        if _is_valley(small, place):
            if previous < 0 or not _same_piece(symbols, small, previous, place):
                current += 1
            names[place] = current
            previous = place
    valleys, kept = np.empty(total, np.int32), np.empty(total, np.int32)
    row = 0
    for place in range(n):
        if names[place] >= 0:
            valleys[row], kept[row] = place, names[place]
            row += 1
    return valleys, kept, current + 1


@jit
def induce(symbols: Any, size: int, valleys: Any) -> Any:
    """Return the suffix array of a text, int32[n], given its valleys sorted by suffix."""
    small = _mark_small(symbols)
    counts = np.bincount(symbols, minlength=size).astype(np.int32)
    tails = np.cumsum(counts)
    order = np.full(symbols.size, EMPTY, np.int32)
    for row in range(valleys.size - 1, -1, -1):
        symbol = symbols[valleys[row]]
        tails[symbol] -= 1
        order[tails[symbol]] = valleys[row]
    _induce_from(symbols, small, counts, order)
    return order
