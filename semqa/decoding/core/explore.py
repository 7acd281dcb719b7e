"""All tokens from one state, the plain way: down the trie, a byte a step.

Right for every state, and quick where few tokens fit. Spans have a quicker way, in `walk.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.core.alive import alive, way_of
from semqa.decoding.core.cost import NO_WAY, TOKEN, add
from semqa.decoding.core.descend import ANY, child_of, has_tokens, next_end
from semqa.decoding.core.layout import (
    COSTS_WORDS,
    FAR,
    FIRST_TOKEN,
    LONGEST,
    NODES,
    TOKEN_IDS,
    UNLIMITED,
    ints_at,
    jit,
)
from semqa.decoding.core.state import (
    FREE,
    MODE,
    PART,
    QUOTES,
    STATE_WIDTH,
    TOKENS,
    WORDS,
    copy_state,
    new_state,
    row_of,
)
from semqa.decoding.core.step import runs_may_end, step_bytes

__all__ = [
    "COST",
    "MARK",
    "QUOTING",
    "UNFINISHED",
    "allow",
    "allow_node",
    "cheapest",
    "explore",
    "forbid",
    "is_allowed",
    "may_end",
    "step_cost",
    "try_token",
]

MARK = 0
"""Set the bit of every token after which the answer can be finished."""
UNFINISHED = 1
"""Of these, set the bits of those that end inside a character, number or word of free text."""
COST = 2
"""Return the cheapest cost to free text, over all tokens."""
QUOTING = 3
"""Like COST, over tokens that open or make a quote."""


@jit
def allow(out: Any, token: int) -> None:
    """Set one bit of a mask."""
    out[token >> 5] |= np.int32(1) << np.int32(token & 31)


@jit
def forbid(out: Any, token: int) -> None:
    """Clear one bit of a mask."""
    out[token >> 5] &= ~(np.int32(1) << np.int32(token & 31))


@jit
def is_allowed(out: Any, token: int) -> bool:
    """Read one bit of a mask."""
    return out[token >> 5] >> (token & 31) & 1 != 0


@jit
def allow_node(h: Any, out: Any, node: int) -> None:
    """Set the bits of all tokens that end at a node."""
    nodes, tokens = ints_at(h, NODES), ints_at(h, TOKEN_IDS)
    for place in range(nodes[4 * node + FIRST_TOKEN], nodes[4 * node + 4 + FIRST_TOKEN]):
        allow(out, tokens[place])


@jit
def explore(h: Any, s: Any, node: int, out: Any, task: int, scope: int) -> int:
    """Try every token below a node of the trie from a state; `s` stays as it is.

    Args:
        node: the root, or a node whose bytes are already part of `s`; its own tokens count then.
        out: int32[W]; COST and QUOTING leave it as it is.
        task: MARK, UNFINISHED, COST or QUOTING.
        scope: ANY, CONTINUING or ASKING.

    Returns:
        The cheapest cost, this token included; `NO_WAY` where bits are set.
    """
    states = np.empty((h[LONGEST] + 2, STATE_WIDTH), np.int32)
    path = np.empty((h[LONGEST] + 2, 3), np.int32)
    copy_state(s, row_of(states, 0))
    path[0, 0], path[0, 1], path[0, 2] = node, 0, scope == ANY
    best = NO_WAY
    if node and has_tokens(h, node):
        best = _arrive(h, s, node, out, task)
    level = next_end(h, states, path, 0, scope)
    while level > 0:
        best = min(best, _arrive(h, row_of(states, level), path[level, 0], out, task))
        level = next_end(h, states, path, level, scope)
    return best


@jit
def _arrive(h: Any, s: Any, node: int, out: Any, task: int) -> int:
    if task == MARK or task == UNFINISHED:
        tokens = s[TOKENS]
        s[TOKENS] = spend(tokens)
        if (task == MARK or (s[MODE] == FREE and not may_end(h, s))) and alive(h, s):
            allow_node(h, out, node)
        s[TOKENS] = tokens
        return NO_WAY
    return step_cost(h, s, task)


@jit
def step_cost(h: Any, s: Any, task: int) -> int:
    """Return the cost of a token and of the way to free text from the state after it."""
    if task == QUOTING and s[MODE] == FREE and s[QUOTES]:
        return NO_WAY
    used = FAR - s[WORDS] if h[COSTS_WORDS] else 0
    return add(way_of(h, s), used << 32 | TOKEN)


@jit
def may_end(h: Any, s: Any) -> bool:
    """Tell whether free text may end where a state in it stands."""
    return s[PART] == 0 and runs_may_end(h, s)


@jit
def spend(tokens: int) -> int:
    """Take one token from a budget; no budget stays none."""
    return tokens if tokens == UNLIMITED else tokens - 1


@jit
def cheapest(h: Any, s: Any, node: int, task: int) -> int:
    """Return the cheapest cost from a state to free text by at least one token."""
    return explore(h, s, node, new_state(), task, ANY)


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
