"""From one state: which tokens are allowed, and where each leads; a byte a step, as `core.step`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from semqa.decoding.core.descend import ANY, child_of, has_tokens, leads_out, next_end
from semqa.decoding.core.layout import (
    BARRIER,
    FIRST_TOKEN,
    LONGEST,
    NODES,
    SIZE,
    SUFFIXES,
    TEXT,
    TOKEN_IDS,
    bytes_at,
    ints_at,
    jit,
)
from semqa.decoding.core.state import (
    CONTEXT,
    DEPTH,
    HIGH,
    LOW,
    MODE,
    NOT_PENDING,
    SPAN,
    STATE_WIDTH,
    copy_state,
    row_of,
)
from semqa.decoding.core.step import close, end_kind, end_of_run, step_byte
from semqa.decoding.program.states import number_of

__all__ = ["Room", "find_edges", "new_room"]


class Room(NamedTuple):
    """Where a walk keeps what it is at, and what it has found.

    Attributes:
        states: int32[D, S].
        frames: int32[D, 3], the node, what to try next, and SPACE_TRIED and the like.
        below: int32[D, S], for walks through free text.
        path: int32[D, 3], likewise.
        found: int64[V], ``token << 32 | number of the state behind it``.
    """

    states: Any
    frames: Any
    below: Any
    path: Any
    found: Any


SPACE_TRIED = 1
BRACKET_TRIED = 2
CLOSES_BY_BASE = 4
"""What closes the span here is in a base, for it is the same everywhere."""


@jit
def new_room(h: Any) -> Any:
    """Make room for walks."""
    depth = h[LONGEST] + 2
    return Room(
        np.empty((depth, STATE_WIDTH), np.int32),
        np.empty((depth, 3), np.int32),
        np.empty((depth, STATE_WIDTH), np.int32),
        np.empty((depth, 3), np.int32),
        np.empty(h[SIZE], np.int64),
    )


@jit
def _emit(h: Any, known: Any, room: Any, node: int, s: Any, size: int) -> int:
    """Add the tokens that end at a node; return how many edges there are now, -1 for no room."""
    number = number_of(h, known, s)
    if number < 0 or size < 0:
        return -1
    nodes, tokens = ints_at(h, NODES), ints_at(h, TOKEN_IDS)
    for place in range(nodes[4 * node + FIRST_TOKEN], nodes[4 * node + 4 + FIRST_TOKEN]):
        room.found[size] = np.int64(tokens[place]) << 32 | number
        size += 1
    return size


@jit
def _emit_below(h: Any, known: Any, room: Any, node: int, s: Any, size: int) -> int:
    """Add all tokens at and below a node, behind a closing bracket."""
    copy_state(s, row_of(room.below, 0))
    room.path[0, 0], room.path[0, 1], room.path[0, 2] = node, 0, 1
    if has_tokens(h, node):
        size = _emit(h, known, room, node, s, size)
    level = next_end(h, room.below, room.path, 0, ANY)
    while level > 0 and size >= 0:
        size = _emit(h, known, room, room.path[level, 0], row_of(room.below, level), size)
        level = next_end(h, room.below, room.path, level, ANY)
    return size


@jit
def _enter(room: Any, level: int, node: int, flags: int) -> None:
    s = row_of(room.states, level)
    room.frames[level, 0], room.frames[level, 2] = node, flags
    room.frames[level, 1] = s[LOW] if s[MODE] == SPAN else 0


@jit
def find_edges(h: Any, known: Any, room: Any, number: int) -> int:
    """Find the edges of a state in a quote, but for those of its base, into ``room.found``.

    Returns:
        How many there are, in no order; -1 where there were too many states.
    """
    text, suffixes = bytes_at(h, TEXT), ints_at(h, SUFFIXES)
    copy_state(row_of(known.states, number), row_of(room.states, 0))
    _enter(room, 0, 0, CLOSES_BY_BASE)
    level = size = 0
    while level >= 0 and size >= 0:
        s, t = row_of(room.states, level), row_of(room.states, level + 1)
        node, cursor = room.frames[level, 0], room.frames[level, 1]
        flags = 0
        if s[MODE] != SPAN:
            if cursor > 10:
                level -= 1
                continue
            room.frames[level, 1] = cursor + 1
            byte = 0x30 + cursor if cursor < 10 else 0x20
            child = child_of(h, node, byte)
            copy_state(s, t)
            if child < 0 or not step_byte(h, t, byte):
                continue
        elif cursor < s[HIGH]:
            depth = s[DEPTH]
            byte = text[suffixes[cursor] + depth]
            if byte >= BARRIER:  # suffixes are sorted: what follows are barriers too
                room.frames[level, 1] = s[HIGH]
                continue
            after = end_of_run(text, suffixes, cursor, s[HIGH], depth, byte)
            room.frames[level, 1] = after
            if byte == 0x20:
                room.frames[level, 2] |= SPACE_TRIED
            child = child_of(h, node, byte)
            if child < 0:
                continue
            copy_state(s, t)
            t[LOW], t[HIGH], t[DEPTH], t[CONTEXT] = cursor, after, depth + 1, NOT_PENDING
            if byte == 0x20:
                t[CONTEXT] = end_kind(h, s[LOW], s[HIGH], depth)
                flags = CLOSES_BY_BASE if level == 0 else 0
        elif room.frames[level, 2] & SPACE_TRIED == 0:
            room.frames[level, 2] |= SPACE_TRIED
            kind = NOT_PENDING
            if leads_out(h, node):
                kind = end_kind(h, s[LOW], s[HIGH], s[DEPTH])
            if kind == NOT_PENDING:
                continue
            child = child_of(h, node, 0x20)
            copy_state(s, t)
            t[LOW] = t[HIGH] = t[DEPTH] = 0
            t[CONTEXT] = kind
            flags = CLOSES_BY_BASE if level == 0 else 0
        elif room.frames[level, 2] & BRACKET_TRIED == 0:
            room.frames[level, 2] |= BRACKET_TRIED
            if s[CONTEXT] != NOT_PENDING and room.frames[level, 2] & CLOSES_BY_BASE == 0:
                child = child_of(h, node, 0x5D)
                if child >= 0:
                    copy_state(s, t)
                    close(h, t)
                    size = _emit_below(h, known, room, child, t, size)
            continue
        else:
            level -= 1
            continue
        level += 1
        _enter(room, level, child, flags)
        if has_tokens(h, child):
            size = _emit(h, known, room, child, t, size)
    return size
