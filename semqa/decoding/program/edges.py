"""From one state: which tokens are allowed, and where each leads; a byte a step, as `core.step`."""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.core.descend import ANY, child_of, has_tokens, leads_out, next_end
from semqa.decoding.core.layout import (
    BARRIER,
    FIRST_TOKEN,
    NODES,
    SUFFIXES,
    TEXT,
    TOKEN_IDS,
    bytes_at,
    ints_at,
    jit,
)
from semqa.decoding.core.pointers import ints_pointer
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
from semqa.decoding.program.states import DEAD_END, FULL, number_of, state_of
from semqa.decoding.program.workspace import FOUND, FRAMES, WALK, ints_in, longs_in

__all__ = ["find_edges"]


SPACE_TRIED = 1
BRACKET_TRIED = 2
CLOSES_BY_BASE = 4
"""What closes the span here is in a base, for it is the same everywhere."""


@jit
def _level(w: Any, level: int) -> Any:
    """Return the state at a level of the walk."""
    return ints_pointer(w[WALK] + 4 * STATE_WIDTH * level)


@jit
def _emit(h: Any, w: Any, node: int, s: Any, size: int) -> int:
    """Add the tokens that end at a node; return how many edges there are now, -1 for no room."""
    number = number_of(h, w, s)
    if number == FULL or size < 0:
        return -1
    if number == DEAD_END:
        return size
    nodes, tokens, found = ints_at(h, NODES), ints_at(h, TOKEN_IDS), longs_in(w, FOUND)
    for place in range(nodes[4 * node + FIRST_TOKEN], nodes[4 * node + 4 + FIRST_TOKEN]):
        found[size] = np.int64(tokens[place]) << 32 | number
        size += 1
    return size


@jit
def _emit_below(h: Any, w: Any, below: Any, path: Any, node: int, s: Any, size: int) -> int:
    """Add all tokens at and below a node, behind a closing bracket."""
    copy_state(s, row_of(below, 0))
    path[0, 0], path[0, 1], path[0, 2] = node, 0, 1
    if has_tokens(h, node):
        size = _emit(h, w, node, s, size)
    level = next_end(h, below, path, 0, ANY)
    while level > 0 and size >= 0:
        size = _emit(h, w, path[level, 0], row_of(below, level), size)
        level = next_end(h, below, path, level, ANY)
    return size


@jit
def _enter(w: Any, level: int, node: int, flags: int) -> None:
    s, frames = _level(w, level), ints_in(w, FRAMES)
    frames[3 * level], frames[3 * level + 2] = node, flags
    frames[3 * level + 1] = s[LOW] if s[MODE] == SPAN else 0


@jit
def find_edges(h: Any, w: Any, below: Any, path: Any, number: int) -> int:
    """Find the edges of a state in a quote, but for those of its base, into FOUND.

    Returns:
        How many there are, in no order; -1 where there were too many states.
    """
    text, suffixes, frames = bytes_at(h, TEXT), ints_at(h, SUFFIXES), ints_in(w, FRAMES)
    copy_state(state_of(w, number), _level(w, 0))
    _enter(w, 0, 0, CLOSES_BY_BASE)
    level = size = 0
    while level >= 0 and size >= 0:
        s, t = _level(w, level), _level(w, level + 1)
        node, cursor = frames[3 * level], frames[3 * level + 1]
        flags = 0
        if s[MODE] != SPAN:
            if cursor > 10:
                level -= 1
                continue
            frames[3 * level + 1] = cursor + 1
            byte = 0x30 + cursor if cursor < 10 else 0x20
            child = child_of(h, node, byte)
            copy_state(s, t)
            if child < 0 or not step_byte(h, t, byte):
                continue
        elif cursor < s[HIGH]:
            depth = s[DEPTH]
            byte = text[suffixes[cursor] + depth]
            if byte >= BARRIER:  # suffixes are sorted: what follows are barriers too
                frames[3 * level + 1] = s[HIGH]
                continue
            after = end_of_run(text, suffixes, cursor, s[HIGH], depth, byte)
            frames[3 * level + 1] = after
            if byte == 0x20:
                frames[3 * level + 2] |= SPACE_TRIED
            child = child_of(h, node, byte)
            if child < 0:
                continue
            copy_state(s, t)
            t[LOW], t[HIGH], t[DEPTH], t[CONTEXT] = cursor, after, depth + 1, NOT_PENDING
            if byte == 0x20:
                t[CONTEXT] = end_kind(h, s[LOW], s[HIGH], depth)
                flags = CLOSES_BY_BASE if level == 0 else 0
        elif frames[3 * level + 2] & SPACE_TRIED == 0:
            frames[3 * level + 2] |= SPACE_TRIED
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
        elif frames[3 * level + 2] & BRACKET_TRIED == 0:
            frames[3 * level + 2] |= BRACKET_TRIED
            if s[CONTEXT] != NOT_PENDING and frames[3 * level + 2] & CLOSES_BY_BASE == 0:
                child = child_of(h, node, 0x5D)
                if child >= 0:
                    copy_state(s, t)
                    close(h, t)
                    size = _emit_below(h, w, below, path, child, t, size)
            continue
        else:
            level -= 1
            continue
        level += 1
        _enter(w, level, child, flags)
        if has_tokens(h, child):
            size = _emit(h, w, child, t, size)
    return size
