"""UTF-16 offsets against Python's own codec."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.quotes.source import Utf16Offsets


@given(st.text())
def test_equals_the_codec(text: str) -> None:
    offsets = Utf16Offsets(text)
    for at in range(len(text) + 1):
        assert offsets(at) == len(text[:at].encode("utf-16-le")) // 2


@pytest.mark.parametrize("offset", [-1, 4])
def test_out_of_range(offset: int) -> None:
    with pytest.raises(IndexError, match=rf"from 0 to 3.* got {offset}"):
        Utf16Offsets("abc")(offset)
