"""From within a number that the question holds too: which tokens are allowed, and where each leads.

What may follow such a number follows anywhere in free text, but for what goes on with its digits. So
only tokens are looked at that hold digits, open quotes, or end in what may become a digit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.core.layout import ANY_QUOTABLE, BLOB, OFFSETS, bytes_at, ints_at, jit
from semqa.decoding.core.state import FREE, MODE, PART, copy_state, new_state
from semqa.decoding.core.step import runs_may_end, step_bytes
from semqa.decoding.program.states import DEAD_END, FULL, number_of, state_of
from semqa.decoding.program.unfinished import kind_of
from semqa.decoding.program.workspace import (
    FIRST_STATE,
    FOUND,
    KINDS,
    PARTS,
    ints_in,
    longs_in,
)

__all__ = ["find_run_edges", "is_in_run", "run_base", "run_may_end"]

FORBIDDEN = 0xFFFFFFFF


@jit
def is_in_run(w: Any, number: int) -> bool:
    """Tell whether a state is within a number of free text."""
    return number >= w[FIRST_STATE] and state_of(w, number)[MODE] == FREE


@jit
def run_may_end(h: Any, w: Any, number: int) -> bool:
    """Tell whether the number is one of the question's, as far as it was written."""
    return runs_may_end(h, state_of(w, number))


@jit
def run_base(w: Any, number: int, first_kind: int) -> int:
    """Return the base of the same place outside of a number.

    Args:
        w: the workspace.
        number: the state.
        first_kind: the base of the first kind of unfinished characters.
    """
    part = state_of(w, number)[PART]
    return first_kind + kind_of(ints_in(w, KINDS), w[PARTS], part) if part else 0


@jit
def find_run_edges(
    h: Any, w: Any, number: int, base: int, deep: Any, near: Any, openers: Any
) -> int:
    """Find the edges of a state within a number that differ from those of its base, into FOUND.

    Args:
        h: the handle.
        w: the workspace.
        number: the state.
        base: see `run_base`.
        deep: int32[pairs, 2], see `explore.explore_all`.
        near: likewise.
        openers: likewise.

    Returns:
        How many there are, in no order; -1 where there were too many states.
    """
    found, ends, size = longs_in(w, FOUND), run_may_end(h, w, number), 0
    for pair in range(deep.shape[0]):
        if deep[pair, 0] == base:
            target = _behind(h, w, number, deep[pair, 1])
            if target == FULL:
                return -1
            if target >= 0:
                found[size] = np.int64(deep[pair, 1]) << 32 | target
                size += 1
    for pair in range(near.shape[0]):
        if near[pair, 0] == base:
            target = _behind(h, w, number, near[pair, 1])
            if target == FULL:
                return -1
            if target >= 0 or ends:  # the base allows it
                found[size] = np.int64(near[pair, 1]) << 32 | (target if target >= 0 else FORBIDDEN)
                size += 1
    if ends and not h[ANY_QUOTABLE]:
        for pair in range(openers.shape[0]):
            if openers[pair, 0] == base:
                found[size] = np.int64(openers[pair, 1]) << 32 | FORBIDDEN
                size += 1
    return size


@jit
def _behind(h: Any, w: Any, number: int, token: int) -> int:
    s, offsets = new_state(), ints_at(h, OFFSETS)
    copy_state(state_of(w, number), s)
    if not step_bytes(h, s, bytes_at(h, BLOB), offsets[token], offsets[token + 1]):
        return DEAD_END
    return number_of(h, w, s)
