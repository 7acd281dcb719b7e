"""From characters to positions: where spans may begin and end in the joined text of all sources."""

from __future__ import annotations

from typing import Any

import numpy as np

from semqa.decoding.characters import ALNUM, ENDS_SENTENCE, SPACE
from semqa.decoding.core.layout import BARRIER, jit
from semqa.decoding.core.step import (
    BEGAN_WORD,
    ENDED_SENTENCE,
    LENGTH_SHIFT,
    MAY_END,
    MAY_START,
    NEEDS_WORD,
    ON_EDGE,
)

__all__ = ["find_starts", "flag_positions", "order_starts", "pick_starts", "prune_dead_tails"]

KEY_BYTES = 8
ONES = np.uint64(0xFF)


@jit
def flag_positions(characters: Any, classes: Any, in_words: bool, text: Any, flags: Any) -> None:
    """Classify every position; brackets and surrogates become barriers in the text.

    Args:
        characters: uint32, the code points of all fields, a bracket after each field.
        classes: uint8[0x110000].
        in_words: spans may be cut inside of words.
        text: uint8[n], the same in UTF-8 (surrogates too, three bytes each).
        flags: uint8[n + 1], written.
    """
    position = 0
    before, needed = 0, False  # class of the character before; a barrier has none
    inside = False  # a character stands before, in the same field and piece
    flags[0] = ON_EDGE
    for character in characters:
        length = (
            1 if character < 0x80 else 2 if character < 0x800 else 3 if character < 0x10000 else 4
        )
        if 0xD800 <= character < 0xE000 or character == 0x5B or character == 0x5D:
            for byte in range(length):
                text[position + byte] = BARRIER
                flags[position + byte + 1] = 0
            position += length
            flags[position] = ON_EDGE
            before, inside = 0, False
            continue
        kind = classes[character]
        cut = in_words or not (kind & ALNUM and before & ALNUM)
        if not kind & SPACE and cut:
            flags[position] |= MAY_START
        if inside and not before & SPACE and cut:
            flags[position] |= MAY_END
        began = kind & SPACE == 0 and (before & SPACE) != 0
        needed = kind & SPACE != 0 or began
        for byte in range(1, length):
            flags[position + byte] = NEEDS_WORD if needed else 0
        position += length
        flag = ON_EDGE | (length - 1) << LENGTH_SHIFT
        if kind & SPACE:
            flag |= NEEDS_WORD
        if began:
            flag |= BEGAN_WORD
        if kind & ENDS_SENTENCE:
            flag |= ENDED_SENTENCE
        flags[position] = flag
        before, inside = kind, True
    _end_before_barriers(text, flags)


@jit
def _end_before_barriers(text: Any, flags: Any) -> None:
    """A span may end before a barrier, if no white space stands there."""
    for position in range(1, text.size):
        if text[position] == BARRIER and text[position - 1] != BARRIER:
            if flags[position] & NEEDS_WORD == 0:
                flags[position] |= MAY_END


@jit
def prune_dead_tails(text: Any, flags: Any) -> int:
    """Turn what leads to no end of a span into barriers; return the longest way to an end.

    Whatever the vocabulary: where no end is ahead, none can be reached.

    Returns:
        The most bytes from a living position to the next end.
    """
    longest = 0
    ahead = 1 << 30
    for position in range(text.size - 1, -1, -1):
        if flags[position + 1] & MAY_END:
            ahead = 0
        if text[position] == BARRIER:
            ahead = 1 << 30
            continue
        ahead += 1
        if ahead >= 1 << 30:
            text[position] = BARRIER
            ahead = 1 << 30
        else:
            longest = max(longest, ahead)
    return longest


@jit
def find_starts(text: Any, flags: Any, ends: Any, allowed: Any, starts: Any) -> Any:
    """Collect the positions where spans may begin, source by source, and what follows them.

    Args:
        text: uint8[n].
        flags: uint8[n + 1].
        ends: int64[N], where each source ends, in characters.
        allowed: uint8[N], which sources may be quoted.
        starts: int32[N + 1], written: those of source k are at ``starts[k]:starts[k + 1]``.

    Returns:
        The positions (int32[m], ascending), and the first bytes at each as one number (uint64[m]),
        all ones where a barrier cuts them off.
    """
    positions = np.empty(text.size, np.int32)
    count = position = character = 0
    for source in range(ends.size):
        while character < ends[source]:
            if allowed[source] and flags[position] & MAY_START and text[position] < BARRIER:
                positions[count] = position
                count += 1
            position += 1
            character += flags[position] & ON_EDGE != 0
        starts[source + 1] = count
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
