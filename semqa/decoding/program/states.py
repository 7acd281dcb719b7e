"""Numbers for the states of a constraint: equal futures, as far as that is cheap to see, one number.

In a span the future depends on where the span may have come to, and on nothing before: on the set of
places at which its occurrences end. Two such sets are disjoint or one holds the other, for of two
texts that end at one place the shorter is the end of the longer one. So the least place of a set and
its size tell it from all others, and each is found without looking at the set.

That holds once the first character of the span is complete. Before, the same bytes may begin another
character elsewhere, at which no span may begin; there a state is known by its interval.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from semqa.decoding.core.cost import unfinished_first
from semqa.decoding.core.layout import SUFFIXES, TEXT, ints_at, jit, size_of
from semqa.decoding.core.state import (
    CONTEXT,
    DEPTH,
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
    row_of,
)
from semqa.decoding.core.unfinished import character_class

__all__ = [
    "ENDED_STATE",
    "FIRST_OWN",
    "FREE_STATE",
    "FULL",
    "OPENED_STATE",
    "UNFINISHED_STATES",
    "Known",
    "new_known",
    "number_of",
]

FREE_STATE = 0
"""Free text, between characters."""
UNFINISHED_STATES = 1
"""And the six that follow, one for each class of unfinished characters."""
OPENED_STATE = 8
"""Behind ``[``."""
ENDED_STATE = 9
FIRST_OWN = 10
"""Numbers from here on mean something else in every program."""

FULL = -2
BLOCK = 64

_NUMBER, _SOURCE, _PENDING, _FIRST, _PLACES, _SPACED = (kind << 60 for kind in range(1, 7))


class Known(NamedTuple):
    """The states that have a number.

    Attributes:
        states: int32[most, S], one of each number; rows below `FIRST_OWN` are the caller's.
        places: int32[most], the least place of a span, or -1.
        alone: int32[n + 1, 3], by place and what is pending: sets of one place, or -1.
        keys: int64[slots], the others, open addressing; -1 for empty.
        numbers: int32[slots].
        counts: int64[1], how many numbers there are.
        least: int32[blocks], the least of each block of suffixes.
    """

    states: Any
    places: Any
    alone: Any
    keys: Any
    numbers: Any
    counts: Any
    least: Any


@jit
def new_known(h: Any, suffixes: int, most: int) -> Any:
    """Make room for so many states; none is known yet but those below `FIRST_OWN`."""
    slots = 64
    while slots < most:  # a set of one place needs none, and these are most
        slots *= 2
    positions = ints_at(h, SUFFIXES)
    least = np.empty((suffixes + BLOCK - 1) // BLOCK, np.int32)
    for block in range(least.size):
        best = positions[block * BLOCK]
        for row in range(block * BLOCK, min(suffixes, (block + 1) * BLOCK)):
            best = min(best, positions[row])
        least[block] = best
    counts = np.empty(1, np.int64)
    counts[0] = FIRST_OWN
    states = np.zeros((most, STATE_WIDTH), np.int32)
    places = np.full(most, -1, np.int32)
    alone = np.full((size_of(h, TEXT) + 1, 3), -1, np.int32)
    keys, numbers = np.full(slots, -1, np.int64), np.empty(slots, np.int32)
    return Known(states, places, alone, keys, numbers, counts, least)


@jit
def _least_place(h: Any, least: Any, low: int, high: int) -> int:
    """Return the least of an interval of suffixes."""
    suffixes = ints_at(h, SUFFIXES)
    best, row = suffixes[low], low
    while row < high:
        if row % BLOCK == 0 and row + BLOCK <= high:
            best = min(best, least[row // BLOCK])
            row += BLOCK
        else:
            best = min(best, suffixes[row])
            row += 1
    return best


@jit
def _slot_of(keys: Any, key: int) -> int:
    mixed = key * 0x2545F4914F6CDD1D
    mixed = (mixed ^ mixed >> 31) * 0x1F123BB5159A55E5
    slot = (mixed ^ mixed >> 29) & (keys.size - 1)
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + 1) & (keys.size - 1)
    return slot


@jit
def number_of(h: Any, known: Any, s: Any) -> int:
    """Return the number of a state that is not ended, a new one if it has none; FULL if none is left."""
    mode = s[MODE]
    if mode == FREE:
        return UNFINISHED_STATES + character_class(s[PART]) if s[PART] else FREE_STATE
    if mode == OPENED:
        return OPENED_STATE
    if mode == SPAN and s[HIGH] - s[LOW] == 1 and s[DEPTH]:
        place = ints_at(h, SUFFIXES)[s[LOW]] + s[DEPTH]
        number = known.alone[place, s[CONTEXT]]
        if number < 0:
            number = _new_number(known, s, place)
            known.alone[place, s[CONTEXT]] = number
        return number
    place = -1
    if mode == SPACED:
        key = _SPACED
    elif mode == NUMBER:
        key = _NUMBER | s[PART]
    elif s[LOW] == s[HIGH]:
        key = _PENDING | s[CONTEXT]
    elif s[DEPTH] == 0:
        key = _SOURCE | s[PART]
    else:
        place = _least_place(h, known.least, s[LOW], s[HIGH]) + s[DEPTH]
        if unfinished_first(h, ints_at(h, SUFFIXES)[s[LOW]], s[DEPTH]):
            key = _FIRST | np.int64(s[LOW]) << 31 | np.int64(s[HIGH]) << 2 | s[DEPTH]
        else:
            key = _PLACES | np.int64(place) << 31 | np.int64(s[HIGH] - s[LOW]) << 2 | s[CONTEXT]
    slot = _slot_of(known.keys, key)
    if known.keys[slot] == key:
        return known.numbers[slot]
    number = _new_number(known, s, place)
    if number >= 0:
        known.keys[slot], known.numbers[slot] = key, number
    return number


@jit
def _new_number(known: Any, s: Any, place: int) -> int:
    number = known.counts[0]
    if number == known.places.size:
        return FULL
    known.counts[0] = number + 1
    known.places[number] = place
    copy_state(s, row_of(known.states, number))
    return number
