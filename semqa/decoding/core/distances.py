"""The cost tables: from every position of the text, and every control state, to free text."""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.core.cost import (
    CLOSER_COST,
    CONTROLS,
    NO_WAY,
    OPENED_COST,
    PENDING_COST,
    QUOTE_COST,
    SPACED_COST,
    TOKEN,
    add,
    unfinished_first,
)
from semqa.decoding.core.descend import child_of, has_tokens
from semqa.decoding.core.explore import CONTINUING, COST, QUOTING, cheapest, explore, subtree
from semqa.decoding.core.layout import (
    BARRIER,
    CONTROL_COST,
    COSTS_WORDS,
    DIGIT_COST,
    DIGIT_TRIE,
    DISTANCE,
    FAR,
    FILTERED,
    FLAGS,
    MAX_FREE,
    NAMES_QUOTED,
    NUMBERS_QUOTED,
    PREFIX_OK,
    QUOTABLE,
    REOPENS,
    SOURCES,
    STARTS,
    SUFFIXES,
    TEXT,
    UNLIMITED,
    WORD_COST,
    WORD_TRIE,
    bytes_at,
    ints_at,
    jit,
    longs_at,
)
from semqa.decoding.core.state import (
    BETWEEN,
    CONTEXT,
    DIGITS,
    FREE,
    MODE,
    NUMBER,
    OPENED,
    PART,
    PENDING,
    PENDING_END,
    QUOTES,
    RUN,
    SPACED,
    SPAN,
    STATE_WIDTH,
    TOKENS,
    WORD,
    WORDS,
)
from semqa.decoding.core.step import ENDED_SENTENCE, MAY_END, NEEDS_WORD, begins_word, close

__all__ = ["fill_distances", "fill_run_costs"]

UNFINISHED = np.array(
    [1 << 21 | 2, 2 << 21 | 1, 2 << 21, 2 << 21 | 13, 3 << 21 | 1, 3 << 21, 3 << 21 | 4]
)
"""One unfinished character of each class, see `cost.character_class`."""


@jit
def _fresh(h: Any, mode: int) -> Any:
    """Return a state with no limits, whose spent words `explore` can tell."""
    s = np.zeros(STATE_WIDTH, np.int32)
    s[MODE] = mode
    s[WORDS] = FAR if h[COSTS_WORDS] else UNLIMITED
    s[RUN] = UNLIMITED
    s[TOKENS] = UNLIMITED
    return s


@jit
def _closed(h: Any, kind: int) -> Any:
    s = _fresh(h, SPAN)
    s[CONTEXT] = kind
    close(h, s)
    return s


@jit
def _row_cost(h: Any, suffix: int, at_start: bool) -> int:
    """Return the cheapest cost from a place of a span to free text.

    Args:
        suffix: the position.
        at_start: nothing of the span is written yet.
    """
    text, flags = bytes_at(h, TEXT), bytes_at(h, FLAGS)
    distance, control = longs_at(h, DISTANCE), longs_at(h, CONTROL_COST)
    best, node, position, used = NO_WAY, 0, suffix, 0
    while True:
        flag = flags[position]
        if flag & MAY_END and (position > suffix or not at_start):
            kind = PENDING_END if h[NAMES_QUOTED] and flag & ENDED_SENTENCE else PENDING
            paid = used << 32
            if node == 0:
                best = min(best, add(control[CLOSER_COST + (kind == PENDING_END)], paid))
            space = child_of(h, node, 0x20)
            if space >= 0 and has_tokens(h, space):
                way = control[PENDING_COST + (kind == PENDING_END)]
                best = min(best, add(way, paid | TOKEN))
            bracket = subtree(h, space, 0x5D) if node else -1
            if bracket >= 0:
                best = min(best, add(cheapest(h, _closed(h, kind), bracket, COST), paid))
        byte = text[position]
        if byte >= BARRIER:
            return best
        node = child_of(h, node, byte)
        if node < 0:
            return best
        position += 1
        if h[COSTS_WORDS]:
            depth = position - suffix
            # Past its start a span has begun its first word, whatever the depth from here.
            if begins_word(flags[position], depth if at_start else FAR):
                used += 1
        if has_tokens(h, node):
            way = add(distance[position], used << 32 | TOKEN)
            if at_start and h[COSTS_WORDS] and unfinished_first(h, suffix, position - suffix):
                way = add(way, (flags[position] & NEEDS_WORD == 0) << 32)
            best = min(best, way)


@jit
def _fill_characters(h: Any) -> None:
    control = longs_at(h, CONTROL_COST)
    if h[NUMBERS_QUOTED] or h[NAMES_QUOTED]:
        return  # then costs depend on the character, not only on its class
    s = _fresh(h, FREE)
    for kind in range(UNFINISHED.size):
        s[PART] = UNFINISHED[kind]
        control[kind] = min(control[kind], cheapest(h, s, 0, COST))


@jit
def _fill_closers(h: Any) -> None:
    control = longs_at(h, CONTROL_COST)
    pending = child_of(h, 0, 0x5D)
    closer = subtree(h, child_of(h, 0, 0x20), 0x5D)
    for row in range(2):
        kind = PENDING_END if row else PENDING
        if pending >= 0:
            control[PENDING_COST + row] = cheapest(h, _closed(h, kind), pending, COST)
        if closer >= 0:
            control[CLOSER_COST + row] = cheapest(h, _closed(h, kind), closer, COST)


@jit
def _fill_positions(h: Any) -> None:
    distance = longs_at(h, DISTANCE)
    text = bytes_at(h, TEXT)
    distance[text.size] = NO_WAY
    for position in range(text.size - 1, -1, -1):
        distance[position] = _row_cost(h, position, False)


@jit
def _fill_controls(h: Any) -> None:
    control, starts, suffixes = longs_at(h, CONTROL_COST), ints_at(h, STARTS), ints_at(h, SUFFIXES)
    quotable, prefix_ok = bytes_at(h, QUOTABLE), bytes_at(h, PREFIX_OK)
    for source in range(h[SOURCES]):
        best = NO_WAY
        for row in range(starts[source], starts[source + 1]):
            best = min(best, _row_cost(h, suffixes[row], True))
        control[CONTROLS + 1 + h[SOURCES] + source] = best
    s = _fresh(h, NUMBER)
    for number in range(h[SOURCES], 0, -1):
        if prefix_ok[number] or quotable[number]:
            s[PART] = number
            control[CONTROLS + number] = cheapest(h, s, 0, COST)
    control[SPACED_COST] = cheapest(h, _fresh(h, SPACED), 0, COST)
    control[OPENED_COST] = cheapest(h, _fresh(h, OPENED), 0, COST)
    s = _fresh(h, FREE)
    s[CONTEXT] = BETWEEN if h[NAMES_QUOTED] else 0
    s[RUN] = h[MAX_FREE]
    s[QUOTES] = 1
    control[QUOTE_COST] = cheapest(h, s, 0, QUOTING)


@jit
def fill_run_costs(h: Any, word_digits: Any) -> None:
    """Fill DIGIT_COST and WORD_COST, children before parents."""
    for words in range(2):
        costs = ints_at(h, WORD_COST if words else DIGIT_COST)
        trie = ints_at(h, WORD_TRIE if words else DIGIT_TRIE)
        s = _fresh(h, FREE)
        for node in range(costs.size - 1, 0, -1):
            s[WORD if words else DIGITS] = node
            if words:
                s[DIGITS] = word_digits[node]
                s[CONTEXT] = 0
            if trie[4 * node + 3]:
                costs[node] = 0
            else:
                way = explore(h, s, 0, np.empty(0, np.int32), COST, CONTINUING)
                costs[node] = FAR if way >= NO_WAY else way & 0xFFFFFFFF


@jit
def fill_distances(h: Any, word_digits: Any) -> None:
    """Fill DISTANCE, CONTROL_COST and the costs of runs, all of them without any way before.

    Costs fall from round to round until they are the least fixed point. One round is enough where
    no token closes a quote and opens another, single bytes finish whatever was begun, and free
    text has no words to finish.
    """
    control = longs_at(h, CONTROL_COST)
    runs = ints_at(h, WORD_COST).size + ints_at(h, DIGIT_COST).size > 2
    for _ in range(1 + CONTROLS + 2 * h[SOURCES]):
        before = control.copy()
        fill_run_costs(h, word_digits)
        _fill_characters(h)
        _fill_closers(h)
        _fill_positions(h)
        _fill_controls(h)
        fill_run_costs(h, word_digits)
        if not (h[FILTERED] or h[REOPENS] or runs) or (before == control).all():
            return
