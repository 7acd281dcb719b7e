"""Agreement between raters, and accuracy of binary decisions.

Labels of several raters are passed as *units*: the labels of each item, in any order and number.
Items with fewer than two labels are ignored in agreement scores. In decisions, the *positive* class
(True) is the one to detect, such as an error. An undefined score is never NaN but carries a reason.
`Confusion` and `Threshold` give percentages; all other scores are in [0, 1] or [-1, 1].
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from semqa.errors import InputError
from semqa.extras import require
from semqa.metrics.statistics import Statistic, percentile_interval

if TYPE_CHECKING:
    Units = Sequence[Collection[Hashable]]

Level = Literal["nominal", "ordinal", "interval", "ratio"]

NO_ITEMS = "no items"
NOT_TWICE = "no item has at least two labels"
ONE_VALUE = "all labels are the same, so the expected disagreement is 0"


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> Statistic:
    """Return Cohen's kappa of two raters, or of two runs of one rater, on the same items.

    Undefined without items, and if both raters give every item the same label (kappa is 0/0).

    Source: Cohen, "A Coefficient of Agreement for Nominal Scales" (1960), equation 1.

    Example:
        >>> cohen_kappa("yynn", "ynnn").value
        0.5
        >>> cohen_kappa("yy", "yy").unscored
        'all labels are the same, so the expected disagreement is 0'
    """
    n = len(first)
    if not n:
        return Statistic.none(NO_ITEMS)
    left, right = Counter(first), Counter(second)
    agreed = sum(a == b for a, b in zip(first, second, strict=True))
    # Integers, so the test for chance agreement of 1 is exact.
    chance = sum(count * right[label] for label, count in left.items())
    if chance == n * n:
        return Statistic.none(ONE_VALUE, n)
    return Statistic((n * agreed - chance) / (n * n - chance), n)


def krippendorff_alpha(units: Units, *, level: Level = "nominal") -> Statistic:
    """Return Krippendorff's alpha for any number of raters; labels may be missing.

    `Statistic.n` counts the items with at least two labels. Labels must be numbers unless `level`
    is nominal.

    Source: Krippendorff, "Content Analysis" (4th edition, 2018), section 12.3.

    Example:
        >>> round(krippendorff_alpha(["yyy", "nnn", "yyn"]).value, 3)
        0.6
    """
    pairable = _pairable(units)
    if not pairable:
        return Statistic.none(NOT_TWICE)
    labels = set(chain.from_iterable(pairable))
    if len(labels) == 1:
        return Statistic.none(ONE_VALUE, len(pairable))
    package = require("krippendorff", extra="eval", purpose="Krippendorff's alpha")
    domain: list[Any] = sorted(labels, key=repr if level == "nominal" else None)
    counts = [[list(unit).count(label) for label in domain] for unit in pairable]
    alpha = package.alpha(
        value_counts=np.array(counts),
        value_domain=list(range(len(domain))) if level == "nominal" else domain,
        level_of_measurement=level,
    )
    return Statistic(float(alpha), len(pairable))


def pairwise_agreement(units: Units) -> Statistic:
    """Return the mean probability that two random labels of an item are equal.

    Example:
        >>> round(pairwise_agreement(["yyy", "yyn"]).value, 3)
        0.667
    """
    return Statistic.mean(list(map(_agreeing_pairs, _pairable(units))), NOT_TWICE)


def unanimity(units: Units) -> Statistic:
    """Return the share of items on which all labels agree."""
    return Statistic.mean([len(set(unit)) == 1 for unit in _pairable(units)], NOT_TWICE)


@dataclass(frozen=True, slots=True)
class ConsensusFit:
    """Scores of single labels as predictions of their item's consensus; `f1` is per label."""

    f1: Mapping[Hashable, Statistic]
    macro: Statistic
    accuracy: Statistic


def consensus_fit(units: Units, consensus: Sequence[Hashable]) -> ConsensusFit:
    """Compare each label with the consensus of its item; items without a consensus are ignored.

    The consensus comes from the same labels, so the scores are optimistic, more so with few raters.
    """
    pairs = [
        (label, truth)
        for unit, truth in zip(units, consensus, strict=True)
        if truth is not None
        for label in unit
    ]
    if not pairs:
        nothing = Statistic.none(NO_ITEMS)
        return ConsensusFit({}, nothing, nothing)
    n = len(pairs)
    given, true = Counter(label for label, _ in pairs), Counter(truth for _, truth in pairs)
    right = Counter(label for label, truth in pairs if label == truth)
    names = sorted(given.keys() | true.keys(), key=repr)
    f1 = {label: 2 * right[label] / (given[label] + true[label]) for label in names}
    return ConsensusFit(
        {label: Statistic(value, n) for label, value in f1.items()},
        Statistic(fmean(f1.values()), n),
        Statistic(right.total() / n, n),
    )


def _pairable(units: Units) -> Units:
    return [unit for unit in units if len(unit) > 1]


def _agreeing_pairs(unit: Collection[Hashable]) -> float:
    n = len(unit)
    return sum(count * (count - 1) for count in Counter(unit).values()) / (n * (n - 1))


NO_POSITIVE = "no item is positive"
NO_NEGATIVE = "no item is negative"

_MIN_GAIN = 1e-12
"""Minimum gain in balanced accuracy (0-1) that counts; below it, the first candidate wins."""


class Confusion(NamedTuple):
    """Confusion matrix of binary decisions."""

    tp: int
    fn: int
    fp: int
    tn: int

    @property
    def n(self) -> int:
        """Number of items."""
        return sum(self)

    @property
    def fpr(self) -> Statistic:
        """False positive rate, 0-100."""
        return _rate(self.fp, self.fp + self.tn, NO_NEGATIVE)

    @property
    def fnr(self) -> Statistic:
        """False negative rate, 0-100."""
        return _rate(self.fn, self.fn + self.tp, NO_POSITIVE)

    @property
    def balanced_accuracy(self) -> Statistic:
        """Mean of the recalls of the two classes, 0-100: 100 - (fpr + fnr) / 2.

        Example:
            >>> confusion([True, True, False], [True, False, False]).balanced_accuracy.value
            75.0
        """
        fpr, fnr = self.fpr.value, self.fnr.value
        if fpr is None or fnr is None:
            return Statistic.none("items of one class only" if self.n else NO_ITEMS, self.n)
        return Statistic(100 - (fpr + fnr) / 2, self.n)

    def to_dict(self) -> dict[str, Any]:
        """Return counts and rates for JSON; `unscored` gives the reason if a rate is null."""
        rates = {"fpr": self.fpr, "fnr": self.fnr, "balanced_accuracy": self.balanced_accuracy}
        row: dict[str, Any] = {"n": self.n, **self._asdict()}
        row |= {name: rate.value for name, rate in rates.items()}
        unscored = {name: r.unscored for name, r in rates.items() if r.unscored is not None}
        return row | ({"unscored": unscored} if unscored else {})


def confusion(truth: Sequence[bool], decided: Sequence[bool]) -> Confusion:
    """Return the confusion matrix of decisions."""
    counts = Counter(zip(map(bool, truth), map(bool, decided), strict=True))
    return Confusion(
        *(counts[pair] for pair in ((True, True), (True, False), (False, True), (False, False)))
    )


class Threshold(NamedTuple):
    """The highest score that counts as positive; minus infinity if no score does.

    `balanced_accuracy` (0-100) is measured on the `n` items used for tuning.
    """

    value: float
    balanced_accuracy: float
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Return the threshold for JSON; the value is null if it is minus infinity."""
        return self._asdict() | {"value": None if math.isinf(self.value) else self.value}


def tune_threshold(truth: Sequence[bool], scores: Sequence[float]) -> Threshold:
    """Find the threshold with the highest balanced accuracy; low scores mean positive.

    Candidates are minus infinity and each score that occurs, in ascending order. The first wins a
    tie.

    Example:
        >>> tune_threshold([True, True, False], [0.1, 0.4, 0.9]).value
        0.4
    """
    for score in scores:
        if not math.isfinite(score):
            raise InputError(f"Tuning a threshold needs finite scores, got {score}.")
    positive = sum(truth)
    negative = len(truth) - positive
    if not positive or not negative:
        raise InputError(
            f"Tuning a threshold needs items of both classes, got {positive} positive and "
            f"{negative} negative."
        )
    best, accuracy = -math.inf, 0.5
    true_positives = false_positives = 0
    order = sorted(zip(scores, truth, strict=True))
    for index, (score, true) in enumerate(order):
        true_positives += true
        false_positives += not true
        if index + 1 < len(order) and order[index + 1][0] == score:
            continue
        candidate = (true_positives / positive + 1 - false_positives / negative) / 2
        if candidate > accuracy + _MIN_GAIN:
            best, accuracy = score, candidate
    return Threshold(best, 100 * accuracy, len(order))


@dataclass(frozen=True, slots=True)
class AccuracyTest:
    """Difference in balanced accuracy between decisions A and B (A minus B), in points.

    Attributes:
        n: number of items.
        groups: number of units drawn in each resample: groups of items, or single items.
        low, high: the interval.
        p: twice the smaller share of resamples with a difference of at most, or at least, 0 (with
            one added to both counts), at most 1.
        resamples: number of resamples used; those with only one class are left out.
    """

    n: int
    groups: int
    difference: float
    low: float
    high: float
    p: float
    resamples: int


def compare_balanced_accuracy(
    truth: Sequence[bool],
    a: Sequence[bool],
    b: Sequence[bool],
    *,
    groups: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> AccuracyTest:
    """Test with a paired bootstrap whether two sets of decisions differ in balanced accuracy.

    `groups` has the group of each item, such as its document. Groups are drawn whole, because their
    items are not independent. By default, single items are drawn.

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13 (percentile
    interval) and section 16.4 for drawing pairs.
    """
    observed = confusion(truth, a).balanced_accuracy, confusion(truth, b).balanced_accuracy
    if observed[0].value is None or observed[1].value is None:
        raise InputError("The comparison needs positive and negative items.")
    cells = _cells(truth, a, b, range(len(truth)) if groups is None else groups)
    # Groups with equal counts are interchangeable, so drawing groups is a multinomial draw.
    kinds, sizes = np.unique(cells, axis=0, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(cells), sizes / len(cells), size=resamples)
    differences = _differences(drawn @ kinds)
    differences = differences[np.isfinite(differences)]
    count = len(differences)
    if not count:
        raise InputError("No resample has items of both classes. Compare more items.")
    low, high = percentile_interval(differences)
    below, above = int((differences <= 0).sum()), int((differences >= 0).sum())
    p = min(1.0, 2 * (1 + min(below, above)) / (1 + count))
    difference = observed[0].value - observed[1].value
    return AccuracyTest(len(truth), len(cells), difference, low, high, p, count)


def _cells(
    truth: Sequence[bool], a: Sequence[bool], b: Sequence[bool], groups: Sequence[Hashable]
) -> NDArray[Any]:
    """Count the items of each group by truth and both decisions: shape [groups, 8]."""
    indices = {group: index for index, group in enumerate(dict.fromkeys(groups))}
    cells = np.zeros((len(indices), 8), dtype=np.int64)
    for group, true, first, second in zip(groups, truth, a, b, strict=True):
        cells[indices[group], 4 * bool(true) + 2 * bool(first) + bool(second)] += 1
    return cells


def _differences(counts: NDArray[Any]) -> NDArray[Any]:
    """Return the difference in balanced accuracy (A minus B, in points) per row of eight counts.

    NaN for rows with only one class. The column number has the bits truth, decision A, decision B.
    """
    negative, positive = counts[:, :4].sum(axis=1), counts[:, 4:].sum(axis=1)
    fp_difference = counts[:, [2, 3]].sum(axis=1) - counts[:, [1, 3]].sum(axis=1)
    tp_difference = counts[:, [6, 7]].sum(axis=1) - counts[:, [5, 7]].sum(axis=1)
    with np.errstate(invalid="ignore"):  # 0 / 0
        result: NDArray[Any] = 50 * (tp_difference / positive - fp_difference / negative)
    return result


def _rate(part: int, whole: int, reason: str) -> Statistic:
    return Statistic(100 * part / whole, whole) if whole else Statistic.none(reason)
