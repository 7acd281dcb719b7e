"""Normalised words, token overlap and marks equal their slow definitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.metrics.text import (
    ARTICLES,
    exact_match,
    normalise_answer,
    strip_marks,
    token_f1,
    words_of_spans,
)
from tests.metrics.marks import non_quoted, quoted_sources, quotes_by_source
from tests.reference import scores as reference

pieces = st.sampled_from(
    ["a", "an", "The", "U.S.A.", "’", "-", "_", "x", "é", "\t", "\x00", "\x1f", " ", "—", "9"]
)
words = st.lists(st.sampled_from("vwxyz"), max_size=8)
marked = st.lists(
    st.sampled_from(["[ 1 ", "[ 7 ", "[ 8 ", "[1 ", "[ 0 ", " ]", "]", "[", " ", "a b", "c", "\n"]),
    max_size=14,
).map("".join)


@given(st.lists(st.lists(pieces, max_size=8).map("".join) | st.text(max_size=9), min_size=1))
def test_words_of_spans_are_the_normalised_words_but_for_articles(spans: list[str]) -> None:
    spans = [span.replace("]", "") for span in spans]
    words = [[w for w in line if w not in ARTICLES] for line in words_of_spans(spans)]
    assert words == [reference.normalise(span).split() for span in spans]


@given(marked)
def test_marks_of_one_digit_equal_their_definition(text: str) -> None:
    assert strip_marks(text) == reference.strip_marks(text)
    quotes = {k: reference.normalise(v).split() for k, v in quotes_by_source(text).items()}
    assert quoted_sources(text) == sorted(quotes)
    for source in range(1, 10):
        assert quotes.get(source, []) == reference.quoted_words(text, source)


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("[ 12 x ]", [12]),
        ("[ 123456789 x ]", [123456789]),
        ("[ 1234567890 x ]", []),
        ("[ 01 x ]", []),
        ("[ ١ x ]", []),
        ("[ " + "9" * 5000 + " x ]", []),
    ],
)
def test_numbers_of_several_digits_are_marks_where_asked_for(text: str, sources: list[int]) -> None:
    assert quoted_sources(text, all_sources=True) == sources
    assert quoted_sources(text) == []
    assert strip_marks(text) == non_quoted(text) == text


def test_hostile_brackets_take_linear_time() -> None:
    text = "[ 1 " * 200_000 + "x" + " ]" * 200_000
    assert quoted_sources(text) == [1]
    assert quotes_by_source("[ 1 " + " " * 400_000 + "]") == {1: " " * 399_999}


@pytest.mark.parametrize(
    ("a", "b", "f1"),
    [
        ("U.S.", "US", 1.0),
        ("well-known", "well known", 0.0),
        ("The Beatles", "beatles", 1.0),
        ("", "", 1.0),
        ("the", "", 1.0),
        ("Paris", "", 0.0),
        ("a b b", "b b c", 1.0 * 4 / 5),
    ],
)
def test_tokens_are_compared_as_bags(a: str, b: str, f1: float) -> None:
    assert token_f1(a, b) == pytest.approx(f1)


@given(st.text(), st.text())
def test_the_score_is_symmetric_and_one_exactly_where_the_bags_are_equal(a: str, b: str) -> None:
    assert token_f1(a, b) == token_f1(b, a)
    equal = sorted(normalise_answer(a).split()) == sorted(normalise_answer(b).split())
    assert (token_f1(a, b) == 1.0) is equal
    if exact_match(a, b):
        assert equal
