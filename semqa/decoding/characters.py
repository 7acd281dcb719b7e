"""The character classes used by the constraint, as a table over all code points."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPACE, ALNUM = 1, 2

_ASSIGNED = (range(0x34000), range(0xE0000, 0xE0200))
"""All letters, digits and white space are in these ranges."""


@cache
def class_table() -> NDArray[np.uint8]:
    """Return the class of every code point, as `str` defines it: uint8[0x110000]."""
    table = np.zeros(0x110000, np.uint8)
    for codes in _ASSIGNED:
        table[codes.start : codes.stop] = [
            SPACE * c.isspace() | ALNUM * c.isalnum() for c in map(chr, codes)
        ]
    table.flags.writeable = False
    return table
