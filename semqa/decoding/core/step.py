"""One byte, one transition: the automaton of the language, policy included.

Everything else follows from `step_byte`. It answers whether the text so far may still be part of
some answer *by its bytes*; whether the vocabulary can finish it within all limits is `alive.py`.
"""

from __future__ import annotations

from typing import Any

from semqa.decoding.characters import (
    ALNUM,
    CAPITAL,
    CLOSES_SENTENCE,
    DIGIT,
    ENDS_SENTENCE,
    SPACE,
)
from semqa.decoding.core.layout import (
    ANY_QUOTABLE,
    BARRIER,
    CLASSES,
    COUNTING,
    DIGIT_TRIE,
    FLAGS,
    MAX_FREE,
    MAX_SPAN,
    NAMES_QUOTED,
    NUMBERS_QUOTED,
    PREFIX_OK,
    QUOTABLE,
    SOURCES,
    STARTS,
    SUFFIXES,
    TEXT,
    UNLIMITED,
    WORD_TRIE,
    WORDS_LIMITED,
    bytes_at,
    ints_at,
    jit,
)
from semqa.decoding.core.state import (
    AFTER_END,
    AT_START,
    BETWEEN,
    CONTEXT,
    COUNTED,
    DEPTH,
    DIGITS,
    FREE,
    HIGH,
    IN_WORD,
    LOW,
    MODE,
    NOT_PENDING,
    NUMBER,
    OPENED,
    PART,
    PENDING,
    PENDING_END,
    QUOTES,
    RUN,
    SPACED,
    SPAN,
    WORD,
    WORDS,
)

__all__ = ["step_byte", "step_bytes"]

# Flags of a position, that is, of the cut before the byte that stands there.
MAY_START = 1  # a span may begin here
MAY_END = 2  # a span may end here
NEEDS_WORD = 4  # from here a span reaches its next possible end only by beginning another word
BEGAN_WORD = 8  # a character ends here that follows white space and is none
ENDED_SENTENCE = 16  # the character that ends here ends a sentence
ON_EDGE = 32  # characters meet here; if not set, the position is inside a character
LENGTH_SHIFT = 6  # two bits: length in bytes, less one, of the character that ends here


@jit
def trie_child(trie: Any, node: int, character: int) -> int:
    """Return the child of a node in a trie of the question, 0 for none."""
    first = trie[4 * node + 1]
    for child in range(first, first + trie[4 * node + 2]):
        if trie[4 * child] == character:
            return child
    return 0


@jit
def limit(value: int, spent: int) -> int:
    """Take words from a limit; no limit stays none."""
    return value if value == UNLIMITED else value - spent


@jit
def step_character(h: Any, s: Any, character: int) -> bool:
    """Go on by one character of free text that is no bracket."""
    kind = bytes_at(h, CLASSES)[character]
    if h[NUMBERS_QUOTED]:
        trie = ints_at(h, DIGIT_TRIE)
        if kind & DIGIT:
            s[DIGITS] = trie_child(trie, s[DIGITS], character)
            if s[DIGITS] == 0:
                return False
        elif s[DIGITS] and trie[4 * s[DIGITS] + 3] == 0:
            return False
        else:
            s[DIGITS] = 0
    if h[NAMES_QUOTED] and not _step_name(h, s, character, kind):
        return False
    if h[COUNTING]:
        if kind & SPACE:
            s[COUNTED] = 0
        elif kind & ALNUM and s[COUNTED] == 0:
            s[COUNTED] = 1
            if h[WORDS_LIMITED]:
                s[WORDS] = limit(s[WORDS], 1)
            s[RUN] = limit(s[RUN], 1)
            return s[WORDS] >= 0 and s[RUN] >= 0
    return True


@jit
def _step_name(h: Any, s: Any, character: int, kind: int) -> bool:
    trie = ints_at(h, WORD_TRIE)
    context = s[CONTEXT]
    if kind & ALNUM:
        if context == IN_WORD:
            if s[WORD]:
                s[WORD] = trie_child(trie, s[WORD], character)
                return s[WORD] != 0
            return True
        s[CONTEXT] = IN_WORD
        if kind & CAPITAL and context != AT_START:
            s[WORD] = trie_child(trie, 0, character)
            return s[WORD] != 0
        return True
    if s[WORD] and trie[4 * s[WORD] + 3] == 0:
        return False
    s[WORD] = 0
    if character == 10:
        s[CONTEXT] = AT_START
    elif context == AFTER_END:
        if kind & SPACE:
            s[CONTEXT] = AT_START
        elif kind & (ENDS_SENTENCE | CLOSES_SENTENCE) == 0:
            s[CONTEXT] = BETWEEN
    elif context != AT_START:
        s[CONTEXT] = AFTER_END if kind & ENDS_SENTENCE else BETWEEN
    return True


@jit
def runs_may_end(h: Any, s: Any) -> bool:
    """Tell whether the number and the word that free text is in may end here."""
    if s[DIGITS] and ints_at(h, DIGIT_TRIE)[4 * s[DIGITS] + 3] == 0:
        return False
    return not (s[WORD] and ints_at(h, WORD_TRIE)[4 * s[WORD] + 3] == 0)


@jit
def _step_free(h: Any, s: Any, byte: int) -> bool:
    part = s[PART]
    if part == 0:
        if byte < 0x80:
            if byte == 0x5B:
                return _open(h, s)
            return byte != 0x5D and step_character(h, s, byte)
        if byte < 0xC2 or byte > 0xF4:
            return False
        if byte < 0xE0:
            s[PART] = 1 << 21 | byte & 0x1F
        elif byte < 0xF0:
            s[PART] = 2 << 21 | byte & 0x0F
        else:
            s[PART] = 3 << 21 | byte & 0x07
        return True
    if byte & 0xC0 != 0x80:
        return False
    missing, bits = part >> 21, part & 0x1FFFFF
    # Neither longer than needed, nor a surrogate, nor above U+10FFFF (Unicode, table 3-7).
    if missing == 2 and ((bits == 0 and byte < 0xA0) or (bits == 0xD and byte > 0x9F)):
        return False
    if missing == 3 and ((bits == 0 and byte < 0x90) or (bits == 4 and byte > 0x8F)):
        return False
    bits = bits << 6 | byte & 0x3F
    if missing > 1:
        s[PART] = (missing - 1) << 21 | bits
        return True
    s[PART] = 0
    return step_character(h, s, bits)


@jit
def _open(h: Any, s: Any) -> bool:
    if not h[ANY_QUOTABLE] or s[WORDS] < 1 or not runs_may_end(h, s):
        return False
    s[MODE] = OPENED
    s[CONTEXT] = s[COUNTED] = s[DIGITS] = s[WORD] = 0
    s[RUN] = h[MAX_SPAN]
    return True


@jit
def close(h: Any, s: Any) -> None:
    """Go from the end of a span to the free text behind its bracket."""
    ended = s[CONTEXT] == PENDING_END
    s[MODE] = FREE
    s[PART] = s[LOW] = s[HIGH] = s[DEPTH] = s[COUNTED] = 0
    s[CONTEXT] = (AFTER_END if ended else BETWEEN) if h[NAMES_QUOTED] else 0
    s[RUN] = h[MAX_FREE]
    s[QUOTES] = max(0, s[QUOTES] - 1)


@jit
def narrow(h: Any, low: int, high: int, depth: int, byte: int) -> Any:
    """Return the part of an interval of suffixes in which `byte` stands at `depth`."""
    text, suffixes = bytes_at(h, TEXT), ints_at(h, SUFFIXES)
    if high - low == 1:
        found = text[suffixes[low] + depth] == byte
        return (low, high) if found else (low, low)
    left, right = low, high
    while left < right:
        middle = (left + right) >> 1
        if text[suffixes[middle] + depth] < byte:
            left = middle + 1
        else:
            right = middle
    begin, right = left, high
    while left < right:
        middle = (left + right) >> 1
        if text[suffixes[middle] + depth] <= byte:
            left = middle + 1
        else:
            right = middle
    return begin, left


@jit
def end_of_run(text: Any, suffixes: Any, low: int, high: int, depth: int, byte: int) -> int:
    """Return the first row from `low` on in which another byte than `byte` stands at `depth`."""
    if text[suffixes[high - 1] + depth] == byte:
        return high
    left, right = low + 1, high - 1
    while left < right:
        middle = (left + right) >> 1
        if text[suffixes[middle] + depth] == byte:
            left = middle + 1
        else:
            right = middle
    return left


@jit
def end_kind(h: Any, low: int, high: int, depth: int) -> int:
    """Tell whether a span of `depth` bytes may end at one of its positions: a PENDING_* value."""
    if depth == 0 or low == high:
        return NOT_PENDING
    flags, suffixes, text = bytes_at(h, FLAGS), ints_at(h, SUFFIXES), bytes_at(h, TEXT)
    flag = flags[suffixes[low] + depth]
    if flag & ON_EDGE == 0 or flag & NEEDS_WORD:
        return NOT_PENDING  # inside a character, or behind white space: so in every row
    row = low
    while row < high:
        place = suffixes[row] + depth
        if flags[place] & MAY_END:
            return PENDING_END if h[NAMES_QUOTED] and flag & ENDED_SENTENCE else PENDING
        # All that else decides is the character that follows: on to the next one.
        lead, end = text[place], high
        length = 1 if lead < 0x80 or lead >= 0xF8 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        for offset in range(length):
            end = end_of_run(text, suffixes, row, end, depth + offset, text[place + offset])
        row = end
    return NOT_PENDING


@jit
def begins_word(flag: int, depth: int) -> bool:
    """Tell whether the character that ends at a position of a span begins a word of the span."""
    if flag & ON_EDGE == 0:
        return False
    return flag & BEGAN_WORD != 0 or depth == (flag >> LENGTH_SHIFT) + 1


@jit
def _step_span(h: Any, s: Any, byte: int) -> bool:
    if byte == 0x5D:
        if s[CONTEXT] == NOT_PENDING:
            return False
        close(h, s)
        return True
    low, high, depth = s[LOW], s[HIGH], s[DEPTH]
    pending = NOT_PENDING
    if byte == 0x20:
        pending = end_kind(h, low, high, depth)
    if byte < BARRIER and low < high:
        low, high = narrow(h, low, high, depth, byte)
    else:
        low = high
    depth += 1
    if low < high and h[COUNTING]:
        # Rows of an interval agree on all bytes so far, hence on whole characters.
        if begins_word(bytes_at(h, FLAGS)[ints_at(h, SUFFIXES)[low] + depth], depth):
            s[WORDS] = limit(s[WORDS], 1)
            s[RUN] = limit(s[RUN], 1)
            if s[WORDS] < 0 or s[RUN] < 0:
                return False
    if low >= high:
        if pending == NOT_PENDING:
            return False
        low = high = depth = 0
    s[LOW], s[HIGH], s[DEPTH], s[CONTEXT] = low, high, depth, pending
    return True


@jit
def _step_number(h: Any, s: Any, byte: int) -> bool:
    if byte == 0x20 and s[MODE] == NUMBER:
        number = s[PART]
        if not bytes_at(h, QUOTABLE)[number]:
            return False
        starts = ints_at(h, STARTS)
        s[MODE], s[PART] = SPAN, number - 1
        s[LOW], s[HIGH] = starts[number - 1], starts[number]
        return True
    digit = byte - 0x30
    if digit < 0 or digit > 9:
        return False
    value = s[PART] * 10 + digit
    if value < 1 or value > h[SOURCES] or not bytes_at(h, PREFIX_OK)[value]:
        return False
    s[MODE], s[PART] = NUMBER, value
    return True


@jit
def step_byte(h: Any, s: Any, byte: int) -> bool:
    """Go on by one byte, in place; where it returns False the state is of no use any more."""
    mode = s[MODE]
    if mode == FREE:
        return _step_free(h, s, byte)
    if mode == SPAN:
        return _step_span(h, s, byte)
    if mode == OPENED:
        s[MODE] = SPACED
        return byte == 0x20
    return mode != 5 and _step_number(h, s, byte)


@jit
def step_bytes(h: Any, s: Any, data: Any, begin: int, end: int) -> bool:
    """Go on by ``data[begin:end]``, in place."""
    for place in range(begin, end):
        if not step_byte(h, s, data[place]):
            return False
    return True
