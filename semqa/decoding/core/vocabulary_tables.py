"""What the kernels need to know of every token, whatever the sources and the question."""

from __future__ import annotations

from typing import Any

from semqa.decoding.characters import ALNUM, CAPITAL, DIGIT, SPACE
from semqa.decoding.core.layout import jit

__all__ = ["classify_tokens", "count_words"]

STARTS_WITH_DIGIT, STARTS_WITH_ALNUM, IS_LEAD = 1, 2, 4


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
def classify_tokens(blob: Any, offsets: Any, classes: Any, traits: Any, asking: Any) -> None:
    """Write for each token how it starts, and how far it may depend on the question.

    Args:
        blob: uint8, the bytes of all tokens.
        offsets: int32[V + 1].
        classes: uint8[0x110000].
        traits: uint8[V], written.
        asking: int32[3 * V], written: bytes up to the last first letter of a word that is a capital,
            then up to the last digit, then all bytes where the token ends inside a character; 0
            where it has none of these.
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
        place, before = begin, 0
        while place < end:
            character, length = _decode(blob, place, end)
            if character < 0:
                asking[2 * traits.size + token] = end - begin
                break
            place += length
            kind = classes[character]
            if kind & CAPITAL and not before & ALNUM:
                asking[token] = place - begin
            if kind & DIGIT:
                asking[traits.size + token] = place - begin
            before = kind


@jit
def _only_alnum(blob: Any, begin: int, end: int, classes: Any) -> bool:
    """Tell whether a character that a token ends inside of can only become alphanumeric."""
    lead = blob[begin]
    length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    if lead < 0xC2 or lead > 0xF4 or begin + length <= end:
        return False
    bits = int(lead) & (0x7F >> length)
    for place in range(begin + 1, end):
        bits = bits << 6 | int(blob[place]) & 0x3F
    missing = length - (end - begin)
    shortest = 0x80 if length == 2 else 0x800 if length == 3 else 0x10000
    low = max(bits << 6 * missing, shortest)
    for character in range(low, min((bits + 1) << 6 * missing, 0x110000)):
        surrogate = 0xD800 <= character < 0xE000
        if not surrogate and classes[character] & ALNUM == 0:
            return False
    return True


@jit
def count_words(blob: Any, offsets: Any, classes: Any, words: Any) -> int:
    """Write how many words of free text each token begins, at least.

    A token that ends inside a character begins one more where that can only become alphanumeric.

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
                    if not counted and _only_alnum(blob, place, end, classes):
                        begun += 1
                        break
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
    return most
