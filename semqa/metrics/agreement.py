"""How labels and decisions agree: raters with each other, decisions with the truth.

Labels of several raters are given as *units*: for each item its labels, in any order and number;
items with fewer than two say nothing about agreement and are left out. Of decisions, the *positive*
class (True) is what one looks for, such as an error. What is undefined is unscored with a reason,
never NaN. Shares of `Confusion` are in percent; everything else is in [0, 1] or [-1, 1].
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from semqa.errors import InputError
from semqa.extras import require
from semqa.metrics.statistics import Statistic, check_resampling, percentile_interval

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    Units = Sequence[Collection[Hashable]]

Level = Literal["nominal", "ordinal", "interval", "ratio"]

NO_ITEMS = "no items"
NOT_TWICE = "no item has two labels or more"
ONE_VALUE = "all labels are the same, so that no disagreement could be expected"


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> Statistic:
    """Return Cohen's kappa of two raters, or two runs of one, who labelled the same items.

    Unscored without items, and if both give the same label throughout: kappa is 0/0 then.

    Source: Cohen, "A Coefficient of Agreement for Nominal Scales" (1960), equation 1.

    Example:
        >>> cohen_kappa("yynn", "ynnn").value
        0.5
        >>> cohen_kappa("yy", "yy").unscored
        'all labels are the same, so that no disagreement could be expected'
    """
    n = len(first)
    if not n:
        return Statistic.none(NO_ITEMS)
    left, right = Counter(first), Counter(second)
    agreed = sum(a == b for a, b in zip(first, second, strict=True))
    # Whole numbers to the end: where chance explains all, rounding must not hide it.
    chance = sum(count * right[label] for label, count in left.items())
    if chance == n * n:
        return Statistic.none(ONE_VALUE, n)
    return Statistic((n * agreed - chance) / (n * n - chance), n)


def krippendorff_alpha(units: Units, *, level: Level = "nominal") -> Statistic:
    """Return Krippendorff's alpha, which takes any number of raters and missing labels.

    `Statistic.n` counts the items with two labels or more. Labels are numbers unless the level of
    measurement is nominal.

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
    """Return the chance that two labels of one item, drawn at random, are equal: mean over items.

    Example:
        >>> round(pairwise_agreement(["yyy", "yyn"]).value, 3)
        0.667
    """
    pairable = _pairable(units)
    if not pairable:
        return Statistic.none(NOT_TWICE)
    return Statistic(fmean(map(_agreeing_pairs, pairable)), len(pairable))


def unanimity(units: Units) -> Statistic:
    """Return the share of items whose labels are all equal."""
    pairable = _pairable(units)
    if not pairable:
        return Statistic.none(NOT_TWICE)
    return Statistic(fmean(len(set(unit)) == 1 for unit in pairable), len(pairable))


@dataclass(frozen=True, slots=True)
class ConsensusFit:
    """Single labels as predictions of their item's consensus: F1 of each label, their mean, accuracy."""

    f1: Mapping[Hashable, Statistic]
    macro: Statistic
    accuracy: Statistic


def consensus_fit(units: Units, consensus: Sequence[Hashable]) -> ConsensusFit:
    """Compare each single label with the consensus of its item; items without one are left out.

    The consensus is made of the same labels, so this flatters raters the more the fewer they are.
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
    # A label that occurs at all makes the denominator positive.
    f1 = {
        label: 2 * right[label] / (given[label] + true[label])
        for label in sorted(given.keys() | true.keys(), key=repr)
    }
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

_IMPROVES = 1e-12
"""A balanced accuracy (0-1) that is higher by less is the same: the first of equals wins."""


class Confusion(NamedTuple):
    """How decisions and truth meet: true positives, false negatives, false positives, true negatives."""

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
        """Share of the negative items that are decided positive, 0-100."""
        return _share(self.fp, self.fp + self.tn, NO_NEGATIVE)

    @property
    def fnr(self) -> Statistic:
        """Share of the positive items that are decided negative, 0-100."""
        return _share(self.fn, self.fn + self.tp, NO_POSITIVE)

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
        """Return counts and shares as a JSON-ready object; `unscored` says why a share is null."""
        shares = {"fpr": self.fpr, "fnr": self.fnr, "balanced_accuracy": self.balanced_accuracy}
        row: dict[str, Any] = {"n": self.n, **self._asdict()}
        row |= {name: share.value for name, share in shares.items()}
        unscored = {name: s.unscored for name, s in shares.items() if s.unscored is not None}
        return row | ({"unscored": unscored} if unscored else {})


def confusion(truth: Sequence[bool], decided: Sequence[bool]) -> Confusion:
    """Count how decisions meet the truth."""
    counts = Counter(zip(map(bool, truth), map(bool, decided), strict=True))
    return Confusion(
        *(counts[pair] for pair in ((True, True), (True, False), (False, True), (False, False)))
    )


class Threshold(NamedTuple):
    """A score up to which an item is decided positive; minus infinity if nothing is.

    `balanced_accuracy` (0-100) is that on the `n` items that it was tuned on.
    """

    value: float
    balanced_accuracy: float
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-ready object; the value is null where nothing is positive."""
        return self._asdict() | {"value": None if math.isinf(self.value) else self.value}


def tune_threshold(truth: Sequence[bool], scores: Sequence[float]) -> Threshold:
    """Find the score up to which items are best decided positive; low scores look positive.

    Candidates are minus infinity and each score that occurs, in ascending order; of equal balanced
    accuracies the first wins.

    Raises:
        InputError: a score is not finite, or all items are of one class.

    Example:
        >>> tune_threshold([True, True, False], [0.1, 0.4, 0.9]).value
        0.4
    """
    for score in scores:
        if not math.isfinite(score):
            raise InputError(f"A threshold needs finite scores, got {score}.")
    positive = sum(truth)
    negative = len(truth) - positive
    if not positive or not negative:
        raise InputError(
            f"A threshold needs items of both classes, got {positive} positive and {negative} negative."
        )
    best, accuracy = -math.inf, 0.5
    hits = alarms = 0
    order = sorted(zip(scores, truth, strict=True))
    for place, (score, true) in enumerate(order):
        hits += true
        alarms += not true
        if place + 1 < len(order) and order[place + 1][0] == score:
            continue
        found = (hits / positive + 1 - alarms / negative) / 2
        if found > accuracy + _IMPROVES:
            best, accuracy = score, found
    return Threshold(best, 100 * accuracy, len(order))


@dataclass(frozen=True, slots=True)
class AccuracyTest:
    """How the balanced accuracy of decisions A differs from that of decisions B, in points.

    Attributes:
        n: items decided by both.
        groups: number of what was drawn: items, or the groups that they stand in.
        difference: A minus B; `mean`, `sd`, `low` and `high` (the interval) are of its resamples.
        p_below, p_above: share of the resamples with a difference of 0 or less, and 0 or more.
        p: two-sided: twice the smaller of the two shares with one added above and below, at most 1.
        resamples: those that count; `left_out` have no item of either class.
    """

    n: int
    groups: int
    difference: float
    mean: float
    sd: float
    low: float
    high: float
    p_below: float
    p_above: float
    p: float
    resamples: int
    left_out: int

    def to_dict(self) -> dict[str, Any]:
        """Return the test as a JSON-ready object."""
        return asdict(self)


def compare_balanced_accuracy(
    truth: Sequence[bool],
    a: Sequence[bool],
    b: Sequence[bool],
    *,
    groups: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> AccuracyTest:
    """Test, by a paired bootstrap, whether two sets of decisions differ in balanced accuracy.

    Args:
        truth: whether each item is positive.
        a: the decisions of one judge.
        b: those of another, for the same items.
        groups: what each item belongs to, such as its document: groups are then drawn whole, for
            items of one group are not independent. By default items are drawn.
        resamples: how many draws.
        seed: of the draws.
        confidence: mass of the interval, in (0, 1).

    Raises:
        InputError: all items are of one class, or a setting is out of range.

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13 (percentile
    interval) and section 16.4 for drawing pairs.
    """
    check_resampling(resamples, confidence)
    observed = confusion(truth, a).balanced_accuracy, confusion(truth, b).balanced_accuracy
    if observed[0].value is None or observed[1].value is None:
        raise InputError("A comparison needs positive and negative items.")
    cells = _cells(truth, a, b, range(len(truth)) if groups is None else groups)
    # Groups with equal counts cannot be told apart, so that a draw of groups is a multinomial one.
    kinds, sizes = np.unique(cells, axis=0, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(cells), sizes / len(cells), size=resamples)
    differences = _differences(drawn @ kinds)
    differences = differences[np.isfinite(differences)]
    count = len(differences)
    if not count:
        raise InputError("No resample has items of both classes: compare on more items.")
    low, high = percentile_interval(differences, confidence)
    below, above = int((differences <= 0).sum()), int((differences >= 0).sum())
    return AccuracyTest(
        n=len(truth),
        groups=len(cells),
        difference=observed[0].value - observed[1].value,
        mean=float(differences.mean()),
        sd=float(differences.std(ddof=1)) if count > 1 else 0.0,
        low=low,
        high=high,
        p_below=below / count,
        p_above=above / count,
        p=min(1.0, 2 * (1 + min(below, above)) / (1 + count)),
        resamples=count,
        left_out=resamples - count,
    )


def _cells(
    truth: Sequence[bool], a: Sequence[bool], b: Sequence[bool], groups: Sequence[Hashable]
) -> NDArray[Any]:
    """Count the items of each group by truth and both decisions: [groups, 8]."""
    places = {group: place for place, group in enumerate(dict.fromkeys(groups))}
    cells = np.zeros((len(places), 8), dtype=np.int64)
    for group, true, first, second in zip(groups, truth, a, b, strict=True):
        cells[places[group], 4 * bool(true) + 2 * bool(first) + bool(second)] += 1
    return cells


def _differences(counts: NDArray[Any]) -> NDArray[Any]:
    """Return balanced accuracy of A minus that of B, in points, for rows of eight counts.

    A negative item is decided right where a bit is 0; NaN for a row without items of one class.
    """
    negative, positive = counts[:, :4].sum(axis=1), counts[:, 4:].sum(axis=1)
    alarms = counts[:, [2, 3]].sum(axis=1) - counts[:, [1, 3]].sum(axis=1)
    hits = counts[:, [6, 7]].sum(axis=1) - counts[:, [5, 7]].sum(axis=1)
    both = (negative > 0) & (positive > 0)
    blank = np.full(len(counts), np.nan)
    gained = np.divide(hits, positive, out=blank.copy(), where=both)
    lost = np.divide(alarms, negative, out=blank, where=both)
    result: NDArray[Any] = 50 * (gained - lost)
    return result


def _share(part: int, whole: int, reason: str) -> Statistic:
    return Statistic(100 * part / whole, whole) if whole else Statistic.none(reason)
