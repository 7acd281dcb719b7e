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

__all__ = ["flag_positions", "prune_dead_tails", "sort_starts"]


@jit
def flag_positions(characters: Any, classes: Any, in_words: bool, text: Any, flags: Any) -> None:
    """Classify every position; brackets, surrogates and separators become barriers in the text.

    Args:
        characters: uint32, the code points of all fields, a lone surrogate after each field.
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

    Only for vocabularies that hold every byte: there, a position is alive if an end is ahead.

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
def sort_starts(
    order: Any, text: Any, flags: Any, bounds: Any, allowed: Any, suffixes: Any, starts: Any
) -> int:
    """Keep of a suffix array the starts of spans, by source, in order.

    Args:
        order: int32[n] or int64[n], the suffix array of the text.
        text: uint8[n].
        flags: uint8[n + 1].
        bounds: int64[N + 1], where the text of each source begins.
        allowed: uint8[N], which sources may be quoted.
        suffixes: int32[n], written.
        starts: int32[N + 1], written: the suffixes of source k are at ``starts[k]:starts[k + 1]``.

    Returns:
        The number of suffixes.
    """
    sources = allowed.size
    owner = np.empty(text.size, np.int32)
    for source in range(sources):
        count = 0
        for position in range(bounds[source], bounds[source + 1]):
            usable = allowed[source] and flags[position] & MAY_START and text[position] < BARRIER
            owner[position] = source if usable else -1
            count += usable != 0
        starts[source + 1] = starts[source] + count
    place = starts[:-1].copy()
    for position in order:
        source = owner[position]
        if source >= 0:
            suffixes[place[source]] = position
            place[source] += 1
    return starts[sources]
