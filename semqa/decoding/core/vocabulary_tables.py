"""What the kernels need to know of every token, whatever the sources and the question."""

from __future__ import annotations

from typing import Any

from semqa.decoding.characters import ALNUM, DIGIT, SPACE
from semqa.decoding.core.layout import jit

__all__ = ["classify_tokens", "count_words"]

STARTS_WITH_DIGIT, STARTS_WITH_ALNUM, ENDS_INSIDE, IS_LEAD = 1, 2, 4, 8


@jit
def _decode(blob: Any, begin: int, end: int) -> Any:
    """Read one character; return it and its length, ``(-1, 0)`` where none is complete."""
    lead = blob[begin]
    length = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    if 0x80 <= lead < 0xC0 or begin + length > end:
        return -1, 0
    if length == 1:
        return int(lead), 1
    character = int(lead) & (0x7F >> length)
    for place in range(begin + 1, begin + length):
        if blob[place] & 0xC0 != 0x80:
            return -1, 0
        character = character << 6 | int(blob[place]) & 0x3F
    return (character, length) if character < 0x110000 else (-1, 0)


@jit
def classify_tokens(blob: Any, offsets: Any, classes: Any, traits: Any) -> None:
    """Write for each token how it starts and whether it ends inside a character.

    Args:
        blob: uint8, the bytes of all tokens.
        offsets: int32[V + 1].
        classes: uint8[0x110000].
        traits: uint8[V], written; tokens that are not UTF-8 throughout may have any value.
    """
    for token in range(traits.size):
        begin, end = offsets[token], offsets[token + 1]
        if begin == end:
            continue
        character, _length = _decode(blob, begin, end)
        if character >= 0:
            if classes[character] & DIGIT:
                traits[token] |= STARTS_WITH_DIGIT
            if classes[character] & ALNUM:
                traits[token] |= STARTS_WITH_ALNUM
        elif blob[begin] >= 0xC0:
            traits[token] |= IS_LEAD
        while begin < end:
            character, length = _decode(blob, begin, end)
            if character < 0:
                traits[token] |= ENDS_INSIDE
                break
            begin += length


@jit
def count_words(blob: Any, offsets: Any, classes: Any, words: Any) -> int:
    """Write how many words of free text each token begins.

    Args:
        blob: uint8, the bytes of all tokens.
        offsets: int32[V + 1].
        classes: uint8[0x110000].
        words: uint8[2, V], written: where the piece that the token goes on with has not counted
            as a word yet, and where it has.

    Returns:
        The most words that one token begins, of free text or of a span.
    """
    most = 0
    for token in range(words.shape[1]):
        for counted_before in range(2):
            place, end = offsets[token], offsets[token + 1]
            counted, inside, begun, pieces = counted_before, False, 0, 0
            while place < end:
                character, length = _decode(blob, place, end)
                if character < 0:
                    place += 1
                    continue
                place += length
                kind = classes[character]
                if kind & SPACE:
                    counted, inside = 0, False
                    continue
                if not inside:
                    inside = True
                    pieces += 1
                if kind & ALNUM and not counted:
                    counted = 1
                    begun += 1
            words[counted_before, token] = min(begun, 255)
            most = max(most, pieces + 1)
    return min(most, 250)
