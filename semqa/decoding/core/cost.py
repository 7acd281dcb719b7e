"""What it takes to finish: tokens, and words, from a state to the end of the answer.

A cost is one int64, ``words << 32 | tokens``, so that comparing costs compares words first. Words
stay zero where the policy does not count them. Costs to positions and control states lead to free
text; what comes after that is `rest`. Unfinished characters are in `unfinished.py`; `alive.py` puts
all of it together.
"""

from __future__ import annotations

from typing import Any

from semqa.decoding.core.layout import (
    CONTROL_COST,
    COSTS_WORDS,
    DIGIT_COST,
    DISTANCE,
    FAR,
    FLAGS,
    SOURCES,
    SUFFIXES,
    TEXT,
    WORD_COST,
    bytes_at,
    ints_at,
    jit,
    longs_at,
)
from semqa.decoding.core.state import (
    CONTEXT,
    DEPTH,
    DIGITS,
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
    WORD,
)
from semqa.decoding.core.step import NEEDS_WORD

__all__ = [
    "CLOSER_COST",
    "CONTROLS",
    "NO_WAY",
    "OPENED_COST",
    "PENDING_COST",
    "QUOTE_COST",
    "SPACED_COST",
    "TOKEN",
    "add",
    "quote_way",
    "quotes_after",
    "rest",
    "row_way",
    "run_cost",
    "unfinished_first",
    "within",
    "words_needed",
]

NO_WAY = FAR << 32 | FAR
TOKEN = 1

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
def run_cost(h: Any, s: Any) -> int:
    """Cost of finishing the number or the word of the question that free text is in."""
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
def quote_way(h: Any, s: Any) -> int:
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
