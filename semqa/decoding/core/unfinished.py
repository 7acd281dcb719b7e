"""What it takes to finish the character that free text is in the middle of."""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.characters import HAS_OTHER, HAS_SMALL
from semqa.decoding.core.cost import NO_WAY, TOKEN, add, quote_way, quotes_after, rest, run_cost
from semqa.decoding.core.descend import ANY, next_end
from semqa.decoding.core.layout import (
    BLOCKS,
    CONTROL_COST,
    COUNTING,
    DIGIT_TRIE,
    FILTERED,
    HAS_DISTANCES,
    LONGEST,
    NAMES_QUOTED,
    NUMBERS_QUOTED,
    UNLIMITED,
    WORD_TRIE,
    bytes_at,
    ints_at,
    jit,
    longs_at,
)
from semqa.decoding.core.state import (
    COUNTED,
    DIGITS,
    FREE,
    MODE,
    PART,
    QUOTES,
    RUN,
    STATE_WIDTH,
    TOKENS,
    WORD,
    WORDS,
    copy_state,
    new_state,
    row_of,
)
from semqa.decoding.core.step import runs_may_end, step_character

__all__ = ["MOST_UNFINISHED", "character_cost", "cost_by_bytes"]

MOST_UNFINISHED = 256
"""How many unfinished characters are followed before giving a way up."""


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
def character_cost(h: Any, s: Any) -> int:
    """Cost of finishing the character that free text is in the middle of."""
    scarce = h[COUNTING] and s[COUNTED] == 0 and min(s[WORDS] - s[QUOTES], s[RUN]) < 1
    # Without all bytes, what a character costs in words is not known from its first bytes.
    depends = h[NUMBERS_QUOTED] or h[NAMES_QUOTED] or (h[FILTERED] and h[COUNTING])
    if not (depends or scarce):
        return longs_at(h, CONTROL_COST)[character_class(s[PART])] if h[HAS_DISTANCES] else TOKEN
    return _cost_by_tokens(h, s) if h[HAS_DISTANCES] else cost_by_bytes(h, s)


@jit
def _spent(s: Any, t: Any) -> int:
    """Return the words that lie between two states, as a cost."""
    return 0 if s[WORDS] == UNLIMITED else (s[WORDS] - t[WORDS]) << 32


@jit
def cost_by_bytes(h: Any, s: Any) -> int:
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
    return add(run_cost(h, t), missing + _spent(s, t))


@jit
def _cost_by_tokens(h: Any, s: Any) -> int:
    """Finish a character by whatever tokens there are, breadth first."""
    # Where every byte is a token, a way byte by byte is the most it takes.
    best = NO_WAY if h[FILTERED] else cost_by_bytes(h, s)
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
                best = min(best, add(quote_way(h, t), cost + _spent(s, t)))
            elif t[PART] == 0:
                best = min(best, add(run_cost(h, t), cost + _spent(s, t)))
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
