"""Try all tokens from a state by walking the token trie, byte by byte.

`explore` works for every state and is fast if few tokens fit. `list_spans` is faster for spans.
`list_free` and `list_beginnings` list tokens ahead: those of free text, and those that begin spans.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.automaton.finish import alive, cost_of
from semqa.decoding.automaton.memory import *
from semqa.decoding.automaton.pointers import ints_of
from semqa.decoding.automaton.step import (
    HEAD_WORDS,
    begin_run,
    close,
    end_of_run,
    step_byte,
)
from semqa.decoding.automaton.words import word_child

MARK = 0
"""Task: set the bit of every token after which the answer can be finished."""
COST = 1
"""Task: return the lowest cost to the end of the answer, over all tokens."""


@jit
def child_of(h: Any, node: int, byte: int) -> int:
    """Return the child of a node in the token trie, or -1."""
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
    """Return whether a token ends at a node."""
    return ints_at(h, NODES)[4 * node + CHILDREN] & HOLDS_TOKENS != 0


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
def spend(tokens: int) -> int:
    """Take one token from a budget; an unlimited budget stays unlimited."""
    return tokens if tokens == UNLIMITED else tokens - 1


@jit
def may_follow(mode: int, byte: int) -> bool:
    """Return quickly whether a byte may follow in a mode, to skip most steps of a walk."""
    if mode == OPENED:
        return byte == 0x20
    if mode == SPACED or mode == NUMBER:
        return 0x30 <= byte <= 0x39 or (mode == NUMBER and byte == 0x20)
    return True


@jit
def explore(h: Any, s: Any, node: int, out: Any, task: int, inside: bool) -> int:
    """Try every token below a node of the trie from a state; `s` is not changed.

    Tokens may close a quote. Tokens that then open another quote are left out, because they need the
    tables of the next view.

    Args:
        node: the root, or a node whose bytes are already part of `s`; then its tokens count too.
        out: int32[W]; not changed by COST.
        task: MARK or COST.
        inside: whether to try only tokens whose first byte continues the current word.

    Returns:
        The lowest cost to the end, including the token tried; `FAR` for MARK.
    """
    nodes, data = ints_at(h, NODES), bytes_at(h, NODE_BYTE)
    states = np.empty((h[LONGEST] + 2, STATE_WIDTH), np.int32)
    path = np.empty((h[LONGEST] + 2, 3), np.int32)  # node, children tried, a quote was closed
    copy_state(s, row_of(states, 0))
    first = row_of(states, 0)
    path[0, 0], path[0, 1], path[0, 2] = node, 0, first[MODE] == CLOSED
    if first[MODE] == CLOSED:
        _close(h, first, task)
    best, level = FAR, 0
    if node and has_tokens(h, node):
        best = _arrive(h, first, node, out, task)
    while level >= 0:
        parent, tried = path[level, 0], path[level, 1]
        if tried == nodes[4 * parent + CHILDREN] & CHILD_COUNT:
            level -= 1
            continue
        path[level, 1] = tried + 1
        child = nodes[4 * parent + FIRST_CHILD] + tried
        byte = data[child]
        before, after = row_of(states, level), row_of(states, level + 1)
        if not may_follow(before[MODE], byte) or (path[level, 2] and byte == 0x5B):
            continue
        if inside and level == 0 and not word_child(ints_at(h, WORDS_TRIE), s[NODE], byte):
            continue
        copy_state(before, after)
        if not step_byte(h, after, byte):
            continue
        closed = path[level, 2]
        if after[MODE] == CLOSED:
            _close(h, after, task)
            closed = 1
        level += 1
        path[level, 0], path[level, 1], path[level, 2] = child, 0, closed
        if has_tokens(h, child):
            best = min(best, _arrive(h, after, child, out, task))
    return best


@jit
def _close(h: Any, s: Any, task: int) -> None:
    """Close a quote; costs only consider short runs, because longer ones may be used up."""
    close(h, s)
    if task == COST and h[GLUE]:
        s[WORDS] = HEAD_WORDS


@jit
def list_spans(h: Any, node: int, low: int, high: int, depth: int) -> Any:
    """List the tokens that continue a span according to the source text.

    Args:
        h: the handle; the tables of the view are not used.
        node: the trie node to start at: the root, or a node whose bytes precede the span.
        low: the first row of SUFFIXES that matches the span so far.
        high: the end of these rows, exclusive.
        depth: the bytes of the span so far.

    Returns:
        int32[4 * n]: for each token, its ID, the first row and the end of the rows that match it,
        and the bytes of the span after it. In place of an ID, -1 - n means that tokens below node n
        may leave the span.
    """
    nodes, ids = ints_at(h, NODES), ints_at(h, TOKEN_IDS)
    text, suffixes = bytes_at(h, TEXT), ints_at(h, SUFFIXES)
    # Node, next row and end of the rows. A single row, the usual case, needs no frames.
    frames = np.empty(3 * (h[LONGEST] + 2) if high - low > 1 else 3, np.int32)
    found, size = np.empty(64, np.int32), 0
    row, after, at, level = low, high, depth, -1
    while True:
        while node >= 0:
            flags, first = nodes[4 * node + CHILDREN], nodes[4 * node + FIRST_TOKEN]
            if flags & (HOLDS_TOKENS | LEADS_OUT):
                last = nodes[4 * node + 4 + FIRST_TOKEN]
                while size + 4 * (last - first + 1) > found.size:
                    grown = np.empty(2 * found.size, np.int32)
                    grown[:size] = found[:size]
                    found = grown
                for place in range(first, last + (flags & LEADS_OUT != 0)):
                    found[size] = ids[place] if place < last else -1 - node
                    found[size + 1], found[size + 2], found[size + 3] = row, after, at
                    size += 4
            if after - row > 1:
                level += 1
                frames[3 * level], frames[3 * level + 1], frames[3 * level + 2] = node, row, after
                break
            byte = text[suffixes[row] + at]
            node = child_of(h, node, byte) if byte < BARRIER else -1
            at += 1
        node = -1
        while level >= 0 and node < 0:
            row, end, at = frames[3 * level + 1], frames[3 * level + 2], depth + level
            byte = text[suffixes[row] + at] if row < end else BARRIER
            if byte >= BARRIER:  # rows are sorted, so the rest are barriers too
                level -= 1
                continue
            after = end_of_run(text, suffixes, row, end, at, byte)
            frames[3 * level + 1] = after
            node = child_of(h, frames[3 * level], byte)
            at += 1
        if level < 0:
            return found[:size]


@jit
def _arrive(h: Any, s: Any, node: int, out: Any, task: int) -> int:
    if task == COST:
        return min(FAR, 1 + cost_of(h, s))
    tokens = s[TOKENS]
    s[TOKENS] = spend(tokens)
    if alive(h, s):
        allow_node(h, out, node)
    s[TOKENS] = tokens
    return FAR


@jit
def try_token(h: Any, s: Any, token: int, blob: Any, offsets: Any, t: Any) -> bool:
    """Advance `s` by one token into `t`; return whether the answer can then be finished.

    As in `explore`, a token that closes a quote and opens another is refused.
    """
    copy_state(s, t)
    t[TOKENS] = spend(t[TOKENS])
    closed = False
    for place in range(offsets[token], offsets[token + 1]):
        if (closed and blob[place] == 0x5B) or not step_byte(h, t, blob[place]):
            return False
        if t[MODE] == CLOSED:
            close(h, t)
            closed = True
    return t[TOKENS] >= 0 and alive(h, t)


@jit
def leads_out(h: Any, node: int) -> bool:
    """Return whether some token continues from a node with only ``" "`` or with ``" ]"``."""
    return ints_at(h, NODES)[4 * node + CHILDREN] & LEADS_OUT != 0


@jit
def list_free(h: Any, out: Any) -> None:
    """Compute the mask of free text and the mask of tokens that close a span.

    Args:
        h: a handle without sources, with ANY_QUOTABLE set and POOR not set.
        out: int32[2 * W], zeros; two masks are written. The first is for free text without limits
            and includes tokens up to ``"[ "``. The second is for tokens that begin with ``"]"`` or
            ``" ]"`` and do not open another quote.
    """
    s, space = new_state(), child_of(h, 0, 0x20)
    clear_state(s)
    s[QUOTED], s[TOKENS] = 1, UNLIMITED
    begin_run(h, s, AFTER_OPEN)
    explore(h, s, 0, ints_of(out, 0), MARK, False)
    s[MODE] = CLOSED
    for node in (0, space):
        bracket = child_of(h, node, 0x5D) if node >= 0 else -1
        if bracket >= 0:
            explore(h, s, bracket, ints_of(out, h[WIDTH]), MARK, False)


@jit
def list_beginnings(h: Any, at: Any) -> Any:
    """List the tokens that begin a span with the space before it (`list_spans`).

    Args:
        h: a handle with the tables of the vocabulary and the sources.
        at: int32[N + 1], zeros; written: the records of source k are at[k] to at[k + 1].

    Returns:
        int32[4 * n], n records.
    """
    starts, space = ints_at(h, STARTS), child_of(h, 0, 0x20)
    found = np.empty(0, np.int32)
    for source in range(at.size - 1 if space >= 0 else 0):
        if starts[source] < starts[source + 1]:
            spans = list_spans(h, space, starts[source], starts[source + 1], 0)
            found = np.concatenate((found, spans))
        at[source + 1] = found.size >> 2
    return found
