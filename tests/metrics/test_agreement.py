"""Agreement, held to scikit-learn, statsmodels and the definitions."""

from __future__ import annotations

import warnings
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, f1_score
from statsmodels.stats.inter_rater import fleiss_kappa

from semqa.errors import InputError
from semqa.metrics.agreement import (
    cohen_kappa,
    consensus_fit,
    krippendorff_alpha,
    pairwise_agreement,
    unanimity,
)
from semqa.metrics.statistic import Statistic

LABELS = st.sampled_from("abc")
PAIRS = st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=30)
UNITS = st.lists(st.lists(LABELS, max_size=6), max_size=12)


@given(PAIRS)
def test_kappa_is_that_of_sklearn_and_unscored_where_that_is_none(
    pairs: list[tuple[str, str]],
) -> None:
    first, second = zip(*pairs, strict=True)
    found = cohen_kappa(first, second)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = float(cohen_kappa_score(first, second))
    assert found.n == len(pairs)
    if len(set(first + second)) == 1:
        assert found.value is None
        assert found.unscored is not None
        assert "all labels are the same" in found.unscored
    else:
        assert found.value == pytest.approx(expected, abs=1e-12)


def test_two_raters_who_never_say_the_same_have_a_kappa() -> None:
    assert cohen_kappa([1, 1], [0, 0]) == Statistic(0.0, 2)
    assert cohen_kappa([], []).unscored == "no items"
    with pytest.raises(InputError, match="got 1 and 2 labels, expected one an item"):
        cohen_kappa([1], [1, 2])


def alpha_by_definition(units: list[list[str]]) -> float | None:
    """Observed over expected disagreement, pair by pair."""
    units = [unit for unit in units if len(unit) > 1]
    everything = [label for unit in units for label in unit]
    expected = sum(a != b for a, b in combinations(everything, 2)) / max(
        1, len(everything) * (len(everything) - 1) / 2
    )
    if not expected:
        return None
    observed = sum(
        sum(a != b for a, b in combinations(unit, 2)) * 2 / (len(unit) - 1) for unit in units
    ) / len(everything)
    return 1 - observed / expected


@given(UNITS)
def test_alpha_is_its_definition(units: list[list[str]]) -> None:
    found, expected = krippendorff_alpha(units), alpha_by_definition(units)
    assert found.n == sum(len(unit) > 1 for unit in units)
    if expected is None:
        assert found.value is None
        assert found.unscored
    else:
        assert found.value == pytest.approx(expected, abs=1e-9)


def test_alpha_of_complete_data_nears_fleiss_kappa() -> None:
    drawn = np.random.default_rng(3).integers(0, 2, size=(400, 5))
    drawn[:200] = drawn[:200, :1]  # half of the items: all the same
    units = [["no" if label else "yes" for label in row] for row in drawn.tolist()]
    table = np.array([[row.count("no"), row.count("yes")] for row in units])
    alpha = krippendorff_alpha(units).value
    assert alpha is not None
    n = drawn.size
    # The two differ by Krippendorff's correction for small samples, in closed form.
    assert 1 - alpha == pytest.approx((1 - fleiss_kappa(table)) * (n - 1) / n, rel=1e-9)


def test_alpha_of_numbers_counts_how_far_they_are_apart() -> None:
    near, far = [[1, 2], [9, 9], [1, 1]], [[1, 9], [9, 9], [1, 1]]
    at: dict[str, float] = {}
    for name, units in (("near", near), ("far", far)):
        value = krippendorff_alpha(units, level="interval").value
        assert value is not None
        at[name] = value
    assert at["near"] > 0.9 > at["far"]
    with pytest.raises(InputError, match="labels that are no numbers at the level interval"):
        krippendorff_alpha(["ab"], level="interval")


@given(UNITS)
def test_pairs_and_unanimity(units: list[list[str]]) -> None:
    shares = [
        np.mean([a == b for a, b in combinations(unit, 2)]) for unit in units if len(unit) > 1
    ]
    found, whole = pairwise_agreement(units), unanimity(units)
    if not shares:
        assert found.value is whole.value is None
        return
    assert found.value == pytest.approx(float(np.mean(shares)))
    assert found.n == len(shares)
    assert whole.value == pytest.approx(np.mean([share == 1 for share in shares]))


@given(UNITS)
def test_fit_to_the_consensus_is_sklearns_f1_over_single_labels(units: list[list[str]]) -> None:
    def top(unit: list[str]) -> Any:
        return Counter(unit).most_common(1)[0][0] if unit else None

    consensus = [top(unit) for unit in units]
    fit = consensus_fit(units, consensus)
    pairs = [(truth, label) for unit, truth in zip(units, consensus, strict=True) for label in unit]
    if not pairs:
        assert fit.macro.unscored == fit.accuracy.unscored == "no items"
        return
    truths, labels = zip(*pairs, strict=True)
    names = sorted(set(truths + labels))
    expected = f1_score(truths, labels, labels=names, average=None, zero_division=0.0)
    assert {name: fit.f1[name].value for name in names} == pytest.approx(
        dict(zip(names, expected.tolist(), strict=True))
    )
    assert fit.macro.value == pytest.approx(float(np.mean(expected)))
    assert fit.accuracy.value == pytest.approx(np.mean([a == b for a, b in pairs]))
    assert fit.accuracy.n == len(pairs)
