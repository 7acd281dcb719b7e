"""The classes of characters are those of `str`, for every code point that this Python knows."""

from __future__ import annotations

import sys

import numpy as np

from semqa.decoding.characters import (
    ALNUM,
    CAPITAL,
    DIGIT,
    HAS_OTHER,
    HAS_SMALL,
    SPACE,
    class_blocks,
    class_table,
)


def test_classes_are_those_of_str() -> None:
    everything = list(map(chr, range(sys.maxunicode + 1)))
    table = class_table()
    for kind, belongs in (
        (SPACE, str.isspace),
        (ALNUM, str.isalnum),
        (DIGIT, str.isdigit),
        (CAPITAL, lambda c: c.isupper() or c.istitle()),
    ):
        wanted = np.fromiter(map(belongs, everything), np.bool_)
        assert np.array_equal(table & kind != 0, wanted)


def test_blocks_tell_what_there_is_in_them() -> None:
    table = class_table()
    for block in (0, 1, 0x4E00 >> 6, 0xAC00 >> 6, 0x1D7C0 >> 6, 0x10FFC0 >> 6):
        kinds = table[64 * block : 64 * block + 64].tolist()
        small = any(kind & ALNUM and not kind & (DIGIT | CAPITAL) for kind in kinds)
        other = any(not kind & ALNUM for kind in kinds)
        assert class_blocks()[block] == HAS_OTHER * other + HAS_SMALL * small
