"""From characters to positions: where spans may begin and end in the joined text of all sources."""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.automaton.memory import *
from semqa.decoding.automaton.words import FUNCTION, word_child
from semqa.decoding.characters import ALNUM, COMBINING, DIGIT, SPACE, UNSPACED_SCRIPT

# Flags of a position, that is, of the cut before the byte that stands there.
MAY_START = 1  # a span may begin here
MAY_END = 2  # a span may end here
ON_EDGE = 4  # characters meet here; if not set, the position is inside a character

NEVER = 2**31 - 1
KEY_BYTES = 8
ONES = np.uint64(0xFF)


@jit
def cuts_word(characters: Any, classes: Any, at: int) -> bool:
    """Return whether a boundary before a character splits a word: `semqa.quotes.words.cuts_word`.

    Brackets stand between fields, so no look at a neighbour leaves the field. Neither of the two
    characters may be a barrier.
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
    """Classify every position; brackets and surrogates become barriers in the text.

    Args:
        characters: uint32, the code points of all fields, a bracket after each field.
        classes: uint8[0x110000].
        in_words: spans may be cut inside words, numbers and characters.
        text: uint8[n], the same in UTF-8 (surrogates too, three bytes each).
        flags: uint8[n + 1], written.
    """
    position = 0
    before = 0  # class of the character before; a barrier has none
    inside = False  # a character stands before, in the same field and piece
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
    """Write from where on a span that begins at each position holds part of a content word.

    Args:
        h: the handle, for the words.
        characters: uint32, as for `flag_positions`.
        classes: uint8[0x110000].
        text: uint8[n], with barriers.
        needs: int32[n + 1], written: the end of the first character, at or after the position, of a
            word that is no function word; NEVER if a barrier comes first.
    """
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
    """Write the last position at which a span may end, and prune what leads to none.

    Args:
        text: uint8[n]; bytes from which no end of a span is ahead become barriers.
        flags: uint8[n + 1].
        needs: int32[n + 1].
        begin: the first byte to look at.
        end: behind the last one, which is a barrier.
        last: int32[end - begin], written for each position: 0 if no span from there may end.

    Returns:
        The most bytes from a position to the first end of a span that holds a content word.
    """
    longest = 0
    final = following = 0  # the last end up to the next barrier, and the first
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
    """Take the text of a quote out of a source, wherever it could be quoted.

    Args:
        h: the handle of the view in which the quote was made.
        source: from 0.
        low: first row of SUFFIXES whose text begins with that of the quote.
        high: behind the last one.
        depth: bytes of the quote.
        left: uint8[n], the text with barriers where something was quoted; written.
        ends: int32[m], see `memory.ENDS`; written.
        span: int32[2], the first byte of the source, and the one behind its last.
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
    """Tell whether a span from a row may end when it has so many bytes."""
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
    """Collect the positions where spans may begin, source by source, and what follows them.

    Args:
        text: uint8[n].
        flags: uint8[n + 1].
        last: int32[n], see `find_ends`.
        ends: int64[N], where each source ends, in characters.
        allowed: uint8[N], which sources may be quoted.
        starts: int32[N + 1], written: those of source k are at ``starts[k]:starts[k + 1]``.
        places: int32[N + 1], written: the bytes of source k are at ``places[k]:places[k + 1]``.

    Returns:
        The positions (int32[m], ascending), and the first bytes at each as one number (uint64[m]),
        all ones where a barrier cuts them off.
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
            # The last byte of the text is a barrier, so that nothing is read behind it.
            open_end = open_end and text[place + offset] < BARRIER
            key = key << np.uint64(8) | (np.uint64(text[place + offset]) if open_end else ONES)
        keys[row] = key
    return positions[:count].copy(), keys


@jit
def order_starts(
    text: Any, positions: Any, keys: Any, order: Any, starts: Any, suffixes: Any
) -> bool:
    """Sort the starts of each source by the text that follows, up to the next barrier.

    Starts with equal keys are sorted by insertion; that takes long where a text repeats itself.

    Args:
        text: uint8[n].
        positions: int32[m], see `find_starts`.
        keys: uint64[m].
        order: int64[m], the order of the keys.
        starts: int32[N + 1].
        suffixes: int32[m], written.

    Returns:
        Whether it was done with little work; if not, `suffixes` is of no use.
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
    """Take the starts of spans from a suffix array, by source, in order.

    Args:
        order: int32[n], the suffix array of the text.
        positions: int32[m], see `find_starts`.
        starts: int32[N + 1].
        suffixes: int32[m], written.
    """
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
