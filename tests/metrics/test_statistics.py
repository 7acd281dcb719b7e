"""Tests of rates, corrections and intervals, held to scipy, statsmodels and the definitions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint, proportions_ztest

from semqa.errors import InputError
from semqa.metrics.statistics import (
    Alternative,
    Correction,
    RateTest,
    adjust,
    bootstrap_interval,
    compare_rates,
    mcnemar,
    wilson_interval,
)

SIDES = {"two-sided": "two-sided", "less": "smaller", "greater": "larger"}
ALTERNATIVES: tuple[Alternative, ...] = get_args(Alternative)


@st.composite
def rates(draw: st.DrawFn, most: int = 60) -> tuple[int, int]:
    n = draw(st.integers(1, most))
    return draw(st.integers(0, n)), n


def constant(first: tuple[int, int], second: tuple[int, int]) -> bool:
    return first[0] + second[0] in (0, first[1] + second[1])


@given(rates(), rates(), st.sampled_from(ALTERNATIVES))
def test_z_is_that_of_statsmodels(
    first: tuple[int, int], second: tuple[int, int], alternative: Alternative
) -> None:
    found = compare_rates(first, second, test="z", alternative=alternative)
    if constant(first, second):
        assert found.p is None
        assert found.unscored is not None
        assert "no variance" in found.unscored
        return
    z, p = proportions_ztest(
        [first[0], second[0]], [first[1], second[1]], alternative=SIDES[alternative]
    )
    assert found.statistic == pytest.approx(z, abs=1e-9)
    assert found.p == pytest.approx(p, rel=1e-6, abs=1e-12)


@given(rates(), rates())
def test_chi2_is_that_of_scipy(first: tuple[int, int], second: tuple[int, int]) -> None:
    found = compare_rates(first, second, test="chi2")
    if constant(first, second):
        assert (found.p, found.statistic) == (1.0, 0.0)
        return
    table = [[first[0], first[1] - first[0]], [second[0], second[1] - second[0]]]
    expected = stats.chi2_contingency(table, correction=True)
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-6)


def fisher_by_counting(first: tuple[int, int], second: tuple[int, int], side: str) -> float:
    """Sum, exactly, the probabilities of the tables with the same margins."""
    (a, n), (b, m) = first, second
    yes = a + b
    weights = {
        k: Fraction(math.comb(n, k) * math.comb(m, yes - k))
        for k in range(max(0, yes - m), min(n, yes) + 1)
    }
    chosen = {
        "less": [w for k, w in weights.items() if k <= a],
        "greater": [w for k, w in weights.items() if k >= a],
        "two-sided": [w for w in weights.values() if w <= weights[a]],
    }[side]
    return float(sum(chosen) / sum(weights.values()))


@given(rates(), rates(), st.sampled_from(ALTERNATIVES))
def test_fisher_counts_tables(
    first: tuple[int, int], second: tuple[int, int], alternative: Alternative
) -> None:
    found = compare_rates(first, second, test="fisher", alternative=alternative)
    assert found.p == pytest.approx(fisher_by_counting(first, second, alternative), rel=1e-8)


@pytest.mark.filterwarnings("ignore:Precision loss occurred")  # of a sample that is all the same
@given(rates(), rates(), st.sampled_from(ALTERNATIVES))
@settings(max_examples=60)
def test_welch_is_that_of_scipy_on_zeros_and_ones(
    first: tuple[int, int], second: tuple[int, int], alternative: Alternative
) -> None:
    found = compare_rates(first, second, test="welch", alternative=alternative)
    samples = [np.repeat([1.0, 0.0], [count, n - count]) for count, n in (first, second)]
    if min(first[1], second[1]) < 2:
        assert found.unscored == "a rate rests on fewer than 2 items"
    elif all(sample.min() == sample.max() for sample in samples):
        assert found.p is None
    else:
        expected = stats.ttest_ind(*samples, equal_var=False, alternative=alternative)
        assert found.statistic == pytest.approx(expected.statistic, rel=1e-6)
        assert found.p == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-12)


def test_nothing_to_compare() -> None:
    for test in get_args(RateTest):
        found = compare_rates((0, 0), (3, 9), test=test)
        assert (found.p, found.unscored) == (None, "a rate rests on fewer than 1 items")
    with pytest.raises(InputError):
        compare_rates((4, 3), (1, 2))
    with pytest.raises(InputError):
        compare_rates((1, 3), (1, 2), test="chi2", alternative="less")
    with pytest.raises(InputError):
        compare_rates((1, 3), (1, 2), test="z2")  # type: ignore[arg-type]


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
    with pytest.raises(InputError):
        mcnemar([True], [])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(max_examples=20)
def test_corrections_are_those_of_statsmodels(values: list[float]) -> None:
    for ours, theirs in (("bonferroni", "bonferroni"), ("holm", "holm"), ("bh", "fdr_bh")):
        expected = multipletests(values, method=theirs)[1]
        assert adjust(values, ours) == pytest.approx(expected.tolist())  # type: ignore[arg-type]
    assert adjust(values, "none") == values


def test_corrections_of_nothing_and_of_an_unknown_name() -> None:
    assert all(adjust([], method) == [] for method in get_args(Correction))
    with pytest.raises(InputError):
        adjust([0.1], "sidak")  # type: ignore[arg-type]


@given(rates(), st.floats(0.5, 0.999))
def test_wilson_is_that_of_statsmodels(rate: tuple[int, int], confidence: float) -> None:
    low, high = wilson_interval(*rate, confidence=confidence)
    expected = proportion_confint(*rate, alpha=1 - confidence, method="wilson")
    assert (low, high) == pytest.approx(expected, abs=1e-9)
    assert 0 <= low <= rate[0] / rate[1] <= high <= 1


@pytest.mark.parametrize(("count", "n"), [(30, 200), (100, 200), (0, 9), (9, 9)])
def test_the_bootstrap_of_a_rate_draws_items(count: int, n: int) -> None:
    low, high = bootstrap_interval(count, n, seed=7)
    assert (low, high) == bootstrap_interval(count, n, seed=7)
    items = np.repeat([1.0, 0.0], [count, n - count])
    drawn = np.random.default_rng(1).choice(items, size=(4000, n)).mean(axis=1)
    assert (low, high) == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])), abs=0.011)


def test_an_interval_of_what() -> None:
    with pytest.raises(InputError):
        wilson_interval(0, 0)
    with pytest.raises(InputError):
        bootstrap_interval(1, 2, confidence=1.0)
    with pytest.raises(InputError):
        bootstrap_interval(1, 2, resamples=0)
