"""The mask of a state: which tokens may come next."""

from __future__ import annotations

from typing import Any

from semqa.decoding.core.cost import NO_WAY, rest
from semqa.decoding.core.descend import ANY, CONTINUING, child_of
from semqa.decoding.core.explore import (
    MARK,
    allow,
    allow_node,
    explore,
    forbid,
    is_allowed,
    try_token,
)
from semqa.decoding.core.layout import (
    ANY_QUOTABLE,
    BEGUN_LISTS,
    BEGUN_STARTS,
    BLOB,
    CLOSER_LISTS,
    CLOSER_STARTS,
    CLOSERS,
    COST_BOUND,
    COUNTING,
    DEEP_CLOSERS,
    DEEP_OPENERS,
    END_IDS,
    ENDERS,
    FILTERED,
    FREE_BOUND,
    FREE_MASKS,
    HEAVY_KEYS,
    HEAVY_LISTS,
    HEAVY_VALUES,
    LEADS,
    MOST_WORDS,
    OFFSETS,
    OPENERS,
    QUOTABLE,
    SPACED_LISTS,
    SPACED_STARTS,
    STARTS_ALNUM,
    STARTS_DIGIT,
    UNFINISHED_LISTS,
    UNFINISHED_STARTS,
    UNLIMITED,
    WIDTH,
    WORD_ROWS,
    WORDS_AT_MOST,
    bytes_at,
    ints_at,
    jit,
    longs_at,
    size_of,
)
from semqa.decoding.core.state import (
    CONTEXT,
    COUNTED,
    DEPTH,
    DIGITS,
    ENDED,
    FREE,
    HIGH,
    LOW,
    MODE,
    NOT_PENDING,
    NUMBER,
    OPENED,
    PART,
    PENDING_END,
    QUOTES,
    RUN,
    SPACED,
    SPAN,
    TOKENS,
    WORD,
    WORDS,
    copy_state,
    new_state,
)
from semqa.decoding.core.step import end_kind, runs_may_end, step_byte
from semqa.decoding.core.walk import careful, walk_span

__all__ = ["fill_mask"]

HEAVY = 48
"""Intervals of more rows have their tokens listed beforehand, as far as memory allows."""


@jit
def fill_mask(h: Any, s: Any, out: Any) -> None:
    """Write the mask of a state into ``out`` (int32[W])."""
    mode = s[MODE]
    if mode == FREE:
        _fill_free(h, s, out)
        return
    _clear(h, out)
    if mode == SPAN:
        _fill_span(h, s, out)
    elif mode == ENDED:
        _allow_ends(h, out)
    elif mode == OPENED and not (careful(h, s) or h[FILTERED]):
        space = child_of(h, 0, 0x20)
        allow_node(h, out, space)
        t = new_state()
        copy_state(s, t)
        t[MODE] = SPACED
        _explore_digits(h, t, space, out)
    elif mode == SPACED and not careful(h, s):
        _explore_digits(h, s, 0, out)
    elif mode == NUMBER and not careful(h, s):
        _explore_digits(h, s, 0, out)
        number = s[PART]
        if bytes_at(h, QUOTABLE)[number]:
            starts = ints_at(h, SPACED_STARTS)
            allow_list(h, out, SPACED_LISTS, starts[number - 1], starts[number])
    else:
        explore(h, s, 0, out, MARK, ANY)


@jit
def _clear(h: Any, out: Any) -> None:
    for word in range(h[WIDTH]):
        out[word] = 0


@jit
def _explore_digits(h: Any, s: Any, node: int, out: Any) -> None:
    """Allow the tokens below a node that go on with a digit."""
    t = new_state()
    for digit in range(0x30, 0x3A):
        child = child_of(h, node, digit)
        copy_state(s, t)
        if child >= 0 and step_byte(h, t, digit):
            explore(h, t, child, out, MARK, ANY)


@jit
def _allow_ends(h: Any, out: Any) -> None:
    for place in range(size_of(h, END_IDS)):
        allow(out, ints_at(h, END_IDS)[place])


@jit
def allow_list(h: Any, out: Any, table: int, start: int, end: int) -> None:
    """Set the bits of a list of tokens; one as long as a mask is a mask."""
    tokens = ints_at(h, table)
    if end - start == h[WIDTH]:
        for word in range(h[WIDTH]):
            out[word] |= tokens[start + word]
    else:
        for place in range(start, end):
            allow(out, tokens[place])


@jit
def _try_list(h: Any, s: Any, out: Any, table: int) -> None:
    """Set the bits of those tokens of a table that fit the limits."""
    t = new_state()
    blob, offsets, tokens = bytes_at(h, BLOB), ints_at(h, OFFSETS), ints_at(h, table)
    for place in range(size_of(h, table)):
        token = tokens[place]
        if try_token(h, s, token, blob, offsets, t):
            allow(out, token)


@jit
def _retry_list(h: Any, s: Any, out: Any, table: int, start: int, end: int) -> None:
    """Clear the bits of those tokens of a list that do not fit the limits."""
    t = new_state()
    blob, offsets, tokens = bytes_at(h, BLOB), ints_at(h, OFFSETS), ints_at(h, table)
    for place in range(start, end):
        token = tokens[place]
        if is_allowed(out, token) and not try_token(h, s, token, blob, offsets, t):
            forbid(out, token)


@jit
def _fill_free(h: Any, s: Any, out: Any) -> None:
    width = h[WIDTH]
    in_run = s[WORD] != 0 or s[DIGITS] != 0
    if s[PART]:
        _clear(h, out)
        explore(h, s, 0, out, MARK, ANY)
        return
    masks = ints_at(h, FREE_MASKS)
    first = s[CONTEXT] * width
    if not in_run:
        for word in range(width):
            out[word] = masks[first + word]
    elif runs_may_end(h, s):
        going_on = ints_at(h, STARTS_ALNUM if s[WORD] else STARTS_DIGIT)
        for word in range(width):
            out[word] = masks[first + word] & ~going_on[word]
        _retry_list(h, s, out, LEADS, 0, size_of(h, LEADS))
    else:
        _clear(h, out)
    if not h[ANY_QUOTABLE]:
        for place in range(size_of(h, OPENERS)):
            forbid(out, ints_at(h, OPENERS)[place])
    if careful(h, s):
        _fit_limits(h, s, out)
    _try_list(h, s, out, DEEP_OPENERS)
    if in_run:
        explore(h, s, 0, out, MARK, CONTINUING)
    if s[QUOTES] == 0 and s[TOKENS] >= 1 and runs_may_end(h, s):
        _allow_ends(h, out)


@jit
def _fit_limits(h: Any, s: Any, out: Any) -> None:
    """Clear what the limits of a state in free text do not admit."""
    after = s[TOKENS] - 1
    scarce = after <= h[COST_BOUND]
    left = rest(h, s[QUOTES]) if scarce or h[FILTERED] else s[QUOTES] << 32
    short = h[COUNTING] and left >> 32 > s[WORDS]
    if left >= NO_WAY or short or (scarce and after < left & 0xFFFFFFFF):
        _clear(h, out)  # only a token that opens a quote brings the end nearer
        _try_list(h, s, out, OPENERS)
        return
    _retry_list(h, s, out, OPENERS, 0, size_of(h, OPENERS))
    if h[FILTERED] or (scarce and after < (left & 0xFFFFFFFF) + h[FREE_BOUND]):
        starts, context = ints_at(h, UNFINISHED_STARTS), s[CONTEXT]
        _retry_list(h, s, out, UNFINISHED_LISTS, starts[context], starts[context + 1])
    words = max(0, min(s[RUN], s[WORDS] - (left >> 32))) if h[COUNTING] else UNLIMITED
    if words < h[MOST_WORDS]:
        most = ints_at(h, WORDS_AT_MOST)
        # Tokens of more words than there are rows are left out early; nobody has such tokens.
        first = (s[COUNTED] * h[WORD_ROWS] + min(words, h[WORD_ROWS] - 1)) * h[WIDTH]
        for word in range(h[WIDTH]):
            out[word] &= most[first + word]


@jit
def _fill_span(h: Any, s: Any, out: Any) -> None:
    near = careful(h, s)
    low, high, depth, pending = s[LOW], s[HIGH], s[DEPTH], s[CONTEXT]
    if depth == 0 and pending == NOT_PENDING:
        if near:
            walk_span(h, s, 0, low, high, 0, True, out)
        else:
            starts, source = ints_at(h, BEGUN_STARTS), s[PART]
            allow_list(h, out, BEGUN_LISTS, starts[source], starts[source + 1])
        return
    if low < high:
        slot = -1 if near else find_heavy(h, low, high, depth)
        if slot >= 0:
            values = ints_at(h, HEAVY_VALUES)
            allow_list(h, out, HEAVY_LISTS, values[3 * slot], values[3 * slot + 1])
            kind = values[3 * slot + 2]
        else:
            walk_span(h, s, 0, low, high, depth, near or h[FILTERED] != 0, out)
            kind = end_kind(h, low, high, depth)
        if kind != NOT_PENDING:
            _allow_closers(h, s, out, near, kind, CLOSERS)
    if pending != NOT_PENDING:
        _allow_closers(h, s, out, near, pending, ENDERS)
    if not near:
        _try_list(h, s, out, DEEP_CLOSERS)


@jit
def _allow_closers(h: Any, s: Any, out: Any, near: bool, kind: int, table: int) -> None:
    if near:
        _try_list(h, s, out, table)
        return
    starts = ints_at(h, CLOSER_STARTS)
    row = 2 * (table == ENDERS) + (kind == PENDING_END)
    allow_list(h, out, CLOSER_LISTS, starts[row], starts[row + 1])


@jit
def heavy_slot(keys: Any, slots: int, low: int, high: int, depth: int) -> int:
    """Return the slot of an interval in the table of heavy ones: its own, or an empty one."""
    second = high << 32 | depth
    # Intervals of periodic texts differ by little and regularly: mix well, or probing is slow.
    mixed = (low + high * 0x9E3779B1 + depth * 0x45EBCA77C2B2AE63) * 0x2545F4914F6CDD1D
    mixed = (mixed ^ mixed >> 31) * 0x1F123BB5159A55E5
    slot = (mixed ^ mixed >> 29) & (slots - 1)
    while keys[2 * slot] != -1 and (keys[2 * slot] != low or keys[2 * slot + 1] != second):
        slot = (slot + 1) & (slots - 1)
    return slot


@jit
def find_heavy(h: Any, low: int, high: int, depth: int) -> int:
    """Return the slot of an interval whose tokens are listed, -1 if they are not."""
    keys = longs_at(h, HEAVY_KEYS)
    if high - low <= HEAVY or size_of(h, HEAVY_KEYS) == 0:
        return -1
    slot = heavy_slot(keys, size_of(h, HEAVY_KEYS) >> 1, low, high, depth)
    return slot if keys[2 * slot] != -1 else -1
