"""Numbers for the states of a constraint: equal futures, as far as that is cheap to see, one number.

In a span the future depends on where the span may have come to, and on nothing before: on the set of
places at which its occurrences end. Two such sets are disjoint or one holds the other, for of two
texts that end at one place the shorter is the end of the longer one. So the least place of a set and
its size tell it from all others, and each is found without looking at the set.

That holds once the first character of the span is complete. Before, the same bytes may begin another
character elsewhere, at which no span may begin; there a state is known by its interval.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.core.cost import unfinished_first
from semqa.decoding.core.layout import DIGIT_TRIE, SUFFIXES, ints_at, jit
from semqa.decoding.core.pointers import ints_pointer
from semqa.decoding.core.state import (
    CONTEXT,
    DEPTH,
    DIGITS,
    FREE,
    HIGH,
    LOW,
    MODE,
    NUMBER,
    OPENED,
    PART,
    SPACED,
    SPAN,
    STATE_WIDTH,
    copy_state,
)
from semqa.decoding.core.step import runs_may_end
from semqa.decoding.core.unfinished import character_class
from semqa.decoding.program.unfinished import kind_of
from semqa.decoding.program.workspace import (
    ALONE,
    BLOCK,
    COUNT,
    KEYS,
    KINDS,
    LEAST,
    LEAST_OF_MANY,
    MOST,
    NUMBERS,
    PARTS,
    PLACES,
    SLOTS,
    STATES,
    ints_in,
    longs_in,
)

__all__ = [
    "DEAD_END",
    "ENDED_STATE",
    "FIRST_OWN",
    "FREE_STATE",
    "FULL",
    "OPENED_STATE",
    "UNFINISHED_STATES",
    "number_of",
    "state_of",
]

FREE_STATE = 0
"""Free text, between characters."""
UNFINISHED_STATES = 1
"""And the six that follow, one for each class of unfinished characters."""
OPENED_STATE = 8
"""Behind ``[``."""
ENDED_STATE = 9
FIRST_OWN = 10
"""Numbers from here on mean something else in every program; but where numbers must be quoted, there
is first one for each kind of unfinished characters that may become digits."""

DEAD_END = -1
"""No token leads on from here."""
FULL = -2

_NUMBER, _SOURCE, _PENDING, _FIRST, _PLACES, _SPACED, _DIGITS = (kind << 60 for kind in range(1, 8))


@jit
def _least_place(h: Any, w: Any, low: int, high: int) -> int:
    """Return the least of an interval of suffixes."""
    suffixes, least, many = ints_at(h, SUFFIXES), ints_in(w, LEAST), ints_in(w, LEAST_OF_MANY)
    best, row = suffixes[low], low
    while row < high:
        if row % (BLOCK * BLOCK) == 0 and row + BLOCK * BLOCK <= high:
            best = min(best, many[row // (BLOCK * BLOCK)])
            row += BLOCK * BLOCK
        elif row % BLOCK == 0 and row + BLOCK <= high:
            best = min(best, least[row // BLOCK])
            row += BLOCK
        else:
            best = min(best, suffixes[row])
            row += 1
    return best


@jit
def state_of(w: Any, number: int) -> Any:
    """Return a state that has this number."""
    return ints_pointer(w[STATES] + 4 * STATE_WIDTH * number)


@jit
def _slot_of(w: Any, key: int) -> int:
    keys, slots = longs_in(w, KEYS), w[SLOTS]
    mixed = key * 0x2545F4914F6CDD1D
    mixed = (mixed ^ mixed >> 31) * 0x1F123BB5159A55E5
    slot = (mixed ^ mixed >> 29) & (slots - 1)
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + 1) & (slots - 1)
    return slot


@jit
def number_of(h: Any, w: Any, s: Any) -> int:
    """Return the number of a state that is not ended, a new one if it has none.

    Returns:
        DEAD_END if it can be seen to be one, FULL if no number is left.
    """
    mode = s[MODE]
    if mode == FREE:
        return _number_of_free(h, w, s)
    if mode == OPENED:
        return OPENED_STATE
    low, high, depth = s[LOW], s[HIGH], s[DEPTH]
    if mode == SPAN and high - low == 1 and depth:
        place = ints_at(h, SUFFIXES)[low] + depth
        alone = ints_in(w, ALONE)
        number = alone[3 * place + s[CONTEXT]]
        if number < 0:
            number = _new_number(w, s, place)
            alone[3 * place + s[CONTEXT]] = number
        return number
    place = -1
    if mode == SPACED:
        key = _SPACED
    elif mode == NUMBER:
        key = _NUMBER | s[PART]
    elif low == high:
        key = _PENDING | s[CONTEXT]
    elif depth == 0:
        key = _SOURCE | s[PART]
    else:
        place = _least_place(h, w, low, high) + depth
        if unfinished_first(h, ints_at(h, SUFFIXES)[low], depth):
            key = _FIRST | np.int64(low) << 31 | np.int64(high) << 2 | depth
        else:
            key = _PLACES | np.int64(place) << 31 | np.int64(high - low) << 2 | s[CONTEXT]
    return _number_by_key(w, s, key, place)


@jit
def _number_of_free(h: Any, w: Any, s: Any) -> int:
    part, digits = s[PART], s[DIGITS]
    kind = kind_of(ints_in(w, KINDS), w[PARTS], part) if part else -1
    if part and kind < 0:
        return UNFINISHED_STATES + character_class(part) if runs_may_end(h, s) else DEAD_END
    if digits == 0:
        return FIRST_OWN + kind if part else FREE_STATE
    if part and not runs_may_end(h, s) and not _goes_on_with_digit(h, s):
        return DEAD_END
    return _number_by_key(w, s, _DIGITS | np.int64(digits) << 32 | part, -1)


@jit
def _goes_on_with_digit(h: Any, s: Any) -> bool:
    """Tell whether an unfinished character may become a digit with which a number goes on."""
    trie, node = ints_at(h, DIGIT_TRIE), s[DIGITS]
    missing, bits = s[PART] >> 21, s[PART] & 0x1FFFFF
    least = 0x10000 if missing == 3 else 0x800 if missing == 2 else 0x80  # what is no overlong form
    for child in range(trie[4 * node + 1], trie[4 * node + 1] + trie[4 * node + 2]):
        if trie[4 * child] >= least and trie[4 * child] >> 6 * missing == bits:
            return True
    return False


@jit
def _number_by_key(w: Any, s: Any, key: int, place: int) -> int:
    slot = _slot_of(w, key)
    keys, numbers = longs_in(w, KEYS), ints_in(w, NUMBERS)
    if keys[slot] == key:
        return numbers[slot]
    number = _new_number(w, s, place)
    if number >= 0:
        keys[slot], numbers[slot] = key, number
    return number


@jit
def _new_number(w: Any, s: Any, place: int) -> int:
    number = w[COUNT]
    if number == w[MOST]:
        return FULL
    w[COUNT] = number + 1
    ints_in(w, PLACES)[number] = place
    copy_state(s, state_of(w, number))
    return number
