"""Compute the mask of a state: the tokens that may come next.

FREE_MASKS has precomputed masks of free text for when tokens are plentiful. With glue there is a mask
for each combination of gap kind, words left (up to the most in one token) and punctuation marks left.
Without glue there is one mask.
"""

from __future__ import annotations

from typing import Any

from semqa.decoding.automaton.explore import (
    MARK,
    allow,
    allow_node,
    child_of,
    explore,
    forbid,
    has_tokens,
    is_allowed,
    list_spans,
    try_token,
)
from semqa.decoding.automaton.finish import CLOSING_COST, cost_of, exact, row_cost
from semqa.decoding.automaton.memory import *
from semqa.decoding.automaton.step import (
    HEAD_WORDS,
    MOST_RUN_MARKS,
    MOST_RUN_WORDS,
    accepts,
    any_alive,
    at_word_end,
    close,
    leave_word,
    may_begin_word,
    may_end,
    step_byte,
)

SLACK = 4
"""One more than the most tokens to the end of an unfinished character."""


@jit
def fill_mask(h: Any, s: Any, out: Any) -> bool:
    """Write the mask of a state into ``out`` (int32[W]).

    Returns:
        Whether tokens that close a quote and open another must be tried with the tables of the next
        view; they are not in the mask.
    """
    for word in range(h[WIDTH]):
        out[word] = 0
    mode = s[MODE]
    if mode == FREE:
        _fill_free(h, s, out)
    elif mode == SPAN:
        _fill_span(h, s, out)
    elif mode == OPENED:
        _fill_opened(h, s, out)
    elif mode == SPACED:
        _explore_digits(h, s, 0, out)
    elif mode == NUMBER:
        _fill_number(h, s, out)
    elif mode == ENDED:
        _allow_ends(h, out)
    else:
        _follow_sentence(h, s, s[PART], out)
        if accepts(h, s):
            _allow_ends(h, out)
    return mode <= SPAN and _reopen(h, s, out)


@jit
def _allow_ends(h: Any, out: Any) -> None:
    for place in range(size_of(h, END_IDS)):
        allow(out, ints_at(h, END_IDS)[place])


@jit
def _explore_digits(h: Any, s: Any, node: int, out: Any) -> None:
    """Allow the tokens below a node that continue with a digit."""
    t = new_state()
    for digit in range(0x30, 0x3A):
        child = child_of(h, node, digit)
        copy_state(s, t)
        if child >= 0 and step_byte(h, t, digit):
            explore(h, t, child, out, MARK, False)


@jit
def _fill_opened(h: Any, s: Any, out: Any) -> None:
    space = child_of(h, 0, 0x20)
    if space < 0:
        return
    t = new_state()
    copy_state(s, t)
    t[MODE] = SPACED
    if has_tokens(h, space) and _fits_after(h, t):
        allow_node(h, out, space)
    _explore_digits(h, t, space, out)


@jit
def _fits_after(h: Any, t: Any) -> bool:
    """Return whether an answer can be finished from a state after spending one more token."""
    return not exact(h, t) or _is_paid(t, cost_of(h, t))


@jit
def _is_paid(s: Any, cost: int) -> bool:
    """Return whether a cost fits the budget after one more token."""
    return cost < FAR and cost < s[TOKENS]


@jit
def _fill_number(h: Any, s: Any, out: Any) -> None:
    _explore_digits(h, s, 0, out)
    t, places = new_state(), ints_at(h, BEGINNINGS_AT)
    copy_state(s, t)
    if step_byte(h, t, 0x20):
        source = t[PART]
        _allow_spans(h, t, ints_at(h, BEGINNINGS), places[source], places[source + 1], out)


@jit
def _follow_sentence(h: Any, s: Any, at: int, out: Any) -> None:
    """Allow the tokens that continue the abstention sentence from `at` (`memory.SENTENCE_AT`)."""
    length, sentence = size_of(h, SENTENCE), bytes_at(h, SENTENCE)
    t = new_state()
    copy_state(s, t)
    for spaced in range(2 if at == 1 else 1):
        node, place = 0, max(at, 2) - 2
        if spaced:
            node = child_of(h, 0, 0x20)
            _allow_at(h, t, node, 2, out)
        while node >= 0 and place < length:
            node = child_of(h, node, sentence[place])
            place += 1
            _allow_at(h, t, node, place + 2, out)


@jit
def _allow_at(h: Any, t: Any, node: int, at: int, out: Any) -> None:
    if node >= 0 and has_tokens(h, node):
        t[MODE] = ABSTAINING
        t[PART] = at
        if _fits_after(h, t):
            allow_node(h, out, node)


@jit
def _fill_free(h: Any, s: Any, out: Any) -> None:
    if exact(h, s) and (h[POOR] or _is_tight(h, s)):
        explore(h, s, 0, out, MARK, False)
    elif not h[GLUE]:
        if s[PART]:
            explore(h, s, 0, out, MARK, False)
        else:
            masks = ints_at(h, FREE_MASKS)
            for word in range(h[WIDTH]):
                out[word] = masks[word]
            _fit_openers(h, s, out)
    else:
        t = new_state()
        copy_state(s, t)
        if s[NODE]:
            explore(h, s, 0, out, MARK, True)
            if at_word_end(h, s):
                leave_word(h, t)
                _fill_gap(h, t, out)
        else:
            _fill_gap(h, t, out)
    if s[SENTENCE_AT] and h[GLUE]:  # otherwise the abstention is ordinary free text
        _follow_sentence(h, s, s[SENTENCE_AT], out)
    if s[TOKENS] >= 1 and accepts(h, s):
        _allow_ends(h, out)


@jit
def _is_tight(h: Any, s: Any) -> bool:
    """Return whether so few tokens are left that each next token must be checked."""
    slack = h[LONGEST_WORD] + SLACK if h[GLUE] else SLACK
    t = new_state()
    copy_state(s, t)
    t[SENTENCE_AT] = 0
    return s[TOKENS] - 1 < cost_of(h, t) + slack


@jit
def _fit_openers(h: Any, s: Any, out: Any) -> None:
    """Clear openers that lead nowhere, and try tokens that write more of a mark than its bracket."""
    t = new_state()
    blob, offsets = bytes_at(h, BLOB), ints_at(h, OFFSETS)
    if not h[ANY_QUOTABLE] or exact(h, s):
        openers = ints_at(h, OPENERS)
        for place in range(size_of(h, OPENERS)):
            token = openers[place]
            if is_allowed(out, token) and not try_token(h, s, token, blob, offsets, t):
                forbid(out, token)
    deep = ints_at(h, DEEP_OPENERS)
    for place in range(size_of(h, DEEP_OPENERS)):
        if try_token(h, s, deep[place], blob, offsets, t):
            allow(out, deep[place])


@jit
def _fill_gap(h: Any, s: Any, out: Any) -> None:
    """Allow the tokens that may come next in a gap of glue."""
    words, marks, gap = s[WORDS], s[MARKS], s[GAP]
    if not may_begin_word(h, s):
        words = 0
    most, width = h[MOST_WORDS], h[WIDTH]
    row = (gap * (most + 1) + min(words, most)) * (MOST_RUN_MARKS + 1) + marks
    masks = ints_at(h, FREE_MASKS)
    for word in range(width):
        out[word] |= masks[row * width + word]
    extra = ints_at(h, EXTRA)
    for place in range(0, size_of(h, EXTRA), 4):
        if extra[place + 1] >> gap & 1 and extra[place + 2] <= words and extra[place + 3] <= marks:
            allow(out, extra[place])
    written = MOST_RUN_WORDS - s[WORDS]
    if written < HEAD_WORDS and size_of(h, HEADS):
        # A token of several words may complete a run beginning that is not allowed.
        t = new_state()
        blob, offsets, tokens = bytes_at(h, BLOB), ints_at(h, OFFSETS), ints_at(h, LONG_TOKENS)
        for place in range(size_of(h, LONG_TOKENS)):
            token = tokens[place]
            if is_allowed(out, token) and not try_token(h, s, token, blob, offsets, t):
                forbid(out, token)
    _fit_openers(h, s, out)


@jit
def _reopen(h: Any, s: Any, out: Any) -> bool:
    """Allow the tokens that close the quote and open another, if this view can decide it.

    Returns:
        Whether some token must be tried in the view without the quoted text.
    """
    blob, offsets, tokens = bytes_at(h, BLOB), ints_at(h, OFFSETS), ints_at(h, REOPENERS)
    t, left = new_state(), False
    for place in range(size_of(h, REOPENERS)):
        token = tokens[place]
        copy_state(s, t)
        at, end, fits, source = offsets[token], offsets[token + 1], True, -1
        while fits and at < end and not (source >= 0 and t[MODE] == OPENED):
            fits = step_byte(h, t, blob[at])
            at += 1
            if fits and t[MODE] == CLOSED:
                source = t[PART]
                close(h, t)
        if not fits or source < 0:
            continue
        if at < end or exact(h, s) or h[GLUE] or not _others_left(h, source):
            left = True
        else:
            allow(out, token)
    return left


@jit
def _others_left(h: Any, source: int) -> bool:
    """Return whether another source can be quoted."""
    for number in range(1, h[SOURCES] + 1):
        if bytes_at(h, QUOTABLE)[number] and number != source + 1:
            return True
    return False


@jit
def _fill_span(h: Any, s: Any, out: Any) -> None:
    low, high, depth = s[LOW], s[HIGH], s[DEPTH]
    if low < high:
        spans = list_spans(h, 0, low, high, depth)
        _allow_spans(h, s, spans, 0, spans.size >> 2, out)
        if may_end(h, low, high, depth):
            _allow_list(h, s, out, CLOSERS)
    if s[CLOSING_LOW] < s[CLOSING_HIGH]:
        _allow_list(h, s, out, ENDERS)


@jit
def _allow_list(h: Any, s: Any, out: Any, table: int) -> None:
    """Allow the tokens of a table; if few tokens are left, only those that can be finished."""
    t, checked = new_state(), exact(h, s)
    blob, offsets, tokens = bytes_at(h, BLOB), ints_at(h, OFFSETS), ints_at(h, table)
    for place in range(size_of(h, table)):
        if not checked or try_token(h, s, tokens[place], blob, offsets, t):
            allow(out, tokens[place])


@jit
def _close_below(h: Any, s: Any, node: int, out: Any) -> None:
    """Allow the tokens that end a span after more of its bytes or with the closing space."""
    space = child_of(h, node, 0x20)
    if has_tokens(h, space):
        closing = ints_at(h, CONTROL)[CLOSING_COST] if exact(h, s) else 0
        if not exact(h, s) or _is_paid(s, closing + 1):
            allow_node(h, out, space)
    bracket = child_of(h, space, 0x5D) if node else -1
    if bracket >= 0:
        t = new_state()
        copy_state(s, t)
        t[MODE] = CLOSED
        explore(h, t, bracket, out, MARK, False)


@jit
def _may_stop(h: Any, s: Any, row: int, depth: int) -> bool:
    """Return whether a token that ends at a place of a span leaves enough budget."""
    return _is_paid(s, row_cost(h, row, depth) + 1)


@jit
def _allow_spans(h: Any, s: Any, spans: Any, first: int, last: int, out: Any) -> None:
    """Allow the tokens in a list that continue the span, see `explore.list_spans`.

    Tokens that close the span at once (those that begin with ``" ]"`` or ``"]"``) are not in it.
    """
    source, checked = s[PART], exact(h, s)
    for place in range(4 * first, 4 * last, 4):
        token, low, high, depth = spans[place], spans[place + 1], spans[place + 2], spans[place + 3]
        if token < 0:
            if may_end(h, low, high, depth):
                _close_below(h, s, -1 - token, out)
            continue
        fits = not checked and any_alive(h, source, low, high, depth)
        row = low
        while checked and not fits and row < high:
            fits = _may_stop(h, s, row, depth)
            row += 1
        if fits:
            allow(out, token)
