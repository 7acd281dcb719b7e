"""The tokens that go on with a span: down the trie and along the text at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.core.alive import exact, fits
from semqa.decoding.core.cost import PENDING_COST, QUOTE_COST, quotes_after, row_way, words_needed
from semqa.decoding.core.descend import ANY, child_of, has_tokens, leads_out
from semqa.decoding.core.explore import MARK, allow_node, explore, spend, subtree
from semqa.decoding.core.layout import (
    BARRIER,
    CONTROL_COST,
    COST_BOUND,
    COUNTING,
    FILTERED,
    FLAGS,
    LONGEST,
    MOST_WORDS,
    NAMES_QUOTED,
    SPAN_BOUND,
    SUFFIXES,
    TEXT,
    UNLIMITED,
    bytes_at,
    ints_at,
    jit,
    longs_at,
)
from semqa.decoding.core.state import (
    CONTEXT,
    FREE,
    MODE,
    PENDING,
    PENDING_END,
    QUOTES,
    RUN,
    TOKENS,
    WORDS,
    copy_state,
    new_state,
)
from semqa.decoding.core.step import (
    ENDED_SENTENCE,
    MAY_END,
    begins_word,
    close,
    end_kind,
    end_of_run,
    limit,
)

__all__ = ["careful", "walk_span"]

FEW_ROWS = 8
"""Up to so many rows are walked one by one; more are walked together."""


@jit
def careful(h: Any, s: Any) -> bool:
    """Tell whether limits are so near that the next token may run into one."""
    if s[TOKENS] - 1 <= (h[COST_BOUND] if s[MODE] == FREE else h[SPAN_BOUND]):
        return True
    if not h[COUNTING]:
        return False
    # A quote holds a word; where the vocabulary lacks bytes, its brackets may cost others.
    each = max(1, longs_at(h, CONTROL_COST)[QUOTE_COST] >> 32) if h[FILTERED] else 1
    return min(s[WORDS] - s[QUOTES] * each, s[RUN]) <= h[MOST_WORDS] + 1


@jit
def _may_stop(h: Any, s: Any, row: int, depth: int, used: int) -> bool:
    """Tell whether a token may end at a place of a span; `s` has paid for the token."""
    quotes = quotes_after(s)
    if exact(h, s):
        return fits(h, s, row_way(h, row, depth), quotes, used)
    if not h[COUNTING]:
        return True
    words = words_needed(h, row, depth) + used
    return words <= s[RUN] and words + quotes <= s[WORDS]


@jit
def _may_pend(h: Any, s: Any, kind: int, used: int) -> bool:
    """Tell whether a token may end with the space before the closing bracket."""
    quotes = quotes_after(s)
    if exact(h, s):
        way = longs_at(h, CONTROL_COST)[PENDING_COST + (kind == PENDING_END)]
        return fits(h, s, way, quotes, used)
    return not h[COUNTING] or (used <= s[RUN] and used + quotes <= s[WORDS])


@jit
def _close_below(h: Any, s: Any, node: int, kind: int, used: int, checked: bool, out: Any) -> None:
    """Allow the tokens that close the span at a node past the first; `s` has paid for the token."""
    space = child_of(h, node, 0x20)
    if space < 0:
        return
    if has_tokens(h, space) and (not checked or _may_pend(h, s, kind, used)):
        allow_node(h, out, space)
    bracket = subtree(h, space, 0x5D) if node else -1
    if bracket >= 0:
        t = new_state()
        copy_state(s, t)
        t[TOKENS] = s[TOKENS] if s[TOKENS] == UNLIMITED else s[TOKENS] + 1  # `explore` pays again
        t[WORDS] = limit(s[WORDS], used)
        t[CONTEXT] = kind
        close(h, t)
        explore(h, t, bracket, out, MARK, ANY)


@jit
def _kind(h: Any, flag: int) -> int:
    return PENDING_END if h[NAMES_QUOTED] and flag & ENDED_SENTENCE else PENDING


@jit
def _walk_row(
    h: Any, s: Any, node: int, row: int, depth: int, used: int, checked: bool, out: Any
) -> None:
    """Allow the tokens that go on with the span at one place; those of `node` itself excepted."""
    text, flags = bytes_at(h, TEXT), bytes_at(h, FLAGS)
    suffix = ints_at(h, SUFFIXES)[row]
    while True:
        if depth and leads_out(h, node) and flags[suffix + depth] & MAY_END:
            _close_below(h, s, node, _kind(h, flags[suffix + depth]), used, checked, out)
        byte = text[suffix + depth]
        if byte >= BARRIER:
            return
        node = child_of(h, node, byte)
        if node < 0:
            return
        depth += 1
        if checked and h[COUNTING] and begins_word(flags[suffix + depth], depth):
            used += 1
            if used > s[RUN] or used > s[WORDS]:
                return
        if has_tokens(h, node) and (not checked or _may_stop(h, s, row, depth, used)):
            allow_node(h, out, node)


@jit
def _enter(
    h: Any, s: Any, node: int, low: int, high: int, depth: int, used: int, checked: bool, out: Any
) -> None:
    """Allow what ends at one node of a joint walk."""
    if depth and leads_out(h, node):
        kind = end_kind(h, low, high, depth)
        if kind:
            _close_below(h, s, node, kind, used, checked, out)


@jit
def walk_span(
    h: Any, s: Any, node: int, low: int, high: int, depth: int, checked: bool, out: Any
) -> None:
    """Allow the tokens that go on with a span, from an interval of suffixes.

    Not among them: those that close the span from where it stands (tokens that begin with ``" ]"``
    or ``"]"``).

    Args:
        s: the state; its limits count where `checked` is set.
        node: the node of the trie at which tokens begin: the root, or one whose bytes come before.
        low: first row of SUFFIXES.
        high: behind the last row.
        depth: bytes of the span so far.
        checked: look at every token's cost: where `careful` says so, or the vocabulary lacks bytes.
        out: int32[W], in which bits are set.
    """
    t = new_state()
    copy_state(s, t)
    t[TOKENS] = spend(s[TOKENS])
    if high - low <= FEW_ROWS:
        for row in range(low, high):
            _walk_row(h, t, node, row, depth, 0, checked, out)
        return
    text, suffixes, flags = bytes_at(h, TEXT), ints_at(h, SUFFIXES), bytes_at(h, FLAGS)
    frames = np.empty((h[LONGEST] + 2, 4), np.int32)  # node, next row, last row, words
    frames[0, 0], frames[0, 1], frames[0, 2], frames[0, 3] = node, low, high, 0
    _enter(h, t, node, low, high, depth, 0, checked, out)
    level = 0
    while level >= 0:
        row, end, at = frames[level, 1], frames[level, 2], depth + level
        byte = text[suffixes[row] + at] if row < end else BARRIER
        if byte >= BARRIER:  # rows are sorted: what follows are barriers too
            level -= 1
            continue
        after = end_of_run(text, suffixes, row, end, at, byte)
        frames[level, 1] = after
        child = child_of(h, frames[level, 0], byte)
        if child < 0:
            continue
        used = frames[level, 3]
        if checked and h[COUNTING] and begins_word(flags[suffixes[row] + at + 1], at + 1):
            used += 1
            if used > t[RUN] or used > t[WORDS]:
                continue
        if has_tokens(h, child):
            free = not checked
            place = row
            while not free and place < after:
                free = _may_stop(h, t, place, at + 1, used)
                place += 1
            if free:
                allow_node(h, out, child)
        if after - row <= FEW_ROWS:
            for place in range(row, after):
                _walk_row(h, t, child, place, at + 1, used, checked, out)
            continue
        level += 1
        frames[level, 0], frames[level, 1] = child, row
        frames[level, 2], frames[level, 3] = after, used
        _enter(h, t, child, row, after, at + 1, used, checked, out)
