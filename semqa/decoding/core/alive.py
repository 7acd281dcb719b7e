"""Whether an answer can be finished from a state, within what it has left.

A state is alive when its cost fits its limits; the tail of a cheapest way is a cheapest way, so a
mask over living states is never empty.
"""

from __future__ import annotations

from typing import Any

from semqa.decoding.core.cost import (
    NO_WAY,
    add,
    quote_way,
    quotes_after,
    rest,
    row_way,
    run_cost,
    words_needed,
)
from semqa.decoding.core.layout import COST_BOUND, COUNTING, FILTERED, jit
from semqa.decoding.core.state import (
    CONTEXT,
    DEPTH,
    ENDED,
    FREE,
    HIGH,
    LOW,
    MODE,
    NOT_PENDING,
    PART,
    RUN,
    SPAN,
    TOKENS,
    WORDS,
)
from semqa.decoding.core.unfinished import character_cost, cost_by_bytes

__all__ = ["alive", "cost_of", "exact", "fits", "way_of"]


@jit
def way_of(h: Any, s: Any) -> int:
    """Cost from a state to free text between characters, words and numbers; needs the tables."""
    if s[MODE] == FREE:
        return character_cost(h, s) if s[PART] else run_cost(h, s)
    return 0 if s[MODE] == ENDED else quote_way(h, s)


@jit
def cost_of(h: Any, s: Any) -> int:
    """Cost from a state to the end of the answer; needs the tables."""
    if s[MODE] == ENDED:
        return 0
    return add(way_of(h, s), rest(h, quotes_after(s)))


@jit
def fits(h: Any, s: Any, way: int, quotes: int, used: int) -> bool:
    """Tell whether a way from inside a quote fits what a state has left.

    Args:
        way: its cost to free text.
        quotes: quotes to make after this one.
        used: words that were begun since `s`.
    """
    if way >= NO_WAY:
        return False
    total = add(way, rest(h, quotes))
    if total >= NO_WAY or total & 0xFFFFFFFF > s[TOKENS]:
        return False
    if not h[COUNTING]:
        return True
    return (total >> 32) + used <= s[WORDS] and (way >> 32) + used <= s[RUN]


@jit
def _free_fits(h: Any, s: Any, way: int, quotes: int) -> bool:
    """Tell whether a way through free text, and what follows, fits what a state has left."""
    total = add(way, rest(h, quotes))
    if total >= NO_WAY or total & 0xFFFFFFFF > s[TOKENS]:
        return False
    return not h[COUNTING] or total >> 32 <= s[WORDS]


@jit
def exact(h: Any, s: Any) -> bool:
    """Tell whether tokens are so scarce, or the vocabulary so poor, that costs must be looked up."""
    return h[FILTERED] != 0 or s[TOKENS] <= h[COST_BOUND]


@jit
def alive(h: Any, s: Any) -> bool:
    """Tell whether an answer that has come to this state can be finished within its limits."""
    mode = s[MODE]
    if mode == ENDED:
        return True
    quotes = quotes_after(s)
    if exact(h, s):
        if mode == FREE:
            # Byte by byte is one way to finish a character, and quickly found.
            if s[PART] and not h[FILTERED] and _free_fits(h, s, cost_by_bytes(h, s), quotes):
                return True
            return _free_fits(h, s, way_of(h, s), quotes)
        if mode != SPAN:
            return fits(h, s, way_of(h, s), quotes, 0)
        if s[DEPTH] == 0 or s[CONTEXT] != NOT_PENDING:
            low_high = s[LOW], s[HIGH]
            s[LOW] = s[HIGH] = 0
            way = way_of(h, s)
            s[LOW], s[HIGH] = low_high
            if fits(h, s, way, quotes, 0):
                return True
            if s[DEPTH] == 0:
                return False
        for row in range(s[LOW], s[HIGH]):
            if fits(h, s, row_way(h, row, s[DEPTH]), quotes, 0):
                return True
        return False
    if mode == FREE:
        way = character_cost(h, s) if s[PART] else run_cost(h, s)
        return way < NO_WAY and (not h[COUNTING] or s[WORDS] >= quotes + (way >> 32))
    if not h[COUNTING]:
        return True
    if mode != SPAN or (s[DEPTH] == 0 and s[CONTEXT] == NOT_PENDING):
        return s[RUN] >= 1 and s[WORDS] >= quotes + 1
    if s[CONTEXT] != NOT_PENDING:
        return s[WORDS] >= quotes
    for row in range(s[LOW], s[HIGH]):
        needed = words_needed(h, row, s[DEPTH])
        if needed <= s[RUN] and needed + quotes <= s[WORDS]:
            return True
    return False
