"""Down the trie of tokens, a byte a step of the automaton."""

from __future__ import annotations

from typing import Any

from semqa.decoding.core.layout import (
    CHILD_COUNT,
    CHILD_TABLES,
    FIRST_CHILD,
    NODE_BYTE,
    TABLE_OF,
    TOKEN_START,
    bytes_at,
    ints_at,
    jit,
)
from semqa.decoding.core.state import MODE, NUMBER, OPENED, SPACED, copy_state
from semqa.decoding.core.step import step_byte

__all__ = ["child_of", "has_tokens", "may_follow", "next_end"]


@jit
def child_of(h: Any, node: int, byte: int) -> int:
    """Return the child of a node of the token trie, -1 for none."""
    row = ints_at(h, TABLE_OF)[node]
    if row >= 0:
        return ints_at(h, CHILD_TABLES)[256 * row + byte]
    first = ints_at(h, FIRST_CHILD)[node]
    data = bytes_at(h, NODE_BYTE)
    for child in range(first, first + ints_at(h, CHILD_COUNT)[node]):
        if data[child] == byte:
            return child
    return -1


@jit
def has_tokens(h: Any, node: int) -> bool:
    """Tell whether a token ends at a node."""
    start = ints_at(h, TOKEN_START)
    return start[node] < start[node + 1]


@jit
def may_follow(mode: int, byte: int) -> bool:
    """Tell at a glance whether a byte may follow in a mode; to spare most steps of a walk."""
    if mode == OPENED:
        return byte == 0x20
    if mode == SPACED or mode == NUMBER:
        return 0x30 <= byte <= 0x39 or (mode == NUMBER and byte == 0x20)
    return True


@jit
def next_end(h: Any, states: Any, path: Any, level: int) -> int:
    """Go on in a depth-first walk to the next node at which a token ends.

    Args:
        h: the handle.
        states: int32[D, S], the state at each level; at first only that of level 0.
        path: int32[D, 2], the node at each level and how many of its children were tried.
        level: where the walk stands; to go round the subtree of a node set its children tried.

    Returns:
        The level of the node; -1 when there is none left.
    """
    first_child, child_count = ints_at(h, FIRST_CHILD), ints_at(h, CHILD_COUNT)
    data = bytes_at(h, NODE_BYTE)
    while level >= 0:
        parent, tried = path[level, 0], path[level, 1]
        if tried == child_count[parent]:
            level -= 1
            continue
        path[level, 1] += 1
        child = first_child[parent] + tried
        if not may_follow(states[level, MODE], data[child]):
            continue
        copy_state(states[level], states[level + 1])
        if step_byte(h, states[level + 1], data[child]):
            level += 1
            path[level, 0], path[level, 1] = child, 0
            if has_tokens(h, child):
                return level
    return -1
