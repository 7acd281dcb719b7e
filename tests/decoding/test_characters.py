"""The classes of characters agree with `str` and `unicodedata` for every code point."""

from __future__ import annotations

import sys
import unicodedata

import numpy as np

from semqa.decoding.characters import ALNUM, COMBINING, DIGIT, SPACE, class_table


def test_classes_are_those_of_str() -> None:
    everything = list(map(chr, range(sys.maxunicode + 1)))
    table = class_table()
    for kind, belongs in (
        (SPACE, str.isspace),
        (ALNUM, str.isalnum),
        (DIGIT, str.isdigit),
        (COMBINING, lambda char: unicodedata.category(char).startswith("M")),
    ):
        wanted = np.fromiter(map(belongs, everything), np.bool_)
        assert np.array_equal(table & kind != 0, wanted)
