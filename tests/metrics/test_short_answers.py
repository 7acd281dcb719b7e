"""Short answers as SQuAD's script compares them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.metrics.short_answers import exact_match, normalise_answer, token_f1


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
