"""Quotes never complete a stop text, whatever the text and the sources: held to brute force."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from semqa import InputError, Source
from semqa.decoding.vllm.request import check_stops, without_stops

ALPHABET = "ab1 .\n-é"


def spans(text: str, whole_words: bool) -> set[str]:
    """All spans of a text, by the definition of the language."""
    found = set()
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            span = text[start:end]
            if any(one in span for one in "[]") or span != span.strip():
                continue
            if whole_words and (_inside(text, start) or _inside(text, end)):
                continue
            found.add(span)
    return found


def _inside(text: str, place: int) -> bool:
    return 0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum()


@given(
    text=st.text(ALPHABET, max_size=14),
    stops=st.lists(st.text(ALPHABET, min_size=1, max_size=4), min_size=1, max_size=3),
    whole_words=st.booleans(),
    count=st.sampled_from([1, 2, 12]),
)
def test_no_quote_completes_a_stop(
    text: str, stops: list[str], whole_words: bool, count: int
) -> None:
    try:
        check_stops(stops, count)
    except InputError:
        assume(False)
    sources = [Source(text)] + [Source("x")] * (count - 1)
    left = spans(without_stops(sources, stops)[0].text, whole_words)
    assert left <= spans(text, whole_words)
    for span in left:
        for number in range(1, count + 1):
            quote = f"[ {number} {span} ]"
            assert not any(stop in quote for stop in stops), quote
    # Nothing is lost where no stop is near.
    if not any(stop.strip(" 0123456789") in text for stop in stops):
        assert left == spans(text, whole_words)


@given(st.text(ALPHABET, max_size=30))
def test_without_stops_sources_stay(text: str) -> None:
    assert without_stops([Source(text, text)], []) == [Source(text, text)]


def test_titles_too() -> None:
    (source,) = without_stops([Source("a", "one two three")], ["tw"])
    assert source.title == "one [ three"


@pytest.mark.parametrize("stop", ["a" * 1000, "ab" * 500, "b" + "a" * 999])
def test_long_stops_in_long_sources_take_no_time(stop: str) -> None:
    sources = [Source("a" * 500_000)]
    check_stops([stop] * 16, 1)
    without_stops(sources, [stop] * 16)
