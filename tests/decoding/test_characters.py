"""The classes of characters are those of `str`, for every code point that this Python knows."""

from __future__ import annotations

import sys

import numpy as np

from semqa.decoding.characters import ALNUM, SPACE, class_table


def test_classes_are_those_of_str() -> None:
    everything = list(map(chr, range(sys.maxunicode + 1)))
    table = class_table()
    for kind, belongs in ((SPACE, str.isspace), (ALNUM, str.isalnum)):
        wanted = np.fromiter(map(belongs, everything), np.bool_)
        assert np.array_equal(table & kind != 0, wanted)
