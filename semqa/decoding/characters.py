"""The classes of characters that the language speaks of, as one table over all code points."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ALNUM",
    "CAPITAL",
    "CLOSES_SENTENCE",
    "DIGIT",
    "ENDS_SENTENCE",
    "HAS_OTHER",
    "HAS_SMALL",
    "SPACE",
    "class_blocks",
    "class_table",
]

SPACE, ALNUM, DIGIT, CAPITAL, ENDS_SENTENCE, CLOSES_SENTENCE = 1, 2, 4, 8, 16, 32
HAS_OTHER, HAS_SMALL = 1, 2
"""Of a block of characters: some are not alphanumeric; some are, and neither capitals nor digits."""

_ENDS = ".!?…。！？"
_CLOSES = "\"'”’»)*"
_ASSIGNED = (range(0x34000), range(0xE0000, 0xE0200))
"""Beyond these no code point is a letter, a digit or white space."""


@cache
def class_table() -> NDArray[np.uint8]:
    """Return the classes of every code point: uint8[0x110000], a sum of the names above.

    They are those of `str`: ``isspace``, ``isalnum``, ``isdigit``, ``isupper`` or ``istitle``.
    """
    table = np.zeros(0x110000, np.uint8)
    for codes in _ASSIGNED:
        table[codes.start : codes.stop] = [
            SPACE * c.isspace()
            | ALNUM * c.isalnum()
            | DIGIT * c.isdigit()
            | CAPITAL * (c.isupper() or c.istitle())
            for c in map(chr, codes)
        ]
    for characters, kind in ((_ENDS, ENDS_SENTENCE), (_CLOSES, CLOSES_SENTENCE)):
        for character in characters:
            table[ord(character)] |= kind
    table.flags.writeable = False
    return table


@cache
def class_blocks() -> NDArray[np.uint8]:
    """Return what there is in every 64 code points, for which UTF-8 has one last byte: uint8[17408]."""
    kinds = class_table().reshape(-1, 64)
    other = (kinds & ALNUM == 0).any(axis=1)
    small = (kinds & (ALNUM | DIGIT | CAPITAL) == ALNUM).any(axis=1)
    blocks: NDArray[np.uint8] = (HAS_OTHER * other + HAS_SMALL * small).astype(np.uint8)
    return blocks
