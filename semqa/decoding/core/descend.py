"""Down the trie of tokens, a byte a step of the automaton."""

from __future__ import annotations

from typing import Any

from semqa.decoding.core.layout import (
    ASKS_CAPITAL,
    ASKS_DIGIT,
    ASKS_INSIDE,
    CHILD_COUNT,
    CHILD_TABLE,
    CHILD_TABLES,
    CHILDREN,
    DIGIT_TRIE,
    FIRST_CHILD,
    HOLDS_TOKENS,
    LEADS_OUT,
    NAMES_QUOTED,
    NODE_BYTE,
    NODES,
    NUMBERS_QUOTED,
    WORD_TRIE,
    bytes_at,
    ints_at,
    jit,
)
from semqa.decoding.core.state import (
    DIGITS,
    FREE,
    MODE,
    NUMBER,
    OPENED,
    PART,
    SPACED,
    WORD,
    copy_state,
    row_of,
)
from semqa.decoding.core.step import step_byte

__all__ = ["ANY", "ASKING", "CONTINUING", "child_of", "has_tokens", "leads_out", "next_end"]

ANY = 0
CONTINUING = 1
"""Only tokens whose first character goes on with the number or word that the state is in."""
ASKING = 2
"""At least the tokens that hold one of the question's numbers or words, or end inside a character."""


@jit
def child_of(h: Any, node: int, byte: int) -> int:
    """Return the child of a node of the token trie, -1 for none."""
    nodes = ints_at(h, NODES)
    row = nodes[4 * node + CHILD_TABLE]
    if row >= 0:
        return ints_at(h, CHILD_TABLES)[256 * row + byte]
    first = nodes[4 * node + FIRST_CHILD]
    data = bytes_at(h, NODE_BYTE)
    for child in range(first, first + (nodes[4 * node + CHILDREN] & CHILD_COUNT)):
        if data[child] == byte:
            return child
    return -1


@jit
def has_tokens(h: Any, node: int) -> bool:
    """Tell whether a token ends at a node."""
    return ints_at(h, NODES)[4 * node + CHILDREN] & HOLDS_TOKENS != 0


@jit
def leads_out(h: Any, node: int) -> bool:
    """Tell whether some token goes on from a node by ``" "`` alone or by ``" ]"``."""
    return ints_at(h, NODES)[4 * node + CHILDREN] & LEADS_OUT != 0


@jit
def may_follow(mode: int, byte: int) -> bool:
    """Tell at a glance whether a byte may follow in a mode; to spare most steps of a walk."""
    if mode == OPENED:
        return byte == 0x20
    if mode == SPACED or mode == NUMBER:
        return 0x30 <= byte <= 0x39 or (mode == NUMBER and byte == 0x20)
    return True


@jit
def _goes_on(h: Any, s: Any, t: Any) -> bool:
    """Tell whether a first character, or what there is of it in `t`, goes on with the run of `s`."""
    part = t[PART]
    if t[MODE] != FREE:
        return False
    if part == 0:
        return t[WORD] != 0 if s[WORD] else t[DIGITS] != 0
    trie = ints_at(h, WORD_TRIE if s[WORD] else DIGIT_TRIE)
    node = s[WORD] if s[WORD] else s[DIGITS]
    missing, bits = part >> 21, part & 0x1FFFFF
    for child in range(trie[4 * node + 1], trie[4 * node + 1] + trie[4 * node + 2]):
        if trie[4 * child] >> 6 * missing == bits:
            return True
    return False


@jit
def next_end(h: Any, states: Any, path: Any, level: int, scope: int) -> int:
    """Go on in a depth-first walk to the next node at which a token ends.

    Args:
        h: the handle.
        states: int32[D, S], the state at each level; at first only that of level 0.
        path: int32[D, 3], the node at each level, how many of its children were tried, and whether
            the scope takes in all that is below; the caller sets row 0 to ``(node, 0, scope == ANY)``.
        level: where the walk stands, 0 at first.
        scope: ANY, CONTINUING or ASKING.

    Returns:
        The level of the node; -1 when there is none left.
    """
    nodes, data = ints_at(h, NODES), bytes_at(h, NODE_BYTE)
    asks = ASKS_INSIDE
    if h[NAMES_QUOTED]:
        asks |= ASKS_CAPITAL
    if h[NUMBERS_QUOTED]:
        asks |= ASKS_DIGIT
    while level >= 0:
        parent, tried = path[level, 0], path[level, 1]
        if tried == nodes[4 * parent + CHILDREN] & CHILD_COUNT:
            level -= 1
            continue
        path[level, 1] += 1
        child = nodes[4 * parent + FIRST_CHILD] + tried
        whole = path[level, 2]
        if scope == ASKING and not whole and nodes[4 * child + CHILDREN] & asks == 0:
            continue
        s, t = row_of(states, level), row_of(states, level + 1)
        if not may_follow(s[MODE], data[child]):
            continue
        copy_state(s, t)
        if not step_byte(h, t, data[child]):
            continue
        if scope == ASKING:
            whole = whole or t[WORD] != 0 or t[DIGITS] != 0
        elif not whole:
            if not _goes_on(h, row_of(states, 0), t):
                continue
            whole = t[PART] == 0
        level += 1
        path[level, 0], path[level, 1], path[level, 2] = child, 0, whole
        if has_tokens(h, child):
            return level
    return -1
