"""Find where spans may begin and end in the joined text of all sources.

The arrays, for a text of n bytes with m starts of spans, from N sources:

- ``characters``: uint32, the code points of all fields, with a bracket after each field;
  ``classes``: uint8[0x110000].
- ``text``: uint8[n], the characters in UTF-8 (three bytes for a surrogate), with barriers.
- ``flags``: uint8[n + 1], by position.
- ``needs``: int32[n + 1], where a span that begins at each position has a content word: the end of
  the first character of one at or after the position; NEVER if a barrier comes first.
- ``last``: int32[n], the last position at which a span from each position may end, or 0.
- ``starts``, ``places``: int32[N + 1]; source k has the rows ``starts[k]:starts[k + 1]`` and the
  bytes ``places[k]:places[k + 1]``.
- ``positions``: int32[m], where spans may begin, ascending; ``keys``: uint64[m], the eight bytes
  there as a number, with 0xFF for bytes at or after a barrier.
- ``suffixes``: int32[m], the positions of each source in the order of the following text.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.automaton.memory import *
from semqa.decoding.automaton.words import FUNCTION, word_child
from semqa.decoding.characters import ALNUM, COMBINING, DIGIT, SPACE, UNSPACED_SCRIPT

# Flags of a position, that is, of the cut before its byte.
MAY_START = 1  # a span may begin here
MAY_END = 2  # a span may end here
ON_EDGE = 4  # a character boundary; otherwise the position is inside a character

NEVER = 2**31 - 1
KEY_BYTES = 8
ONES = np.uint64(0xFF)


@jit
def cuts_word(characters: Any, classes: Any, at: int) -> bool:
    """Return whether a cut before a character splits a word, like `semqa.quotes.words.cuts_word`.

    Neither of the two characters may be a barrier. Brackets separate fields, so the characters
    around them may be read safely.
    """
    before, after = characters[at - 1], characters[at]
    was, kind = classes[before], classes[after]
    if kind & COMBINING or before == 0x200D or after == 0x200D:
        return True
    first = characters[at - 2] if at > 1 else np.uint32(0)
    behind = characters[at + 1] if at + 1 < characters.size else np.uint32(0)
    if kind & ALNUM:
        if was & (ALNUM | COMBINING):
            return (was | kind) & UNSPACED_SCRIPT == 0
        if before == 0x27 or before == 0x2019:
            return (first == 0x6E or first == 0x4E) and (after == 0x74 or after == 0x54)
        stop = before == 0x2E or before == 0x2C
        return stop and kind & DIGIT != 0 and classes[first] & DIGIT != 0
    if after == 0x2E or after == 0x2C:
        return was & DIGIT != 0 and classes[behind] & DIGIT != 0
    apostrophe = after == 0x27 or after == 0x2019
    return apostrophe and (before == 0x6E or before == 0x4E) and (behind == 0x74 or behind == 0x54)


@jit
def flag_positions(characters: Any, classes: Any, in_words: bool, text: Any, flags: Any) -> None:
    """Write the flags, and replace brackets and surrogates in the text with barriers.

    With `in_words`, spans may be cut inside words, numbers and characters.
    """
    position = 0
    before = 0  # class of the previous character; 0 for a barrier
    inside = False  # the previous character is in the same field and piece
    flags[0] = ON_EDGE
    for place in range(characters.size):
        character = characters[place]
        length = (
            1 if character < 0x80 else 2 if character < 0x800 else 3 if character < 0x10000 else 4
        )
        if 0xD800 <= character < 0xE000 or character == 0x5B or character == 0x5D:
            if inside and not before & SPACE:
                flags[position] |= MAY_END
            for byte in range(length):
                text[position + byte] = BARRIER
                flags[position + byte + 1] = 0
            position += length
            flags[position] = ON_EDGE
            before, inside = 0, False
            continue
        kind = classes[character]
        cut = in_words or not inside or not cuts_word(characters, classes, place)
        if not kind & SPACE and cut:
            flags[position] |= MAY_START
        if inside and not before & SPACE and cut:
            flags[position] |= MAY_END
        position += length
        flags[position] = ON_EDGE
        before, inside = kind, True


@jit
def find_needs(h: Any, characters: Any, classes: Any, text: Any, needs: Any) -> None:
    """Write `needs`; the handle has WORDS_TRIE."""
    trie = ints_at(h, WORDS_TRIE)
    content = np.zeros(text.size, np.bool_)
    position = begin = node = 0
    known = in_word = False
    for character in characters:
        length = (
            1 if character < 0x80 else 2 if character < 0x800 else 3 if character < 0x10000 else 4
        )
        if text[position] != BARRIER and classes[character] & ALNUM:
            if not in_word:
                begin, node, known, in_word = position, 0, True, True
            for byte in range(length):
                if known:
                    node = word_child(trie, node, text[position + byte])
                    known = node > 0
        elif in_word:
            content[begin:position] = not known or trie[4 * node] & FUNCTION == 0
            in_word = False
        position += length
    ahead, edge = NEVER, text.size
    needs[text.size] = NEVER
    for place in range(text.size - 1, -1, -1):
        if text[place] & 0xC0 == 0x80:
            continue  # inside a character
        if text[place] == BARRIER:
            ahead = NEVER
        elif content[place]:
            ahead = edge
        needs[place:edge] = ahead
        edge = place


@jit
def find_ends(text: Any, flags: Any, needs: Any, begin: int, end: int, last: Any) -> int:
    """Write `last` for the bytes from `begin` to `end`, of which the last one is a barrier.

    Bytes of the text with no possible end of a span after them become barriers. The result is the
    largest number of bytes from a position to the first end of a valid span.
    """
    longest = 0
    final = following = 0  # the last and the first end before the next barrier
    first = 0  # the first end after the next content word
    for place in range(end - 1, begin - 1, -1):
        if text[place] == BARRIER:
            final = following = 0
            last[place - begin] = 0
            continue
        if flags[place + 1] & MAY_END:
            following = place + 1
            if final == 0:
                final = following
        if needs[place] == place + 1:
            first = following
        last[place - begin] = final if needs[place] <= final else 0
        if final == 0:
            text[place] = BARRIER
        elif needs[place] <= final:
            longest = max(longest, first - place)
    return longest


@jit
def use_text(
    h: Any, source: int, low: int, high: int, depth: int, left: Any, ends: Any, span: Any
) -> None:
    """Remove every quotable occurrence of a quote's text from a source (numbered from 0).

    The rows `low` to `high` of SUFFIXES begin with the quote, which has `depth` bytes; `span` has
    the bytes of the source. Writes `left`, uint8[n], the text with barriers in place of quoted
    text, and `ends` (`memory.ENDS`).
    """
    suffixes, starts = ints_at(h, SUFFIXES), ints_at(h, STARTS)
    begin, end = span[0], span[1]
    count = end - begin
    marks = np.zeros(count, np.bool_)
    for row in range(low, high):
        if may_end_at(h, row, depth):
            marks[suffixes[row] - begin] = True
    run = 0
    for place in range(count):
        run = depth if marks[place] else run - 1
        if run > 0:
            left[begin + place] = BARRIER
    last = np.empty(count, np.int32)
    flags, needs = bytes_at(h, FLAGS), ints_at(h, NEEDS)
    find_ends(left, flags, needs, begin, end, last)
    for row in range(starts[source], starts[source + 1]):
        ends[row] = last[suffixes[row] - begin]


@jit
def may_end_at(h: Any, row: int, depth: int) -> bool:
    """Return whether a span from a row may end after `depth` bytes."""
    suffix = ints_at(h, SUFFIXES)[row]
    place = suffix + depth
    return (
        bytes_at(h, FLAGS)[place] & MAY_END != 0
        and place >= ints_at(h, NEEDS)[suffix]
        and place <= ints_at(h, ENDS)[row]
    )


@jit
def find_starts(
    text: Any, flags: Any, last: Any, ends: Any, allowed: Any, starts: Any, places: Any
) -> Any:
    """Return `positions` and `keys`; write `starts` and `places`.

    `ends` has the end of each source in characters, `allowed` which sources may be quoted.
    """
    positions = np.empty(text.size, np.int32)
    count = position = character = 0
    for source in range(ends.size):
        while character < ends[source]:
            if allowed[source] and flags[position] & MAY_START and last[position]:
                positions[count] = position
                count += 1
            position += 1
            character += flags[position] & ON_EDGE != 0
        starts[source + 1] = count
        places[source + 1] = position
    keys = np.empty(count, np.uint64)
    for row in range(count):
        place, key, open_end = positions[row], np.uint64(0), True
        for offset in range(KEY_BYTES):
            # The last byte of the text is a barrier, so no byte after it is read.
            open_end = open_end and text[place + offset] < BARRIER
            key = key << np.uint64(8) | (np.uint64(text[place + offset]) if open_end else ONES)
        keys[row] = key
    return positions[:count].copy(), keys


@jit
def order_starts(
    text: Any, positions: Any, keys: Any, order: Any, starts: Any, suffixes: Any
) -> bool:
    """Write `suffixes`, sorted up to the next barrier; False if it took too much work.

    `order` is that of the keys. Starts with equal keys are sorted by insertion, which is slow if
    the text repeats itself.
    """
    count = positions.size
    owner, ranks = np.empty(count, np.int32), np.empty(count, np.int32)
    for source in range(starts.size - 1):
        owner[starts[source] : starts[source + 1]] = source
    place = starts[:-1].copy()
    for row in order:
        ranks[place[owner[row]]] = row
        place[owner[row]] += 1
    work = 64 * count
    for source in range(starts.size - 1):
        for here in range(starts[source], starts[source + 1]):
            row = ranks[here]
            suffix, key, hole = positions[row], keys[row], here
            if key & ONES != ONES:
                while hole > starts[source] and keys[ranks[hole - 1]] == key:
                    other, offset = suffixes[hole - 1], KEY_BYTES
                    while text[suffix + offset] == text[other + offset] < BARRIER:
                        offset += 1
                    work -= offset
                    if work < 0:
                        return False
                    if text[other + offset] <= text[suffix + offset]:
                        break
                    suffixes[hole] = other
                    hole -= 1
            suffixes[hole] = suffix
    return True


@jit
def pick_starts(order: Any, positions: Any, starts: Any, suffixes: Any) -> None:
    """Write `suffixes`, given `order`: the suffix array of the whole text."""
    owner = np.full(order.size, -1, np.int32)
    for source in range(starts.size - 1):
        for row in range(starts[source], starts[source + 1]):
            owner[positions[row]] = source
    place = starts[:-1].copy()
    for position in order:
        source = owner[position]
        if source >= 0:
            suffixes[place[source]] = position
            place[source] += 1
