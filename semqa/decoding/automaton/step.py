"""The transitions of the automaton, byte by byte (``docs/constraint.md``).

`step_byte` defines the language: it tells whether the bytes so far are a prefix of some answer.
Whether the tokens left are enough to finish it is decided in `finish.py`.
"""

from __future__ import annotations

from typing import Any

from semqa.decoding.automaton.memory import *
from semqa.decoding.automaton.passages import MAY_END, may_end_at
from semqa.decoding.automaton.words import FREE_WORD, LEADS_ON, word_child

MOST_RUN_WORDS = 10
"""Maximum number of words in a run of glue."""
MOST_RUN_MARKS = 3
"""Maximum number of punctuation marks in a run of glue."""
HEAD_WORDS = 3
"""A run with more words than this must not begin with the same words, this many, as an earlier run."""


@jit
def begin_run(h: Any, s: Any, gap: int) -> None:
    """Begin a run of free text."""
    s[MODE] = FREE
    s[PART] = s[LOW] = s[HIGH] = s[DEPTH] = s[CLOSING_LOW] = s[CLOSING_HIGH] = 0
    s[NODE] = s[HEAD] = s[HEAD_2] = s[HEAD_3] = 0
    s[GAP] = gap if h[GLUE] else 0
    s[WORDS] = MOST_RUN_WORDS if h[GLUE] else 0
    s[MARKS] = MOST_RUN_MARKS if h[GLUE] else 0


@jit
def _open(h: Any, s: Any) -> bool:
    if not h[ANY_QUOTABLE]:
        return False
    s[MODE] = OPENED
    s[NODE] = s[GAP] = s[WORDS] = s[MARKS] = 0
    return True


@jit
def mark_kind(byte: int) -> int:
    """Return the gap kind after a punctuation mark of glue; -1 for other bytes."""
    if byte == 0x28 or byte == 0x22 or byte == 0x2D or byte == 0x2F:  # ( " - /
        return AFTER_OPEN
    if byte == 0x2C or byte == 0x2E or byte == 0x3A or byte == 0x3B:  # , . : ;
        return AFTER_SHUT
    if byte == 0x21 or byte == 0x3F or byte == 0x29:  # ! ? )
        return AFTER_SHUT
    return -1


@jit
def at_word_end(h: Any, s: Any) -> bool:
    """Return whether the state is between words of glue, or a word may end here."""
    return s[NODE] == 0 or ints_at(h, WORDS_TRIE)[4 * s[NODE]] & FREE_WORD != 0


@jit
def leave_word(h: Any, s: Any) -> None:
    """Move from the end of a word to the gap after it."""
    word = MOST_RUN_WORDS - s[WORDS]
    if word <= HEAD_WORDS:
        s[HEAD + word - 1] = ints_at(h, WORDS_TRIE)[4 * s[NODE] + 3]
    s[NODE] = 0
    s[GAP] = AFTER_SHUT


@jit
def may_begin_word(h: Any, s: Any) -> bool:
    """Return whether the current run may continue with another word."""
    if s[WORDS] < 1:
        return False
    if MOST_RUN_WORDS - s[WORDS] != HEAD_WORDS:
        return True
    heads = ints_at(h, HEADS)
    for place in range(0, size_of(h, HEADS), 3):
        if (
            heads[place] == s[HEAD]
            and heads[place + 1] == s[HEAD_2]
            and heads[place + 2] == s[HEAD_3]
        ):
            return False
    return True


@jit
def _step_glue(h: Any, s: Any, byte: int) -> bool:
    trie = ints_at(h, WORDS_TRIE)
    if s[NODE]:
        child = word_child(trie, s[NODE], byte)
        if child:
            s[NODE] = child
            return trie[4 * child] & LEADS_ON != 0
        if not trie[4 * s[NODE]] & FREE_WORD:
            return False
        leave_word(h, s)
    if byte == 0x20 or byte == 0x0A:
        before, s[GAP] = s[GAP], AFTER_SPACE
        return before != AFTER_SPACE
    if byte == 0x5B:
        return s[GAP] != AFTER_SHUT and _open(h, s)
    kind = mark_kind(byte)
    if kind >= 0:
        s[GAP] = kind
        s[MARKS] -= 1
        return s[MARKS] >= 0
    if s[GAP] == AFTER_SHUT or not may_begin_word(h, s):
        return False
    child = word_child(trie, 0, byte)
    s[NODE] = child
    s[GAP] = 0
    s[WORDS] -= 1
    return child != 0 and trie[4 * child] & LEADS_ON != 0


# Classes of incomplete UTF-8 characters, by the bytes that may follow.
ONE_MORE, TWO_MORE, THREE_MORE, AFTER_E0, AFTER_ED, AFTER_F0, AFTER_F4 = 1, 2, 3, 4, 5, 6, 7
UNFINISHED_KINDS = 8


@jit
def _step_any(h: Any, s: Any, byte: int) -> bool:
    part = s[PART]
    if part == 0:
        if byte == 0x5B:
            return _open(h, s)
        if byte == 0x5D:
            return False
        if byte < 0x80:
            return True
        if byte < 0xC2 or byte > 0xF4:
            return False
        if byte < 0xE0:
            s[PART] = ONE_MORE
        elif byte < 0xF0:
            s[PART] = AFTER_E0 if byte == 0xE0 else AFTER_ED if byte == 0xED else TWO_MORE
        else:
            s[PART] = AFTER_F0 if byte == 0xF0 else AFTER_F4 if byte == 0xF4 else THREE_MORE
        return True
    low, high, after = 0x80, 0xBF, ONE_MORE
    if part == ONE_MORE:
        after = 0
    elif part == AFTER_E0:
        low = 0xA0
    elif part == AFTER_ED:
        high = 0x9F
    elif part != TWO_MORE:
        after = TWO_MORE
        if part == AFTER_F0:
            low = 0x90
        elif part == AFTER_F4:
            high = 0x8F
    s[PART] = after
    return low <= byte <= high


@jit
def _step_sentence(h: Any, at: int, byte: int) -> int:
    """Return the place in the abstention sentence after a byte (`memory.SENTENCE_AT`), or 0.

    1 is the beginning of the answer, and 2 that of the sentence, which may follow one space.
    """
    if at == 1:
        if byte == 0x20:
            return 2
        at = 2
    if at - 2 < size_of(h, SENTENCE) and bytes_at(h, SENTENCE)[at - 2] == byte:
        return at + 1
    return 0


@jit
def _step_free(h: Any, s: Any, byte: int) -> bool:
    sentence = _step_sentence(h, s[SENTENCE_AT], byte) if s[SENTENCE_AT] else 0
    s[SENTENCE_AT] = 0
    fits = _step_glue(h, s, byte) if h[GLUE] else _step_any(h, s, byte)
    if fits:
        s[SENTENCE_AT] = sentence if s[MODE] == FREE else 0
        return True
    if sentence == 0:
        return False
    s[MODE] = ABSTAINING
    s[PART] = sentence
    s[NODE] = s[GAP] = s[WORDS] = s[MARKS] = s[HEAD] = s[HEAD_2] = s[HEAD_3] = 0
    return True


@jit
def narrow(h: Any, low: int, high: int, depth: int, byte: int) -> Any:
    """Return the part of an interval of suffixes that has `byte` at `depth`."""
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
    """Return the first row from `low` on that has a byte other than `byte` at `depth`."""
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
def any_alive(h: Any, source: int, low: int, high: int, depth: int) -> bool:
    """Return whether a span of `depth` bytes can still end, at any of its places."""
    if low >= high or not bytes_at(h, TOUCHED)[source]:
        return low < high
    suffixes, ends = ints_at(h, SUFFIXES), ints_at(h, ENDS)
    for row in range(low, high):
        if ends[row] >= suffixes[row] + depth and ends[row]:
            return True
    return False


@jit
def may_end(h: Any, low: int, high: int, depth: int) -> bool:
    """Return whether a span of `depth` bytes may end here, at any of its places."""
    if depth == 0:
        return False
    flags, suffixes, text = bytes_at(h, FLAGS), ints_at(h, SUFFIXES), bytes_at(h, TEXT)
    row = low
    while row < high:
        place = suffixes[row] + depth
        if flags[place] & MAY_END:
            if may_end_at(h, row, depth):
                return True
            row += 1
            continue
        if high - row < 8:
            row += 1
            continue
        # The next character forbids an end: skip all rows with this character.
        lead, end = text[place], high
        length = 1 if lead < 0x80 or lead >= 0xF8 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        for offset in range(length):
            end = end_of_run(text, suffixes, row, end, depth + offset, text[place + offset])
        row = end
    return False


@jit
def _step_span(h: Any, s: Any, byte: int) -> bool:
    low, high, depth = s[LOW], s[HIGH], s[DEPTH]
    if byte == 0x5D:
        s[MODE] = CLOSED
        return s[CLOSING_LOW] < s[CLOSING_HIGH]
    closing = byte == 0x20 and low < high and may_end(h, low, high, depth)
    s[CLOSING_LOW], s[CLOSING_HIGH] = (low, high) if closing else (0, 0)
    if byte < BARRIER and low < high:
        low, high = narrow(h, low, high, depth, byte)
    else:
        low = high
    if not any_alive(h, s[PART], low, high, depth + 1):
        low = high = 0
    s[LOW], s[HIGH], s[DEPTH] = low, high, depth + 1
    return low < high or closing


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
    """Advance a state by one byte, in place; if it returns False, the state is invalid.

    After the closing bracket of a quote the mode is CLOSED; see `close`.
    """
    mode = s[MODE]
    if mode == FREE:
        return _step_free(h, s, byte)
    if mode == SPAN:
        return _step_span(h, s, byte)
    if mode == OPENED:
        s[MODE] = SPACED
        return byte == 0x20
    if mode == SPACED or mode == NUMBER:
        return _step_number(h, s, byte)
    if mode == ABSTAINING:
        s[PART] = _step_sentence(h, s[PART], byte)
        return s[PART] != 0
    return False


@jit
def close(h: Any, s: Any) -> None:
    """Move from a closing bracket to the free text after it.

    The handle should be that of the view without the quoted text. Until another quote opens, this
    matters only for runs that begin like an earlier one.
    """
    s[QUOTED] = 1
    begin_run(h, s, AFTER_SHUT)


@jit
def accepts(h: Any, s: Any) -> bool:
    """Return whether the answer may end here."""
    if s[MODE] == ABSTAINING:
        return s[PART] - 2 == size_of(h, SENTENCE)
    if s[MODE] != FREE:
        return False
    if s[SENTENCE_AT] and s[SENTENCE_AT] - 2 == size_of(h, SENTENCE):
        return True
    return s[QUOTED] != 0 and s[PART] == 0 and at_word_end(h, s)
