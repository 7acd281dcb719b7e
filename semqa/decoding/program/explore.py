"""All states of a constraint, and what it costs to finish from each."""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.core.layout import (
    ANY_QUOTABLE,
    BLOB,
    FAR,
    OFFSETS,
    bytes_at,
    ints_at,
    jit,
)
from semqa.decoding.core.pointers import ints_of
from semqa.decoding.core.state import (
    CONTEXT,
    DEPTH,
    FREE,
    HIGH,
    LOW,
    MODE,
    NOT_PENDING,
    OPENED,
    PART,
    PENDING,
    RUN,
    SPAN,
    TOKENS,
    WORDS,
    clear_state,
    new_state,
)
from semqa.decoding.core.step import end_kind, step_byte
from semqa.decoding.core.unfinished import character_class
from semqa.decoding.program.edges import find_edges
from semqa.decoding.program.runs import find_run_edges, is_in_run, run_base, run_may_end
from semqa.decoding.program.states import (
    ENDED_STATE,
    FIRST_OWN,
    FULL,
    OPENED_STATE,
    UNFINISHED_STATES,
    number_of,
    state_of,
)
from semqa.decoding.program.unfinished import kind_of
from semqa.decoding.program.workspace import (
    COUNT,
    FIRST_STATE,
    FOUND,
    SAMPLES,
    ints_in,
    longs_in,
)

__all__ = ["explore_all", "fill_bases", "settle_costs"]

BASES = 11
"""One for each state of free text, numbered alike; then what may close a span; then, where numbers
must be quoted, one for each kind of unfinished characters that may become digits."""
CLOSERS_BASE = 8  # with " ]", behind a place where it may end
ENDERS_BASE = 9  # with "]", behind the space that follows such a place
BOTH_BASE = 10

UNFINISHED = np.array(
    [1 << 21 | 5, 2 << 21 | 4, 2 << 21, 2 << 21 | 13, 3 << 21 | 1, 3 << 21, 3 << 21 | 4]
)
"""One unfinished character of each class, see `core.unfinished.character_class`; one that does not
become a digit, if the class has any."""
IN_QUOTE, ENDS_RUN = 1, 2
"""What a row says of its state before its cost is known; ENDS_RUN: in a number that may end here."""
FEW = 40
UNTRIED = -9


@jit
def _set_base(base: int, samples: Any, s: Any) -> None:
    """Make the state whose tokens a base holds, CLOSERS_BASE behind its space."""
    clear_state(s)
    s[WORDS] = s[RUN] = s[TOKENS] = 2**31 - 1
    if base >= BASES:
        s[PART] = samples[base - BASES]
    elif base >= CLOSERS_BASE:
        s[MODE], s[CONTEXT] = SPAN, PENDING
    elif base:
        s[PART] = UNFINISHED[base - UNFINISHED_STATES]


@jit
def fill_bases(h: Any, loose: Any, kinds: Any, unfinished: Any, samples: Any, targets: Any) -> Any:
    """Fill what all constraints over a vocabulary share, under one rule for numbers.

    Args:
        h: a handle of the vocabulary under which some source may be quoted, without a question.
        loose: the same where free text may hold numbers.
        kinds: uint8[V], see `core.layout.KIND`.
        unfinished: int32[P, 2], see `unfinished`; none where numbers are free.
        samples: int32[K], likewise.
        targets: int16[BASES + K, V], written: the state behind each token; -1 where the token is not
            allowed, or goes past a bracket that opens a quote.

    Returns:
        int32[pairs, 3]: a base and a token that may be allowed nevertheless, and why: 0 if it goes
        past such a bracket, 1 if it holds numbers that a question might.
    """
    s = new_state()
    deep = np.empty((BASES * 256, 3), np.int32)
    count = 0
    for base in range(BASES + samples.size):
        for token in range(kinds.size):
            targets[base, token] = -1
            if kinds[token] != 1 or base == BOTH_BASE:
                continue
            left = _read(h, base, samples, token, s)
            why = 0
            if left < 0 and samples.size:
                why = 1
                left = 1 + _read(loose, base, samples, token, s)
            if left < 0 or (why and left == 0):
                continue
            if left > 0:
                if count == deep.shape[0]:
                    grown = np.empty((2 * count, 3), np.int32)
                    grown[:count] = deep
                    deep = grown
                deep[count, 0], deep[count, 1], deep[count, 2] = base, token, why
                count += 1
            elif s[MODE] == OPENED:
                targets[base, token] = OPENED_STATE
            elif s[PART] == 0:
                targets[base, token] = 0
            else:
                kind = kind_of(ints_of(unfinished, 0), unfinished.shape[0], s[PART])
                state = FIRST_OWN + kind
                if kind < 0:
                    state = UNFINISHED_STATES + character_class(s[PART])
                targets[base, token] = state
    for token in range(kinds.size):
        both = targets[CLOSERS_BASE, token]
        targets[BOTH_BASE, token] = both if both >= 0 else targets[ENDERS_BASE, token]
    return deep[:count].copy()


@jit
def _read(h: Any, base: int, samples: Any, token: int, s: Any) -> int:
    """Read a token from a base into `s`, up to a bracket that opens a quote.

    Returns:
        How many bytes lie behind such a bracket, -1 where the token is not allowed.
    """
    blob, offsets = bytes_at(h, BLOB), ints_at(h, OFFSETS)
    begin, end = offsets[token], offsets[token + 1]
    _set_base(base, samples, s)
    if base == CLOSERS_BASE:
        if blob[begin] != 0x20 or end - begin < 2:
            return -1
        begin += 1
    if s[MODE] == SPAN and blob[begin] != 0x5D:
        return -1
    while begin < end and s[MODE] != OPENED:
        if not step_byte(h, s, blob[begin]):
            return -1
        begin += 1
    return end - begin


@jit
def _past_bracket(h: Any, w: Any, base: int, token: int) -> int:
    """Return the state behind a token of `fill_bases`' pairs; -1 if it is not allowed."""
    s = new_state()
    _set_base(base, ints_in(w, SAMPLES), s)
    blob, offsets = bytes_at(h, BLOB), ints_at(h, OFFSETS)
    begin = offsets[token] + (base == CLOSERS_BASE)
    for place in range(begin, offsets[token + 1]):
        if not step_byte(h, s, blob[place]):
            return -1
    return number_of(h, w, s)


@jit
def _sort(found: Any, size: int) -> None:
    """Sort a list, by insertion where it is short: by heap, for all else is long to compile."""
    if size > FEW:
        for last in range(size // 2 - 1, -1, -1):
            _sift(found, last, size)
        for last in range(size - 1, 0, -1):
            found[0], found[last] = found[last], found[0]
            _sift(found, 0, last)
        return
    for place in range(1, size):
        moved, hole = found[place], place
        while hole and found[hole - 1] > moved:
            found[hole] = found[hole - 1]
            hole -= 1
        found[hole] = moved


@jit
def _sift(found: Any, place: int, size: int) -> None:
    moved = found[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and found[child + 1] > found[child]:
            child += 1
        if found[child] <= moved:
            break
        found[place] = found[child]
        place = child
    found[place] = moved


@jit
def _base_of(h: Any, s: Any) -> int:
    """Return the base of a state, -1 if it has none."""
    if s[MODE] == FREE:
        return 0
    if s[MODE] != SPAN:
        return -1
    ends = end_kind(h, s[LOW], s[HIGH], s[DEPTH]) != NOT_PENDING
    if s[CONTEXT] != NOT_PENDING:
        return BOTH_BASE if ends else ENDERS_BASE
    return CLOSERS_BASE if ends else -1


@jit
def explore_all(
    h: Any,
    w: Any,
    below: Any,
    path: Any,
    deep: Any,
    openers: Any,
    near: Any,
    most_states: int,
    most_edges: int,
) -> Any:
    """Find all states and the edges between them.

    Args:
        h: the handle of a constraint without limits on words, over a vocabulary with all bytes.
        w: the workspace, see `workspace`.
        below: part of it.
        path: likewise.
        deep: int32[pairs, 2], bases and tokens that may be allowed there, see `fill_bases`.
        openers: int32[pairs, 2], the same for tokens that end with the bracket.
        near: int32[pairs, 2], the same for tokens that end in what may become a digit.
        most_states: how many there may be.
        most_edges: how many there may be.

    Returns:
        rows int32[n, 4] (start, count, base or -1, IN_QUOTE or ENDS_RUN), tokens int32[E] and
        targets int32[E]; rows is empty where there was too much.
    """
    s, found = state_of(w, OPENED_STATE), longs_in(w, FOUND)
    clear_state(s)
    s[MODE] = OPENED
    s[WORDS] = s[RUN] = s[TOKENS] = 2**31 - 1
    nothing = np.empty((0, 4), np.int32)
    rows = np.empty((most_states, 4), np.int32)
    tokens, targets = np.empty(4096, np.int32), np.empty(4096, np.int32)
    behind = np.full(deep.shape[0], UNTRIED, np.int64)
    number = edges = 0
    while number < w[COUNT]:
        size = flag = 0
        base = -1
        shared = number < OPENED_STATE or FIRST_OWN <= number < w[FIRST_STATE]
        if shared:
            base = number if number < OPENED_STATE else BASES + number - FIRST_OWN
            if not h[ANY_QUOTABLE]:
                for pair in range(openers.shape[0]):
                    if openers[pair, 0] == base:
                        found[size] = np.int64(openers[pair, 1]) << 32 | 0xFFFFFFFF
                        size += 1
        elif is_in_run(w, number):
            base = run_base(w, number, BASES)
            size = find_run_edges(h, w, number, base, deep, near, openers)
            if base == 0 and run_may_end(h, w, number):
                flag = ENDS_RUN
        elif number != ENDED_STATE:
            flag = IN_QUOTE
            if h[ANY_QUOTABLE]:
                size = find_edges(h, w, below, path, number)
                base = _base_of(h, state_of(w, number))
        if base >= 0 and size >= 0 and not is_in_run(w, number):
            first = CLOSERS_BASE if base == BOTH_BASE else base
            last = ENDERS_BASE if base == BOTH_BASE else base
            size = _add_deep(h, w, first, last, deep, behind, size)
        if size < 0 or edges + size > most_edges:
            return nothing, tokens, targets
        _sort(found, size)
        if edges + size > tokens.size:
            more = max(2 * tokens.size, edges + size)
            tokens, targets = _grown(tokens, edges, more), _grown(targets, edges, more)
        for place in range(size):
            tokens[edges + place] = found[place] >> 32
            targets[edges + place] = np.int32(found[place] & 0xFFFFFFFF)
        if is_in_run(w, number) and not run_may_end(h, w, number):
            base = -1  # nothing follows but digits
        rows[number, 0], rows[number, 1], rows[number, 2] = edges, size, base
        rows[number, 3] = flag
        edges += size
        number += 1
    return rows[:number].copy(), tokens[:edges].copy(), targets[:edges].copy()


@jit
def _add_deep(h: Any, w: Any, first: int, last: int, deep: Any, behind: Any, size: int) -> int:
    """Add what goes past an opening bracket from some bases; return how many edges there are now.

    Args:
        h: the handle.
        w: the workspace.
        first: the first of the bases.
        last: the last.
        deep: int32[pairs, 2], by base.
        behind: int64[pairs], what each leads to, or UNTRIED; written.
        size: edges so far.

    Returns:
        -1 where there were too many states.
    """
    found = longs_in(w, FOUND)
    pair = 0
    while pair < deep.shape[0] and deep[pair, 0] < first:
        pair += 1
    while pair < deep.shape[0] and deep[pair, 0] <= last:
        if behind[pair] == UNTRIED:
            behind[pair] = _past_bracket(h, w, deep[pair, 0], deep[pair, 1])
            if behind[pair] == FULL:
                return -1
        if behind[pair] >= 0:
            found[size] = np.int64(deep[pair, 1]) << 32 | behind[pair]
            size += 1
        pair += 1
    return size


@jit
def _grown(array: Any, size: int, room: int) -> Any:
    grown = np.empty(room, np.int32)
    grown[:size] = array[:size]
    return grown


@jit
def settle_costs(
    rows: Any, tokens: Any, targets: Any, traits: Any, order: Any, reaches: Any, first: int
) -> int:
    """Write into each row what it costs to reach free text: ``cost << 1 | in a quote``.

    Args:
        rows: int32[n, 4], see `explore_all`.
        tokens: int32[E], likewise.
        targets: int32[E], likewise.
        traits: uint8[V], how many quotes a token closes.
        order: int64[n], states, those of later places first: there lies what spans lead to.
        reaches: int64[BASES + K], bit s: some token of the base leads to shared state s.
        first: the first state that is not shared.

    Returns:
        Tokens from free text through one quote, FAR where none can be made.
    """
    costs = np.full(rows.shape[0], FAR, np.int64)
    costs[0] = costs[ENDED_STATE] = 0
    for number in range(rows.shape[0]):
        if rows[number, 3] == ENDS_RUN:
            costs[number] = 0
    falling = True
    while falling:
        falling = False
        for number in order:
            best = costs[number]
            for edge in range(rows[number, 0], rows[number, 0] + rows[number, 1]):
                if targets[edge] >= 0:
                    best = min(best, costs[targets[edge]] + 1)
            if rows[number, 2] >= 0:
                for state in range(first):
                    if reaches[rows[number, 2]] >> state & 1:
                        best = min(best, costs[state] + 1)
            if best < costs[number]:
                costs[number] = best
                falling = True
    for number in range(rows.shape[0]):
        rows[number, 3] = min(costs[number], FAR - 1) << 1 | rows[number, 3] & IN_QUOTE
    quote = FAR
    if reaches[0] >> OPENED_STATE & 1:
        quote = min(quote, costs[OPENED_STATE] + 1)
    for edge in range(rows[0, 0], rows[0, 0] + rows[0, 1]):
        target = targets[edge]
        if target >= 0 and (rows[target, 3] & IN_QUOTE or traits[tokens[edge]]):
            quote = min(quote, costs[target] + 1)
    return quote
