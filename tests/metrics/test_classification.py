"""Confusion, thresholds and the paired bootstrap against scikit-learn and plain loops."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa.errors import InputError
from semqa.metrics.classification import (
    compare_balanced_accuracy,
    confusion,
    tune_threshold,
)

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
        assert found.recall.value == pytest.approx(100 - found.to_dict()["fnr"])
    else:
        assert found.balanced_accuracy.value is None
        assert "balanced_accuracy" in found.to_dict()["unscored"]


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0])), max_size=20))
def test_threshold_equals_trying_all(drawn: list[tuple[bool, float]]) -> None:
    truth, scores = [t for t, _ in drawn], [s for _, s in drawn]
    if len(set(truth)) < 2:
        with pytest.raises(InputError, match="expected some of both"):
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
    assert [found.positive(s) for s in scores] == [s <= best for s in scores]


def test_a_threshold_that_finds_nothing_is_json() -> None:
    found = tune_threshold([False, True], [0.1, 0.9])
    assert found.to_dict() == {"value": None, "balanced_accuracy": 50.0, "n": 2}
    assert not found.positive(0.0)


def test_scores_must_be_numbers() -> None:
    with pytest.raises(InputError, match="got the score nan"):
        tune_threshold([True, False], [math.nan, 1.0])


@pytest.fixture(scope="module")
def decisions() -> tuple[list[bool], list[bool], list[bool], list[str]]:
    draw = random.Random(5)
    truth = [draw.random() < 0.3 for _ in range(240)]
    a = [t if draw.random() < 0.75 else not t for t in truth]
    b = [t if draw.random() < 0.65 else not t for t in truth]
    return truth, a, b, [f"d{draw.randrange(30)}" for _ in truth]


@pytest.mark.parametrize("grouped", [False, True])
def test_bootstrap_agrees_with_drawing_items_one_by_one(
    decisions: tuple[list[bool], list[bool], list[bool], list[str]], grouped: bool
) -> None:
    truth, a, b, documents = decisions
    found = compare_balanced_accuracy(truth, a, b, groups=documents if grouped else None)
    keys = documents if grouped else [str(i) for i in range(len(truth))]
    members: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        members.setdefault(key, []).append(place)
    units = list(members.values())
    generator = np.random.default_rng(11)
    differences = []
    for _ in range(1500):
        places = [p for u in generator.integers(len(units), size=len(units)) for p in units[u]]
        values = [
            confusion([truth[p] for p in places], [x[p] for p in places]).balanced_accuracy.value
            for x in (a, b)
        ]
        assert values[0] is not None
        assert values[1] is not None
        differences.append(values[0] - values[1])
    assert found.groups == len(units)
    assert found.mean == pytest.approx(np.mean(differences), abs=0.3)
    assert found.sd == pytest.approx(np.std(differences), rel=0.08)
    assert (found.low, found.high) == pytest.approx(
        np.percentile(differences, [2.5, 97.5]), abs=0.8
    )
    assert found.p_below == pytest.approx(np.mean(np.array(differences) <= 0), abs=0.03)


def test_bootstrap_says_what_it_is() -> None:
    truth = [True, False] * 30
    same = compare_balanced_accuracy(truth, truth, truth, resamples=500)
    assert (same.difference, same.p, same.p_below, same.p_above) == (0, 1, 1, 1)
    better = compare_balanced_accuracy(truth, truth, [not t for t in truth], resamples=500)
    assert (better.difference, better.p) == pytest.approx((100, 2 / 501))
    worse = compare_balanced_accuracy(truth, [not t for t in truth], truth, resamples=500)
    assert worse.difference == -100
    assert worse.p == better.p
    rare = compare_balanced_accuracy([True, *[False] * 5], [True] * 6, [False] * 6, resamples=900)
    assert rare.left_out > 100
    assert rare.resamples + rare.left_out == 900


def test_bootstrap_mistakes() -> None:
    with pytest.raises(InputError, match="items of one class only"):
        compare_balanced_accuracy([True], [True], [True])
    with pytest.raises(InputError, match="got 1 for 2 items"):
        compare_balanced_accuracy([True, False], [True], [True, False])
    with pytest.raises(InputError, match="got 0 resamples"):
        compare_balanced_accuracy([True, False], [True, False], [True, False], resamples=0)
