"""Events from bytes, however these are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.engines.openai.client import MAX_EVENT, EventReader

ENDS = st.sampled_from(["\n", "\r\n", "\r"])
LINES = st.sampled_from(
    ["data: a", "data:b", "data:  c é", "data", "data: ", ": ping", "event: x", "id"]
)


def read(pieces: list[bytes]) -> list[str]:
    reader = EventReader()
    return [*(event for piece in pieces for event in reader.add(piece)), *reader.end()]


@given(
    st.lists(st.tuples(st.lists(LINES, max_size=3), ENDS), max_size=5), st.lists(st.integers(0, 99))
)
def test_events_do_not_depend_on_the_cuts(
    events: list[tuple[list[str], str]], cuts: list[int]
) -> None:
    text = "".join("".join(line + end for line in lines) + end for lines, end in events)
    data = text.encode()
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    expected = [
        "\n".join(line.partition(":")[2].removeprefix(" ") for line in lines if line[:4] == "data")
        for lines, _ in events
        if any(line[:4] == "data" for line in lines)
    ]
    assert read([data]) == expected
    assert read([data[low:high] for low, high in pairwise(places)]) == expected


def test_marks_of_byte_order_and_open_ends() -> None:
    assert read([b"\xef\xbb\xbfdata: 1"]) == ["1"]
    assert read([b"data: 1\n", b"data: 2\r"]) == ["1\n2"]
    assert read([]) == []


@pytest.mark.parametrize("piece", [b"data: \xff\n\n", b"x" * (MAX_EVENT + 1), b"data: \xc3"])
def test_what_is_no_stream(piece: bytes) -> None:
    with pytest.raises(ValueError, match=r"event|decode"):
        read([piece])
