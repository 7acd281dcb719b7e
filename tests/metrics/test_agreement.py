"""Agreement, held to scikit-learn, statsmodels and the definitions."""

from __future__ import annotations

import math
import random
import warnings
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, f1_score

from semqa.errors import InputError
from semqa.metrics.agreement import (
    cohen_kappa,
    compare_balanced_accuracy,
    confusion,
    consensus_fit,
    pairwise_agreement,
    tune_threshold,
    unanimity,
)
from semqa.metrics.statistics import Statistic

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


pairs = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=30)


@settings(max_examples=30)
@given(pairs)
def test_confusion_equals_scikit_learn(drawn: list[tuple[bool, bool]]) -> None:
    from sklearn.metrics import balanced_accuracy_score, confusion_matrix

    truth, decided = [t for t, _ in drawn], [d for _, d in drawn]
    found = confusion(truth, decided)
    if drawn:
        tn, fp, fn, tp = confusion_matrix(truth, decided, labels=[False, True]).ravel()
        assert found == (tp, fn, fp, tn)
    if len(set(truth)) == 2:
        expected = 100 * balanced_accuracy_score(truth, decided)
        assert found.balanced_accuracy.value == pytest.approx(expected)
    else:
        assert found.balanced_accuracy.value is None
        assert "balanced_accuracy" in found.to_dict()["unscored"]


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0])), max_size=20))
def test_threshold_equals_trying_all(drawn: list[tuple[bool, float]]) -> None:
    truth, scores = [t for t, _ in drawn], [s for _, s in drawn]
    if len(set(truth)) < 2:
        with pytest.raises(InputError):
            tune_threshold(truth, scores)
        return
    best, accuracy = math.nan, -1.0
    for candidate in [-math.inf, *sorted(set(scores))]:
        value = confusion(truth, [s <= candidate for s in scores]).balanced_accuracy.value
        assert value is not None
        if value > accuracy + 1e-9:
            best, accuracy = candidate, value
    found = tune_threshold(truth, scores)
    assert found.value == best
    assert found.balanced_accuracy == pytest.approx(accuracy)


def test_a_threshold_that_finds_nothing_is_json() -> None:
    found = tune_threshold([False, True], [0.1, 0.9])
    assert found.to_dict() == {"value": None, "balanced_accuracy": 50.0, "n": 2}


def test_bootstrap_agrees_with_drawing_groups_one_by_one() -> None:
    draw = random.Random(5)
    truth = [draw.random() < 0.3 for _ in range(240)]
    a = [t if draw.random() < 0.75 else not t for t in truth]
    b = [t if draw.random() < 0.65 else not t for t in truth]
    documents = [f"d{draw.randrange(30)}" for _ in truth]
    found = compare_balanced_accuracy(truth, a, b, groups=documents)
    members: dict[str, list[int]] = {}
    for place, key in enumerate(documents):
        members.setdefault(key, []).append(place)
    units = list(members.values())
    generator = np.random.default_rng(11)
    differences = []
    for _ in range(500):
        places = [p for u in generator.integers(len(units), size=len(units)) for p in units[u]]
        values = [
            confusion([truth[p] for p in places], [x[p] for p in places]).balanced_accuracy.value
            for x in (a, b)
        ]
        assert values[0] is not None
        assert values[1] is not None
        differences.append(values[0] - values[1])
    assert found.groups == len(units)
    expected = np.percentile(differences, [2.5, 97.5])
    assert (found.low, found.high) == pytest.approx(expected, abs=1.5)
    assert found.p == pytest.approx(2 * np.mean(np.array(differences) <= 0), abs=0.06)


def test_bootstrap_says_what_it_is() -> None:
    truth = [True, False] * 30
    same = compare_balanced_accuracy(truth, truth, truth, resamples=500)
    assert (same.difference, same.p) == (0, 1)
    better = compare_balanced_accuracy(truth, truth, [not t for t in truth], resamples=500)
    assert (better.difference, better.p) == pytest.approx((100, 2 / 501))
    worse = compare_balanced_accuracy(truth, [not t for t in truth], truth, resamples=500)
    assert worse.difference == -100
    assert worse.p == better.p
    rare = compare_balanced_accuracy([True, *[False] * 5], [True] * 6, [False] * 6, resamples=900)
    assert 0 < rare.resamples < 800
