"""The character classes used by the constraint, as a table over all code points."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

import numpy as np
from numpy.typing import NDArray

from semqa.quotes.words import UNSPACED

SPACE, ALNUM, COMBINING, DIGIT, UNSPACED_SCRIPT = 1, 2, 4, 8, 16

_ASSIGNED = (range(0x34000), range(0xE0000, 0xE0200))
"""All letters, digits, white space and combining marks are in these ranges."""


@cache
def class_table() -> NDArray[np.uint8]:
    """Return the class of every code point, as `str` and `unicodedata` define it: uint8[0x110000]."""
    table = np.zeros(0x110000, np.uint8)
    for codes in _ASSIGNED:
        table[codes.start : codes.stop] = [
            SPACE * c.isspace()
            | ALNUM * c.isalnum()
            | COMBINING * unicodedata.category(c).startswith("M")
            | DIGIT * c.isdigit()
            for c in map(chr, codes)
        ]
    for found in re.finditer(f"[{UNSPACED}]+", "".join(map(chr, _ASSIGNED[0]))):
        table[slice(*found.span())] |= UNSPACED_SCRIPT
    table.flags.writeable = False
    return table
