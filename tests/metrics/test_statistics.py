"""Tests of rates, corrections and intervals, held to statsmodels."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint, proportions_ztest

from semqa.metrics.statistics import compare_rates, correlation, holm, mcnemar, wilson_interval


@st.composite
def rates(draw: st.DrawFn, most: int = 60) -> tuple[int, int]:
    n = draw(st.integers(1, most))
    return draw(st.integers(0, n)), n


def constant(first: tuple[int, int], second: tuple[int, int]) -> bool:
    return first[0] + second[0] in (0, first[1] + second[1])


@given(rates(), rates())
def test_z_is_that_of_statsmodels(first: tuple[int, int], second: tuple[int, int]) -> None:
    found = compare_rates(first, second)
    if constant(first, second):
        assert found.value is None
        assert found.unscored is not None
        assert "no variance" in found.unscored
        return
    _, p = proportions_ztest([first[0], second[0]], [first[1], second[1]])
    assert found.value == pytest.approx(p, rel=1e-6, abs=1e-12)


def test_nothing_to_compare() -> None:
    assert compare_rates((0, 0), (3, 9)).unscored == "a rate has no items"


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_mcnemar_is_that_of_statsmodels(pairs: list[tuple[bool, bool]]) -> None:
    found = mcnemar([a for a, _ in pairs], [b for _, b in pairs])
    if not pairs:
        assert found.to_dict()["unscored"] == "no item was judged twice"
        return
    table = np.zeros((2, 2), dtype=int)
    for a, b in pairs:
        table[1 - a, 1 - b] += 1
    assert (found.both, found.only_first, found.only_second) == tuple(table.ravel()[:3])
    assert found.n == len(pairs)
    assert found.p == pytest.approx(float(reference_mcnemar(table, exact=True).pvalue), rel=1e-9)


def test_mcnemar_has_no_largest_number_of_items() -> None:
    many = 5000
    found = mcnemar([True] * many + [False], [False] * many + [True])
    assert found.p == 0.0  # beyond the smallest float, not a crash
    even = mcnemar([True] * many + [False] * many, [False] * many + [True] * many)
    assert even.p == 1.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(max_examples=20)
def test_corrections_are_those_of_statsmodels(values: list[float]) -> None:
    with mock.patch("gc.collect"):  # multipletests collects garbage, which takes half a second here
        expected = multipletests(values, method="holm")[1].tolist()
    assert holm(values) == pytest.approx(expected)


@given(rates())
def test_wilson_is_that_of_statsmodels(rate: tuple[int, int]) -> None:
    low, high = wilson_interval(*rate)
    expected = proportion_confint(*rate, alpha=0.05, method="wilson")
    assert (low, high) == pytest.approx(expected, abs=1e-9)
    assert 0 <= low <= rate[0] / rate[1] <= high <= 1


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=2, max_size=20))
def test_correlations_are_scipys(pairs: list[tuple[int, int]]) -> None:
    left, right = ([pair[side] / 3 for pair in pairs] for side in (0, 1))
    for ranks, theirs in ((False, stats.pearsonr), (True, stats.spearmanr)):
        found = correlation(left, right, ranks=ranks)
        if len(set(left)) < 2 or len(set(right)) < 2:
            assert found.unscored == "all values are equal"
        else:
            # Values are rounded to nine digits, so that noise makes no ranks.
            assert found.value == pytest.approx(theirs(left, right).statistic, abs=1e-7)
