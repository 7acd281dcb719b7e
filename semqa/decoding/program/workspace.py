"""Where an exploration keeps what it knows and what it is at: one handle, as `core.layout` has it.

Arrays that are passed on from function to function would cost as much as the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from semqa.decoding.core.layout import jit
from semqa.decoding.core.pointers import ints_pointer, longs_pointer
from semqa.decoding.core.state import STATE_WIDTH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semqa.decoding.program.shared import Bases

__all__ = ["Workspace", "ints_in", "longs_in", "make_workspace"]

# The states that have a number.
STATES = 0  # int32[most * STATE_WIDTH], one of each number
PLACES = 1  # int32[most], the least place of a span, or -1
ALONE = 2  # int32[3 * (n + 1)], by place and what is pending: sets of one place, or -1
KEYS = 3  # int64[slots], the others, open addressing; -1 for empty
NUMBERS = 4  # int32[slots]
LEAST = 5  # int32[*], the least of each BLOCK of suffixes
LEAST_OF_MANY = 6  # int32[*], the least of each BLOCK of these
# The walk from one state.
WALK = 7  # int32[D * STATE_WIDTH], the state at each level
FRAMES = 8  # int32[3 * D]: the node, what to try next, and flags
FOUND = 9  # int64[V], ``token << 32 | number of the state behind it``
KINDS = 10  # int32[2 * P], see `unfinished`; empty where numbers are free
SAMPLES = 11  # int32[K]
# Numbers.
COUNT = 12  # states so far
MOST = 13
SLOTS = 14
PARTS = 15  # P, rows of KINDS
FIRST_STATE = 16  # the first that means something else in every program
SIZE = 17

BLOCK = 64


class Workspace(NamedTuple):
    """A handle, and what it points to.

    Attributes:
        handle: int64[SIZE].
        arrays: by slot; they must live as long as the handle does.
        below: int32[D, STATE_WIDTH], for `core.descend.next_end`.
        path: int32[D, 3], likewise.
    """

    handle: NDArray[np.int64]
    arrays: dict[int, NDArray[Any]]
    below: NDArray[np.int32]
    path: NDArray[np.int32]


@jit
def ints_in(w: Any, slot: int) -> Any:
    """Open an array of int32."""
    return ints_pointer(w[slot])


@jit
def longs_in(w: Any, slot: int) -> Any:
    """Open an array of int64."""
    return longs_pointer(w[slot])


def make_workspace(
    suffixes: NDArray[np.int32],
    places: int,
    most: int,
    longest: int,
    tokens: int,
    bases: Bases,
) -> Workspace:
    """Make room for an exploration.

    Args:
        suffixes: the starts of spans.
        places: how many there are in the text, its end included.
        most: states.
        longest: bytes of a token.
        tokens: how many there are.
        bases: those of the constraint's rules.
    """
    depth = longest + 2
    slots = 1 << max(6, most.bit_length())
    least = _least_of_blocks(suffixes)
    arrays: dict[int, NDArray[Any]] = {
        STATES: np.zeros(most * STATE_WIDTH, np.int32),
        PLACES: np.full(most, -1, np.int32),
        ALONE: np.full(3 * places, -1, np.int32),
        KEYS: np.full(slots, -1, np.int64),
        NUMBERS: np.empty(slots, np.int32),
        LEAST: least,
        LEAST_OF_MANY: _least_of_blocks(least),
        WALK: np.empty(depth * STATE_WIDTH, np.int32),
        FRAMES: np.empty(3 * depth, np.int32),
        FOUND: np.empty(tokens, np.int64),
        KINDS: np.ascontiguousarray(bases.unfinished.kinds),
        SAMPLES: bases.unfinished.samples,
    }
    handle = np.zeros(SIZE, np.int64)
    for slot, array in arrays.items():
        handle[slot] = array.__array_interface__["data"][0]
    handle[COUNT] = handle[FIRST_STATE] = bases.first_state
    handle[MOST], handle[SLOTS] = most, slots
    handle[PARTS] = len(bases.unfinished.kinds)
    below = np.empty((depth, STATE_WIDTH), np.int32)
    return Workspace(handle, arrays, below, np.empty((depth, 3), np.int32))


def _least_of_blocks(numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    if not numbers.size:
        return np.zeros(1, np.int32)
    return np.minimum.reduceat(numbers, np.arange(0, numbers.size, BLOCK))
