"""Curves and correlations against their definitions, scikit-learn and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.errors import InputError
from semqa.metrics.curves import (
    AtThreshold,
    at_threshold,
    precision_recall,
    ranking,
    spearman,
    spearman_rows,
)

SCORES = st.lists(
    st.tuples(st.integers(-4, 4).map(lambda n: n / 4), st.booleans()), min_size=1, max_size=30
)


@given(SCORES, st.sampled_from([-1.0, -0.25, 0.0, 0.1, 0.5, 1.0]))
def test_counts_at_a_threshold(examples: list[tuple[float, bool]], threshold: float) -> None:
    found = at_threshold([s for s, _ in examples], [label for _, label in examples], threshold)
    pairs = [(score > threshold, label) for score, label in examples]
    assert found == AtThreshold(
        threshold,
        pairs.count((True, True)),
        pairs.count((True, False)),
        pairs.count((False, True)),
        pairs.count((False, False)),
    )
    assert found.n == len(examples)
    assert found.accuracy == sum(a is b for a, b in pairs) / len(pairs)


@given(SCORES, st.integers(-4, 4))
def test_detection_is_scikit_learns_and_unscored_where_that_warns(
    examples: list[tuple[float, bool]], quarter: int
) -> None:
    from sklearn.metrics import precision_recall_fscore_support

    scores, labels = [s for s, _ in examples], [label for _, label in examples]
    threshold = quarter / 4
    found = at_threshold(scores, labels, threshold)
    predicted = [score > threshold for score in scores]
    for label, detection in ((True, found.positive), (False, found.negative)):
        precision, recall, f1, _ = precision_recall_fscore_support(
            labels, predicted, pos_label=label, average="binary", zero_division=np.nan
        )
        assert (detection.precision.value is None) == (label not in predicted)
        assert (detection.recall.value is None) == (label not in labels)
        if label in predicted:
            assert detection.precision.value == pytest.approx(precision)
        if label in labels:
            assert detection.recall.value == pytest.approx(recall)
        if label in predicted and label in labels:
            assert detection.f1.value == pytest.approx(f1)
        else:
            assert detection.f1.unscored


@given(SCORES)
def test_curve_is_precision_and_recall_at_every_score(
    examples: list[tuple[float, bool]],
) -> None:
    scores = np.array([score for score, _ in examples])
    labels = np.array([label for _, label in examples])
    curve = precision_recall(scores.tolist(), labels.tolist())
    if curve is None:
        assert not labels.any()
        return
    assert curve.thresholds.tolist() == sorted(set(scores.tolist()))
    for place, threshold in enumerate(curve.thresholds):
        predicted = scores >= threshold
        hits = (predicted & labels).sum()
        assert curve.precision[place] == pytest.approx(hits / predicted.sum())
        assert curve.recall[place] == pytest.approx(hits / labels.sum())
    assert (curve.precision[-1], curve.recall[-1]) == (1.0, 0.0)


@given(SCORES)
def test_areas_by_counting_pairs(examples: list[tuple[float, bool]]) -> None:
    positive = [score for score, label in examples if label]
    negative = [score for score, label in examples if not label]
    found = ranking([s for s, _ in examples], [label for _, label in examples])
    if not positive or not negative:
        assert {area.unscored for area in found} == {"examples of one class only"}
        return
    pairs = [(a > b) + 0.5 * (a == b) for a in positive for b in negative]
    assert found.roc_auc.value == pytest.approx(sum(pairs) / len(pairs))
    mirrored = ranking([-s for s, _ in examples], [not label for _, label in examples])
    assert mirrored.average_precision == found.average_precision_negative


@given(
    st.integers(2, 8).flatmap(
        lambda n: st.tuples(
            st.lists(st.lists(st.integers(0, 5), min_size=n, max_size=n), min_size=1, max_size=4),
            st.lists(st.integers(0, 5), min_size=n, max_size=n),
        )
    )
)
def test_spearman_is_scipys(case: tuple[list[list[int]], list[int]]) -> None:
    from scipy.stats import spearmanr

    rows, reference = case
    for row, found in zip(rows, spearman_rows(rows, reference), strict=True):
        if len(set(row)) == 1 or len(set(reference)) == 1:
            assert found is None
        else:
            assert found == pytest.approx(spearmanr(row, reference).statistic, abs=1e-12)


def test_a_perfect_order_is_exactly_one() -> None:
    for n in range(2, 60):
        assert spearman(list(range(n)), [x**3 for x in range(n)]).value == 1.0
        assert spearman(list(range(n)), [-x for x in range(n)]).value == -1.0


def test_what_cannot_be_computed_says_why() -> None:
    assert spearman([1, 1], [1, 2]).unscored == "fewer than two different values on a side"
    assert spearman([1], [1]).unscored
    assert precision_recall([0.5], [False]) is None
    with pytest.raises(InputError, match=r"scores and labels: got 1 and 2, expected one of each"):
        at_threshold([1.0], [True, False], 0.5)
    with pytest.raises(InputError, match="got 0 and 0"):
        ranking([], [])
    with pytest.raises(InputError, match="got one that is not finite"):
        at_threshold([float("nan")], [True], 0.5)
    with pytest.raises(InputError, match=r"got values of shape \(1, 2\) and \(3,\)"):
        spearman([1, 2], [1, 2, 3])
    with pytest.raises(InputError, match="not finite, expected numbers"):
        spearman([1, float("inf")], [1, 2])
