"""What it takes to finish: tokens, and words, from a state to the end of the answer.

A cost is one int64, ``words << 32 | tokens``, so that comparing costs compares words first. Words
stay zero where the policy does not count them. A state is alive when its cost fits what it has left;
the tail of a cheapest way is a cheapest way, so a mask over living states is never empty.

Costs to positions and control states lead to free text; what comes after that is `rest`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.characters import HAS_OTHER, HAS_SMALL
from semqa.decoding.core.descend import ANY, next_end
from semqa.decoding.core.layout import (
    BLOCKS,
    CONTROL_COST,
    COST_BOUND,
    COSTS_WORDS,
    COUNTING,
    DIGIT_COST,
    DIGIT_TRIE,
    DISTANCE,
    FAR,
    FILTERED,
    FLAGS,
    HAS_DISTANCES,
    LONGEST,
    NAMES_QUOTED,
    NUMBERS_QUOTED,
    SOURCES,
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
    STATE_WIDTH,
    TOKENS,
    WORD,
    WORDS,
    copy_state,
    new_state,
    row_of,
)
from semqa.decoding.core.step import NEEDS_WORD, runs_may_end, step_character

__all__ = ["alive", "cost_of", "fits"]

NO_WAY = FAR << 32 | FAR
TOKEN = 1

MOST_UNFINISHED = 256
"""How many unfinished characters are followed before giving a way up."""

# Rows of CONTROL_COST. Unfinished characters come first, by what the next byte may be.
OPENED_COST = 7
SPACED_COST = 8
PENDING_COST = 9  # and 10, where the span ends a sentence
CLOSER_COST = 11  # and 12: from a position where the span may end, closing with one token
QUOTE_COST = 13  # from free text through one whole quote
CONTROLS = 14  # then NUMBER 0..N, then "[ k " of source 0..N-1


@jit
def add(left: int, right: int) -> int:
    """Add two costs; no way stays no way."""
    return NO_WAY if left >= NO_WAY or right >= NO_WAY else left + right


@jit
def character_class(part: int) -> int:
    """Return the row of CONTROL_COST for an unfinished character: what its next byte may be."""
    missing, bits = part >> 21, part & 0x1FFFFF
    if missing == 1:
        return 0
    if missing == 2:
        return 2 if bits == 0 else 3 if bits == 0xD else 1
    return 5 if bits == 0 else 6 if bits == 4 else 4


@jit
def _run_cost(h: Any, s: Any) -> int:
    if s[WORD]:
        tokens = ints_at(h, WORD_COST)[s[WORD]]
    elif s[DIGITS]:
        tokens = ints_at(h, DIGIT_COST)[s[DIGITS]]
    else:
        return 0
    return NO_WAY if tokens >= FAR else tokens


@jit
def words_needed(h: Any, row: int, depth: int) -> int:
    """Return how many words a span must still begin before it may end."""
    suffix = ints_at(h, SUFFIXES)[row]
    flag = bytes_at(h, FLAGS)[suffix + depth]
    if flag & NEEDS_WORD:
        return 1
    return 1 if unfinished_first(h, suffix, depth) else 0


@jit
def unfinished_first(h: Any, suffix: int, depth: int) -> bool:
    """Tell whether a span of `depth` bytes is still within its first character."""
    lead = bytes_at(h, TEXT)[suffix]
    length = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    return depth < length


@jit
def row_way(h: Any, row: int, depth: int) -> int:
    """Cost from one place of a span, past its first byte, to free text."""
    suffix = ints_at(h, SUFFIXES)[row]
    way = longs_at(h, DISTANCE)[suffix + depth]
    if (
        h[COSTS_WORDS]
        and unfinished_first(h, suffix, depth)
        and bytes_at(h, FLAGS)[suffix + depth] & NEEDS_WORD == 0
    ):
        way = add(way, 1 << 32)
    return way


@jit
def _quote_way(h: Any, s: Any) -> int:
    """Cost from inside a quote to free text."""
    mode = s[MODE]
    control = longs_at(h, CONTROL_COST)
    if mode == OPENED:
        return control[OPENED_COST]
    if mode == SPACED:
        return control[SPACED_COST]
    if mode == NUMBER:
        return control[CONTROLS + s[PART]]
    if s[DEPTH] == 0 and s[CONTEXT] == NOT_PENDING:
        return control[CONTROLS + 1 + h[SOURCES] + s[PART]]
    best = NO_WAY
    if s[CONTEXT] != NOT_PENDING:
        best = within(control[PENDING_COST + (s[CONTEXT] == PENDING_END)], s[RUN])
    for row in range(s[LOW], s[HIGH]):
        best = min(best, within(row_way(h, row, s[DEPTH]), s[RUN]))
    return best


@jit
def within(way: int, words: int) -> int:
    """Return a way, or no way if it takes more words than a span has left.

    `fits` asks the same of every state of a span. It counts the words after the closing bracket too,
    where the vocabulary has no bracket without words: some ways are lost, but none leads nowhere.
    """
    return way if way >> 32 <= words else NO_WAY


@jit
def _character_cost(h: Any, s: Any) -> int:
    """Cost of finishing the character that free text is in the middle of."""
    scarce = h[COUNTING] and s[COUNTED] == 0 and min(s[WORDS] - s[QUOTES], s[RUN]) < 1
    # Without all bytes, what a character costs in words is not known from its first bytes.
    depends = h[NUMBERS_QUOTED] or h[NAMES_QUOTED] or (h[FILTERED] and h[COUNTING])
    if not (depends or scarce):
        return longs_at(h, CONTROL_COST)[character_class(s[PART])] if h[HAS_DISTANCES] else TOKEN
    return _cost_by_tokens(h, s) if h[HAS_DISTANCES] else _cost_by_bytes(h, s)


@jit
def _spent(s: Any, t: Any) -> int:
    """Return the words that lie between two states, as a cost."""
    return 0 if s[WORDS] == UNLIMITED else (s[WORDS] - t[WORDS]) << 32


@jit
def _cost_by_bytes(h: Any, s: Any) -> int:
    """Finish a character byte by byte, where every byte is a token and none is scarce."""
    part = s[PART]
    missing, bits = part >> 21, part & 0x1FFFFF
    low, high = bits << 6 * missing, (bits + 1) << 6 * missing
    kind = character_class(part)
    if kind == 2:
        low = 0x800
    elif kind == 3:
        high = 0xD800
    elif kind == 5:
        low = 0x10000
    elif kind == 6:
        high = 0x110000
    present = 0
    if runs_may_end(h, s):
        blocks = bytes_at(h, BLOCKS)
        for block in range(low >> 6, high >> 6):
            if blocks[block] & HAS_OTHER:
                return missing  # what is not alphanumeric ends any run and begins no word
            present |= blocks[block]
    best = NO_WAY
    if s[WORD] or s[DIGITS]:
        # Only the question's own characters go on; of a range they are few.
        trie = ints_at(h, WORD_TRIE if s[WORD] else DIGIT_TRIE)
        node = s[WORD] if s[WORD] else s[DIGITS]
        for child in range(trie[4 * node + 1], trie[4 * node + 1] + trie[4 * node + 2]):
            if low <= trie[4 * child] < high:
                best = min(best, _cost_of_character(h, s, trie[4 * child], missing))
    if s[WORD] == 0 and present & HAS_SMALL:
        word = h[COUNTING] and s[COUNTED] == 0
        if not word or min(s[WORDS], s[RUN]) >= 1:
            best = min(best, missing + ((1 << 32) if word and s[WORDS] != UNLIMITED else 0))
    elif s[WORD] == 0 and present == 0 and runs_may_end(h, s):
        for character in range(low, high):  # blocks of capitals and digits, of which there are few
            best = min(best, _cost_of_character(h, s, character, missing))
    return best


@jit
def _cost_of_character(h: Any, s: Any, character: int, missing: int) -> int:
    """Cost of finishing with one character, of which so many bytes are missing."""
    t = new_state()
    copy_state(s, t)
    t[PART] = 0
    if not step_character(h, t, character):
        return NO_WAY
    return add(_run_cost(h, t), missing + _spent(s, t))


@jit
def _cost_by_tokens(h: Any, s: Any) -> int:
    """Finish a character by whatever tokens there are, breadth first."""
    # Where every byte is a token, a way byte by byte is the most it takes.
    best = NO_WAY if h[FILTERED] else _cost_by_bytes(h, s)
    if best >= NO_WAY and not h[FILTERED]:
        return NO_WAY
    depth = h[LONGEST] + 2
    states, path = np.empty((depth, STATE_WIDTH), np.int32), np.empty((depth, 3), np.int32)
    queue = np.empty((MOST_UNFINISHED, STATE_WIDTH), np.int32)
    paid = np.zeros(MOST_UNFINISHED, np.int64)
    copy_state(s, row_of(queue, 0))
    size, place = 1, 0
    most = s[TOKENS] - (rest(h, quotes_after(s)) & 0xFFFFFFFF)  # longer ways are of no use
    while place < size and paid[place] + TOKEN < best and paid[place] < most:
        copy_state(row_of(queue, place), row_of(states, 0))
        path[0, 0], path[0, 1], path[0, 2] = 0, 0, 1
        level = next_end(h, states, path, 0, ANY)
        while level > 0:
            t = row_of(states, level)
            cost = paid[place] + TOKEN
            if t[MODE] != FREE:
                best = min(best, add(_quote_way(h, t), cost + _spent(s, t)))
            elif t[PART] == 0:
                best = min(best, add(_run_cost(h, t), cost + _spent(s, t)))
            elif size < MOST_UNFINISHED and not _known(queue, size, t):
                copy_state(t, row_of(queue, size))
                paid[size] = cost
                size += 1
            if best == paid[place] + TOKEN:
                return best  # what comes later in the queue cannot be cheaper
            level = next_end(h, states, path, level, ANY)
        place += 1
    return best


@jit
def _known(queue: Any, size: int, t: Any) -> bool:
    for row in range(size):
        same = True
        for field in range(STATE_WIDTH):
            same = same and queue[row, field] == t[field]
        if same:
            return True
    return False


@jit
def way_of(h: Any, s: Any) -> int:
    """Cost from a state to free text between characters, words and numbers; needs the tables."""
    if s[MODE] == FREE:
        return _character_cost(h, s) if s[PART] else _run_cost(h, s)
    return 0 if s[MODE] == ENDED else _quote_way(h, s)


@jit
def rest(h: Any, quotes: int) -> int:
    """Cost from free text to the end, with so many quotes still to make."""
    if quotes == 0:
        return TOKEN
    one = longs_at(h, CONTROL_COST)[QUOTE_COST]
    tokens, words = (one & 0xFFFFFFFF) * quotes, (one >> 32) * quotes
    return NO_WAY if one >= NO_WAY or max(tokens, words) >= FAR else (words << 32 | tokens) + TOKEN


@jit
def quotes_after(s: Any) -> int:
    """Return how many quotes are still to be made once the open one, if any, is closed."""
    return s[QUOTES] if s[MODE] == FREE else max(0, s[QUOTES] - 1)


@jit
def cost_of(h: Any, s: Any) -> int:
    """Cost from a state to the end of the answer; needs the tables."""
    if s[MODE] == ENDED:
        return 0
    return add(way_of(h, s), rest(h, quotes_after(s)))


@jit
def fits(h: Any, s: Any, way: int, quotes: int, used: int) -> bool:
    """Tell whether a way from inside a quote fits what a state has left.

    Args:
        way: its cost to free text.
        quotes: quotes to make after this one.
        used: words that were begun since `s`.
    """
    if way >= NO_WAY:
        return False
    total = add(way, rest(h, quotes))
    if total >= NO_WAY or total & 0xFFFFFFFF > s[TOKENS]:
        return False
    if not h[COUNTING]:
        return True
    return (total >> 32) + used <= s[WORDS] and (way >> 32) + used <= s[RUN]


@jit
def _free_fits(h: Any, s: Any, way: int, quotes: int) -> bool:
    """Tell whether a way through free text, and what follows, fits what a state has left."""
    total = add(way, rest(h, quotes))
    if total >= NO_WAY or total & 0xFFFFFFFF > s[TOKENS]:
        return False
    return not h[COUNTING] or total >> 32 <= s[WORDS]


@jit
def exact(h: Any, s: Any) -> bool:
    """Tell whether tokens are so scarce, or the vocabulary so poor, that costs must be looked up."""
    return h[FILTERED] != 0 or s[TOKENS] <= h[COST_BOUND]


@jit
def alive(h: Any, s: Any) -> bool:
    """Tell whether an answer that has come to this state can be finished within its limits."""
    mode = s[MODE]
    if mode == ENDED:
        return True
    quotes = quotes_after(s)
    if exact(h, s):
        if mode == FREE:
            # Byte by byte is one way to finish a character, and quickly found.
            if s[PART] and not h[FILTERED] and _free_fits(h, s, _cost_by_bytes(h, s), quotes):
                return True
            return _free_fits(h, s, way_of(h, s), quotes)
        if mode != SPAN:
            return fits(h, s, way_of(h, s), quotes, 0)
        if s[DEPTH] == 0 or s[CONTEXT] != NOT_PENDING:
            low_high = s[LOW], s[HIGH]
            s[LOW] = s[HIGH] = 0
            way = way_of(h, s)
            s[LOW], s[HIGH] = low_high
            if fits(h, s, way, quotes, 0):
                return True
            if s[DEPTH] == 0:
                return False
        for row in range(s[LOW], s[HIGH]):
            if fits(h, s, row_way(h, row, s[DEPTH]), quotes, 0):
                return True
        return False
    if mode == FREE:
        way = _character_cost(h, s) if s[PART] else _run_cost(h, s)
        return way < NO_WAY and (not h[COUNTING] or s[WORDS] >= quotes + (way >> 32))
    if not h[COUNTING]:
        return True
    if mode != SPAN or (s[DEPTH] == 0 and s[CONTEXT] == NOT_PENDING):
        return s[RUN] >= 1 and s[WORDS] >= quotes + 1
    if s[CONTEXT] != NOT_PENDING:
        return s[WORDS] >= quotes
    for row in range(s[LOW], s[HIGH]):
        needed = words_needed(h, row, s[DEPTH])
        if needed <= s[RUN] and needed + quotes <= s[WORDS]:
            return True
    return False
