"""All tokens from one state, the plain way: down the trie, a byte a step.

Right for every state, and quick where few tokens fit. Spans have a quicker way, in `walk.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.core.cost import NO_WAY, TOKEN, add, alive, way_of
from semqa.decoding.core.descend import child_of, has_tokens, may_follow
from semqa.decoding.core.layout import (
    CHILD_COUNT,
    COSTS_WORDS,
    FAR,
    FIRST_CHILD,
    LONGEST,
    NODE_BYTE,
    TOKEN_IDS,
    TOKEN_START,
    UNLIMITED,
    bytes_at,
    ints_at,
    jit,
)
from semqa.decoding.core.state import (
    DIGITS,
    FREE,
    MODE,
    PART,
    QUOTES,
    STATE_WIDTH,
    TOKENS,
    WORD,
    WORDS,
    copy_state,
)
from semqa.decoding.core.step import step_byte, step_bytes

__all__ = ["allow", "allow_node", "cheapest", "explore"]

MARK = 0
"""Set the bit of every token after which the answer can be finished."""
COST = 1
"""Return the cheapest cost to free text, over all tokens."""
QUOTING = 2
"""Like COST, over tokens that open or make a quote."""

ANY = 0
CONTINUING = 1
"""Only tokens whose first character goes on with the number or word that the state is in."""


@jit
def allow(out: Any, token: int) -> None:
    """Set one bit of a mask."""
    out[token >> 5] |= np.int32(1) << np.int32(token & 31)


@jit
def allow_node(h: Any, out: Any, node: int) -> None:
    """Set the bits of all tokens that end at a node."""
    start, tokens = ints_at(h, TOKEN_START), ints_at(h, TOKEN_IDS)
    for place in range(start[node], start[node + 1]):
        allow(out, tokens[place])


@jit
def explore(h: Any, s: Any, node: int, out: Any, task: int, scope: int) -> int:
    """Try every token below a node of the trie from a state; `s` stays as it is.

    Args:
        node: the root, or a node whose bytes are already part of `s`; its own tokens count then.
        out: int32[W], of use to MARK only.
        task: MARK, COST or QUOTING.
        scope: ANY or CONTINUING.

    Returns:
        The cheapest cost, this token included; `NO_WAY` for MARK.
    """
    first_child, child_count = ints_at(h, FIRST_CHILD), ints_at(h, CHILD_COUNT)
    data = bytes_at(h, NODE_BYTE)
    depth = h[LONGEST] + 2
    states = np.empty((depth, STATE_WIDTH), np.int32)
    path = np.empty((depth, 3), np.int32)  # node, children tried, first character seen
    best = NO_WAY
    copy_state(s, states[0])
    path[0, 0], path[0, 1], path[0, 2] = node, 0, scope == ANY
    if node and has_tokens(h, node):
        best = min(best, _arrive(h, states[0], node, out, task))
    level = 0
    while level >= 0:
        parent, tried = path[level, 0], path[level, 1]
        if tried == child_count[parent]:
            level -= 1
            continue
        path[level, 1] += 1
        child = first_child[parent] + tried
        if not may_follow(states[level, MODE], data[child]):
            continue
        below = states[level + 1]
        copy_state(states[level], below)
        if not step_byte(h, below, data[child]):
            continue
        seen = path[level, 2]
        if not seen and below[PART] == 0:
            goes_on = below[WORD] != 0 if s[WORD] else below[DIGITS] != 0
            if below[MODE] != FREE or not goes_on:
                continue
            seen = 1
        level += 1
        path[level, 0], path[level, 1], path[level, 2] = child, 0, seen
        if has_tokens(h, child):
            best = min(best, _arrive(h, below, child, out, task))
    return best


@jit
def _arrive(h: Any, s: Any, node: int, out: Any, task: int) -> int:
    if task == MARK:
        tokens = s[TOKENS]
        s[TOKENS] = spend(tokens)
        if alive(h, s):
            allow_node(h, out, node)
        s[TOKENS] = tokens
        return NO_WAY
    if task == QUOTING and s[MODE] == FREE and s[QUOTES]:
        return NO_WAY
    used = FAR - s[WORDS] if h[COSTS_WORDS] else 0
    return add(way_of(h, s), used << 32 | TOKEN)


@jit
def spend(tokens: int) -> int:
    """Take one token from a budget; no budget stays none."""
    return tokens if tokens == UNLIMITED else tokens - 1


@jit
def cheapest(h: Any, s: Any, node: int, task: int) -> int:
    """Return the cheapest cost from a state to free text by at least one token."""
    return explore(h, s, node, np.empty(0, np.int32), task, ANY)


@jit
def try_token(h: Any, s: Any, token: int, blob: Any, offsets: Any, t: Any) -> bool:
    """Go on by one token, into `t`; tell whether the answer can be finished then."""
    copy_state(s, t)
    t[TOKENS] = spend(t[TOKENS])
    if t[TOKENS] < 0:
        return False
    return step_bytes(h, t, blob, offsets[token], offsets[token + 1]) and alive(h, t)


@jit
def subtree(h: Any, node: int, byte: int) -> int:
    """Return a child of a node that may itself be missing (-1)."""
    return child_of(h, node, byte) if node >= 0 else -1
