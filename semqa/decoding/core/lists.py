"""Lists of tokens made beforehand, so that no mask waits: starts of spans, and wide intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.core.cost import CONTROLS, NO_WAY
from semqa.decoding.core.descend import ANY, child_of, has_tokens
from semqa.decoding.core.explore import MARK, allow_node, explore, forbid
from semqa.decoding.core.layout import (
    BARRIER,
    CONTROL_COST,
    DEEP_CLOSERS,
    DEEP_OPENERS,
    FILTERED,
    LONGEST,
    SOURCES,
    SUFFIXES,
    TEXT,
    UNLIMITED,
    WIDTH,
    bytes_at,
    ints_at,
    jit,
    longs_at,
    size_of,
)
from semqa.decoding.core.mask import HEAVY, heavy_slot
from semqa.decoding.core.pointers import ints_of, longs_of
from semqa.decoding.core.state import (
    CONTEXT,
    FREE,
    MODE,
    PENDING,
    PENDING_END,
    RUN,
    SPAN,
    TOKENS,
    WORDS,
    clear_state,
    new_state,
)
from semqa.decoding.core.step import close, end_kind, end_of_run
from semqa.decoding.core.walk import walk_span

__all__ = ["list_heavy", "list_starts", "mark_closers", "mark_free"]


@jit
def _set_unlimited(s: Any, mode: int) -> None:
    clear_state(s)
    s[MODE] = mode
    s[WORDS] = s[RUN] = s[TOKENS] = UNLIMITED


@jit
def _append(tokens: Any, size: int, mask: Any) -> Any:
    """Add the tokens of a mask to a list, as a mask where there are many; return both anew."""
    width, begin = mask.size, size
    if size + width > tokens.size:
        grown = np.empty(2 * (size + width), np.int32)
        grown[:size] = tokens[:size]
        tokens = grown
    for word in range(width):
        bits = np.uint32(mask[word])
        bit = 0
        while bits:
            if bits & np.uint32(1):
                if size - begin == width - 1:
                    tokens[begin : begin + width] = mask
                    return tokens, begin + width
                tokens[size] = 32 * word + bit
                size += 1
            bits >>= np.uint32(1)
            bit += 1
    return tokens, size


@jit
def list_starts(h: Any, starts: Any, after_space: bool, ends: Any) -> Any:
    """List the tokens with which a span may begin, source by source.

    Args:
        h: the handle.
        starts: int32[N + 1], the suffixes of each source.
        after_space: list those that begin with the space before the span.
        ends: int32[N + 1], written: where the list of each source begins.

    Returns:
        int32[*], the lists.
    """
    tokens, size = np.empty(1024, np.int32), 0
    mask = np.empty(h[WIDTH], np.int32)
    s = new_state()
    _set_unlimited(s, SPAN)
    node = child_of(h, 0, 0x20) if after_space else 0
    checked = h[FILTERED] != 0
    for source in range(ends.size - 1):
        mask[:] = 0
        low, high = starts[source], starts[source + 1]
        way = longs_at(h, CONTROL_COST)[CONTROLS + 1 + h[SOURCES] + source]
        if node >= 0 and low < high:
            if after_space and (not checked or way < NO_WAY):
                allow_node(h, ints_of(mask, 0), node)
            walk_span(h, s, node, low, high, 0, checked, ints_of(mask, 0))
        tokens, size = _append(tokens, size, mask)
        ends[source + 1] = size
    return tokens[:size].copy()


@jit
def mark_closers(h: Any, row: int, out: Any) -> None:
    """Mark the tokens that close a span without limits, without DEEP_CLOSERS.

    Args:
        h: the handle.
        row: of CLOSER_LISTS: 0 for CLOSERS, 2 for ENDERS, 1 more behind the end of a sentence.
        out: int32[W], in which bits are set.
    """
    s = new_state()
    _set_unlimited(s, SPAN)
    s[CONTEXT] = PENDING_END if row & 1 else PENDING
    bracket = child_of(h, 0, 0x5D)
    if row < 2:
        space = child_of(h, 0, 0x20)
        bracket = child_of(h, space, 0x5D) if space >= 0 else -1
    if bracket >= 0:
        close(h, s)
        explore(h, s, bracket, ints_of(out, 0), MARK, ANY)
    for place in range(size_of(h, DEEP_CLOSERS)):
        forbid(ints_of(out, 0), ints_at(h, DEEP_CLOSERS)[place])


@jit
def mark_free(h: Any, context: int, task: int, scope: int, out: Any) -> None:
    """Mark tokens of free text in one context, without limits and without DEEP_OPENERS.

    Args:
        h: the handle.
        context: of the state.
        task: MARK or UNFINISHED.
        scope: ANY or ASKING.
        out: int32[W], in which bits are set.
    """
    s = new_state()
    _set_unlimited(s, FREE)
    s[CONTEXT] = context
    explore(h, s, 0, ints_of(out, 0), task, scope)
    for place in range(size_of(h, DEEP_OPENERS)):
        token = ints_at(h, DEEP_OPENERS)[place]
        forbid(ints_of(out, 0), token)


@jit
def _heavy_below(h: Any, node: int, low: int, high: int, depth: int, found: Any, size: int) -> int:
    """Collect the wide intervals at which a token ends, below a node; return how many there are."""
    text, suffixes = bytes_at(h, TEXT), ints_at(h, SUFFIXES)
    frames = np.empty((h[LONGEST] + 2, 3), np.int32)
    frames[0, 0], frames[0, 1], frames[0, 2] = node, low, high
    level = 0
    while level >= 0:
        row, end, at = frames[level, 1], frames[level, 2], depth + level
        byte = text[suffixes[row] + at] if end - row > HEAVY else BARRIER
        if byte >= BARRIER:
            level -= 1
            continue
        after = end_of_run(text, suffixes, row, end, at, byte)
        frames[level, 1] = after
        if after - row <= HEAVY:
            continue
        child = child_of(h, frames[level, 0], byte)
        if child < 0:
            continue
        if has_tokens(h, child) and size < found.shape[0]:
            found[size, 0], found[size, 1], found[size, 2] = row, after, at + 1
            size += 1
        level += 1
        frames[level, 0], frames[level, 1], frames[level, 2] = child, row, after
    return size


@jit
def list_heavy(h: Any, starts: Any, most_states: int, most_tokens: int) -> Any:
    """List the tokens of wide intervals that tokens can lead to, the widest places first.

    Args:
        h: the handle.
        starts: int32[N + 1].
        most_states: stop after so many intervals.
        most_tokens: stop at lists of so many tokens altogether.

    Returns:
        The three HEAVY tables.
    """
    found = np.empty((4 * most_states, 3), np.int32)
    size = 0
    space = child_of(h, 0, 0x20)
    for source in range(starts.size - 1):
        low, high = starts[source], starts[source + 1]
        if high - low > HEAVY:
            size = _heavy_below(h, 0, low, high, 0, found, size)
            if space >= 0:
                size = _heavy_below(h, space, low, high, 0, found, size)
    if size == 0:
        return np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32)
    slots = 16
    while slots < 4 * most_states:
        slots *= 2
    seen = np.full(2 * slots, -1, np.int64)
    tokens, used = np.empty(4096, np.int32), 0
    mask = np.empty(h[WIDTH], np.int32)
    s = new_state()
    _set_unlimited(s, SPAN)
    kept = np.empty((most_states, 6), np.int32)
    count = place = 0
    while place < size and count < most_states and used < most_tokens:
        low, high, depth = found[place, 0], found[place, 1], found[place, 2]
        place += 1
        slot = heavy_slot(longs_of(seen, 0), seen.size >> 1, low, high, depth)
        if seen[2 * slot] != -1:
            continue
        seen[2 * slot], seen[2 * slot + 1] = low, np.int64(high) << 32 | depth
        mask[:] = 0
        walk_span(h, s, 0, low, high, depth, h[FILTERED] != 0, ints_of(mask, 0))
        begin = used
        tokens, used = _append(tokens, used, mask)
        kept[count, 0], kept[count, 1], kept[count, 2] = low, high, depth
        kept[count, 3], kept[count, 4] = begin, used
        kept[count, 5] = end_kind(h, low, high, depth)
        count += 1
        size = _heavy_below(h, 0, low, high, depth, found, size)
    slots = 16
    while slots < 2 * count:
        slots *= 2
    keys, values = np.full(2 * slots, -1, np.int64), np.zeros(3 * slots, np.int32)
    for row in range(count):
        slot = heavy_slot(longs_of(keys, 0), slots, kept[row, 0], kept[row, 1], kept[row, 2])
        keys[2 * slot] = kept[row, 0]
        keys[2 * slot + 1] = np.int64(kept[row, 1]) << 32 | kept[row, 2]
        values[3 * slot : 3 * slot + 3] = kept[row, 3:6]
    return keys, values, tokens[:used].copy()
