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
    within,
)
from semqa.decoding.core.descend import CONTINUING, child_of, has_tokens, leads_out
from semqa.decoding.core.explore import COST, QUOTING, cheapest, explore, step_cost, subtree
from semqa.decoding.core.layout import (
    BARRIER,
    BLOB,
    CONTROL_COST,
    COSTS_WORDS,
    COUNTING,
    DIGIT_COST,
    DIGIT_TRIE,
    DISTANCE,
    FAR,
    FLAGS,
    MAX_FREE,
    MAX_SPAN,
    NAMES_QUOTED,
    NUMBERS_QUOTED,
    OFFSETS,
    OPENERS,
    PLAIN_OPENERS,
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
    size_of,
)
from semqa.decoding.core.state import (
    BETWEEN,
    CONTEXT,
    COUNTED,
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
    TOKENS,
    WORD,
    WORDS,
    clear_state,
    copy_state,
    new_state,
)
from semqa.decoding.core.step import (
    ENDED_SENTENCE,
    MAY_END,
    NEEDS_WORD,
    begins_word,
    close,
    step_bytes,
)

__all__ = ["fill_distances"]

UNFINISHED = np.array(
    [1 << 21 | 2, 2 << 21 | 1, 2 << 21, 2 << 21 | 13, 3 << 21 | 1, 3 << 21, 3 << 21 | 4]
)
"""One unfinished character of each class, see `cost.character_class`."""


@jit
def _set_fresh(h: Any, s: Any, mode: int) -> None:
    """Make a state with no limits but that of a span, whose spent words `explore` can tell."""
    clear_state(s)
    s[MODE] = mode
    s[WORDS] = FAR if h[COSTS_WORDS] else UNLIMITED
    s[RUN] = UNLIMITED if mode == FREE else h[MAX_SPAN]
    s[TOKENS] = UNLIMITED


@jit
def _closing_cost(h: Any, kind: int, bracket: int) -> int:
    """Return the cheapest cost of closing a span, over the tokens below a node for ``"]"``."""
    s = new_state()
    _set_fresh(h, s, SPAN)
    s[CONTEXT] = kind
    close(h, s)
    return cheapest(h, s, bracket, COST)


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
            space = child_of(h, node, 0x20) if leads_out(h, node) else -1
            if space >= 0 and has_tokens(h, space):
                way = control[PENDING_COST + (kind == PENDING_END)]
                best = min(best, add(way, paid | TOKEN))
            bracket = subtree(h, space, 0x5D) if node else -1
            if bracket >= 0:
                best = min(best, add(_closing_cost(h, kind, bracket), paid))
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
    s = new_state()
    _set_fresh(h, s, FREE)
    for kind in range(UNFINISHED.size):
        s[PART] = UNFINISHED[kind]
        control[kind] = min(control[kind], cheapest(h, s, 0, COST))


@jit
def _fill_closers(h: Any) -> bool:
    """Fill what it costs to close a span that may end; tell whether a cost fell."""
    control = longs_at(h, CONTROL_COST)
    pending = child_of(h, 0, 0x5D)
    closer = subtree(h, child_of(h, 0, 0x20), 0x5D)
    fell = False
    for row in range(2):
        for first, node in ((PENDING_COST, pending), (CLOSER_COST, closer)):
            if node >= 0:
                way = _closing_cost(h, PENDING_END if row else PENDING, node)
                fell = fell or way < control[first + row]
                control[first + row] = way
    return fell


@jit
def _fill_positions(h: Any) -> None:
    """Fill the costs from all positions, and from the starts of each source's spans."""
    distance, control = longs_at(h, DISTANCE), longs_at(h, CONTROL_COST)
    distance[size_of(h, TEXT)] = NO_WAY
    for position in range(size_of(h, TEXT) - 1, -1, -1):
        distance[position] = _row_cost(h, position, False)
    starts, suffixes = ints_at(h, STARTS), ints_at(h, SUFFIXES)
    for source in range(h[SOURCES]):
        best = NO_WAY
        for row in range(starts[source], starts[source + 1]):
            best = min(best, within(_row_cost(h, suffixes[row], True), h[MAX_SPAN]))
        control[CONTROLS + 1 + h[SOURCES] + source] = best


@jit
def _fill_controls(h: Any) -> None:
    control = longs_at(h, CONTROL_COST)
    quotable, prefix_ok = bytes_at(h, QUOTABLE), bytes_at(h, PREFIX_OK)
    s = new_state()
    _set_fresh(h, s, NUMBER)
    for number in range(h[SOURCES], 0, -1):
        if prefix_ok[number] or quotable[number]:
            s[PART] = number
            control[CONTROLS + number] = cheapest(h, s, 0, COST)
    _set_fresh(h, s, SPACED)
    control[SPACED_COST] = cheapest(h, s, 0, COST)
    _set_fresh(h, s, OPENED)
    control[OPENED_COST] = cheapest(h, s, 0, COST)
    _set_fresh(h, s, FREE)
    s[CONTEXT] = BETWEEN if h[NAMES_QUOTED] else 0
    s[RUN] = h[MAX_FREE]
    s[QUOTES] = 1
    control[QUOTE_COST] = _opening_cost(h, s)


@jit
def _opening_cost(h: Any, s: Any) -> int:
    """Return the cheapest cost from free text, wherever it stands, through one quote."""
    blob, offsets = bytes_at(h, BLOB), ints_at(h, OFFSETS)
    ruled = h[NAMES_QUOTED] or h[NUMBERS_QUOTED] or h[COUNTING]
    table = PLAIN_OPENERS if ruled else OPENERS  # other letters may not be allowed everywhere
    t = new_state()
    best = NO_WAY
    for place in range(size_of(h, table)):
        token = ints_at(h, table)[place]
        copy_state(s, t)
        if step_bytes(h, t, blob, offsets[token], offsets[token + 1]):
            best = min(best, step_cost(h, t, QUOTING))
    return best


@jit
def _fill_run_costs(h: Any, word_digits: Any) -> bool:
    """Fill DIGIT_COST and WORD_COST, children before parents; tell whether a cost fell."""
    fell = False
    for words in range(2):
        table = WORD_COST if words else DIGIT_COST
        costs = ints_at(h, table)
        trie = ints_at(h, WORD_TRIE if words else DIGIT_TRIE)
        s = new_state()
        _set_fresh(h, s, FREE)
        if h[COUNTING]:
            s[COUNTED], s[RUN] = 1, 0  # there may be no word left but the one that is begun
        for node in range(size_of(h, table) - 1, 0, -1):
            s[WORD if words else DIGITS] = node
            if words:
                s[DIGITS] = word_digits[node]
                s[CONTEXT] = 0
            way = 0
            if not trie[4 * node + 3]:
                way = explore(h, s, 0, new_state(), COST, CONTINUING)
            tokens = FAR if way >> 32 else way & 0xFFFFFFFF
            fell = fell or tokens < costs[node]
            costs[node] = tokens
    return fell


@jit
def fill_distances(h: Any, word_digits: Any) -> None:
    """Fill DISTANCE, CONTROL_COST and the costs of runs, all of them without any way before.

    Costs fall from round to round until they are the least fixed point. One round is enough where
    no token closes a quote and opens another, and free text has no numbers and words to finish.
    """
    control, rows = longs_at(h, CONTROL_COST), size_of(h, CONTROL_COST)
    runs = size_of(h, WORD_COST) + size_of(h, DIGIT_COST) > 2
    before = np.empty(rows, np.int64)
    for turn in range(1 + CONTROLS + 2 * h[SOURCES]):
        for row in range(rows):
            before[row] = control[row]
        fell = _fill_run_costs(h, word_digits)
        _fill_characters(h)
        fell = _fill_closers(h) or fell
        if turn == 0 or fell or h[REOPENS]:
            _fill_positions(h)
        _fill_controls(h)
        if not (h[REOPENS] or runs):
            return
        same = not _fill_run_costs(h, word_digits)
        for row in range(rows):
            same = same and before[row] == control[row]
        if same:
            return
