"""The tokens of free text where nothing is scarce, listed once."""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.automaton.explore import has_tokens
from semqa.decoding.automaton.memory import (
    AFTER_OPEN,
    AFTER_SHUT,
    AFTER_SPACE,
    CHILD_COUNT,
    CHILDREN,
    FIRST_CHILD,
    FIRST_TOKEN,
    FREE,
    GAP,
    GLUE,
    LONGEST,
    MARKS,
    MODE,
    NODE_BYTE,
    NODES,
    QUOTED,
    SPACED,
    STATE_WIDTH,
    TOKEN_IDS,
    TOKENS,
    UNLIMITED,
    WORDS,
    bytes_at,
    clear_state,
    copy_state,
    ints_at,
    jit,
    row_of,
)
from semqa.decoding.automaton.step import (
    MOST_RUN_MARKS,
    MOST_RUN_WORDS,
    mark_kind,
    step_byte,
)


@jit
def gaps_before(byte: int) -> int:
    """Return the kinds of gap, a bit each, in which a token of glue may begin with a byte."""
    if byte == 0x20 or byte == 0x0A:
        return 1 << AFTER_OPEN | 1 << AFTER_SHUT
    if mark_kind(byte) >= 0:
        return 1 << AFTER_OPEN | 1 << AFTER_SHUT | 1 << AFTER_SPACE
    return 1 << AFTER_OPEN | 1 << AFTER_SPACE


@jit
def list_free(h: Any, begin: int) -> Any:
    """List the tokens that free text may go on with, but those that go further than ``"[ "``.

    Args:
        h: a handle without sources, in which quotes may be opened.
        begin: 0.

    Returns:
        int32[4 * n]: for each the token, the kinds of gap that it may follow (a bit each), how many
        words it begins and how many marks it holds; where any text is free the last three are 0.
    """
    nodes, data, ids = ints_at(h, NODES), bytes_at(h, NODE_BYTE), ints_at(h, TOKEN_IDS)
    states = np.empty((h[LONGEST] + 2, STATE_WIDTH), np.int32)
    path = np.empty((h[LONGEST] + 2, 2), np.int32)
    found, size = np.empty(4096, np.int32), begin
    first = row_of(states, 0)
    clear_state(first)
    first[MODE], first[QUOTED], first[TOKENS] = FREE, 1, UNLIMITED
    glue = h[GLUE] != 0
    if glue:
        first[GAP], first[WORDS], first[MARKS] = AFTER_OPEN, MOST_RUN_WORDS, MOST_RUN_MARKS
    path[0, 0], path[0, 1] = 0, 0
    level = 0
    while level >= 0:
        parent, tried = path[level, 0], path[level, 1]
        if tried == nodes[4 * parent + CHILDREN] & CHILD_COUNT:
            level -= 1
            continue
        path[level, 1] = tried + 1
        child = nodes[4 * parent + FIRST_CHILD] + tried
        before, s = row_of(states, level), row_of(states, level + 1)
        copy_state(before, s)
        if before[MODE] == SPACED or not step_byte(h, s, data[child]):
            continue
        level += 1
        path[level, 0], path[level, 1] = child, 0
        if not has_tokens(h, child):
            continue
        kinds = gaps_before(data[path[1, 0]]) if glue else 0
        words = marks = 0
        if glue:
            # Behind "[" the state has forgotten them: look at the one before.
            at = level
            while row_of(states, at)[MODE] != FREE:
                at -= 1
            counted = row_of(states, at)
            words, marks = MOST_RUN_WORDS - counted[WORDS], MOST_RUN_MARKS - counted[MARKS]
        start, end = nodes[4 * child + FIRST_TOKEN], nodes[4 * child + 4 + FIRST_TOKEN]
        for place in range(start, end):
            if size + 4 > found.size:
                grown = np.empty(2 * found.size, np.int32)
                grown[:size] = found[:size]
                found = grown
            found[size], found[size + 1] = ids[place], kinds
            found[size + 2], found[size + 3] = words, marks
            size += 4
    return found[:size].copy()
