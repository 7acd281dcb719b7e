"""Yes-or-no decisions held to the truth: confusion, balanced accuracy, thresholds, a paired test.

The *positive* class is what one looks for, such as an error; True stands for it. Figures of shares are
in percent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.errors import InputError
from semqa.metrics.percentiles import percentile_interval
from semqa.metrics.statistic import Statistic

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

__all__ = [
    "AccuracyTest",
    "Confusion",
    "Threshold",
    "compare_balanced_accuracy",
    "confusion",
    "tune_threshold",
]

NO_POSITIVE = "no item is positive"
NO_NEGATIVE = "no item is negative"
ONE_CLASS = "items of one class only"

_IMPROVES = 1e-12
"""A balanced accuracy (0-1) that is higher by less is the same: the first of equals wins."""


class Confusion(NamedTuple):
    """How decisions and truth meet.

    Attributes:
        tp: positive items decided positive.
        fn: positive items decided negative.
        fp: negative items decided positive.
        tn: negative items decided negative.
    """

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
    def recall(self) -> Statistic:
        """Share of the positive items that are decided positive, 0-100."""
        return _share(self.tp, self.fn + self.tp, NO_POSITIVE)

    @property
    def precision(self) -> Statistic:
        """Share of what is decided positive that is positive, 0-100."""
        return _share(self.tp, self.tp + self.fp, "nothing is decided positive")

    @property
    def balanced_accuracy(self) -> Statistic:
        """Mean of the recalls of the two classes, 0-100: 100 - (fpr + fnr) / 2.

        Example:
            >>> confusion([True, True, False], [True, False, False]).balanced_accuracy.value
            75.0
        """
        fpr, fnr = self.fpr.value, self.fnr.value
        if fpr is None or fnr is None:
            return Statistic.none(ONE_CLASS if self.n else "no items", self.n)
        return Statistic(100 - (fpr + fnr) / 2, self.n)

    def to_dict(self) -> dict[str, Any]:
        """Return counts and shares as a JSON-ready object; `unscored` says why a share is null."""
        shares = {"fpr": self.fpr, "fnr": self.fnr, "balanced_accuracy": self.balanced_accuracy}
        row: dict[str, Any] = {"n": self.n, **self._asdict()}
        row |= {name: share.value for name, share in shares.items()}
        unscored = {name: s.unscored for name, s in shares.items() if s.unscored is not None}
        return row | ({"unscored": unscored} if unscored else {})


class Threshold(NamedTuple):
    """A score up to which an item is decided positive.

    Attributes:
        value: the score; minus infinity where nothing is decided positive.
        balanced_accuracy: on the items that it was tuned on, 0-100.
        n: number of those.
    """

    value: float
    balanced_accuracy: float
    n: int

    def positive(self, score: float) -> bool:
        """Return the decision for a score."""
        return score <= self.value

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-ready object; the value is null where nothing is positive."""
        value = None if math.isinf(self.value) else self.value
        return {"value": value, "balanced_accuracy": self.balanced_accuracy, "n": self.n}


@dataclass(frozen=True, slots=True)
class AccuracyTest:
    """How the balanced accuracy of decisions A differs from that of decisions B.

    Attributes:
        n: items decided by both.
        groups: what was drawn: items, or the groups that they stand in.
        difference: A minus B, in points.
        mean: mean of the differences of the resamples.
        sd: their standard deviation.
        low: lower end of the confidence interval.
        high: upper end of it.
        p_below: share of the resamples with a difference of 0 or less.
        p_above: share of the resamples with a difference of 0 or more.
        p: two-sided: twice the smaller of the two shares with one added above and below, at most 1.
        resamples: those that count.
        left_out: resamples without an item of either class, which do not.
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
        return {name: getattr(self, name) for name in self.__slots__}


def confusion(truth: Sequence[bool], decided: Sequence[bool]) -> Confusion:
    """Count how decisions meet the truth.

    Raises:
        InputError: there is not one decision an item.
    """
    _check_lengths(truth, decided)
    counts = [0, 0, 0, 0]
    for true, found in zip(truth, decided, strict=True):
        counts[(0 if found else 1) if true else (2 if found else 3)] += 1
    return Confusion(*counts)


def tune_threshold(truth: Sequence[bool], scores: Sequence[float]) -> Threshold:
    """Find the score up to which items are best decided positive.

    Candidates are minus infinity and each score that occurs, in ascending order; of equal balanced
    accuracies the first wins.

    Args:
        truth: whether each item is positive.
        scores: one an item, low for what looks positive.

    Raises:
        InputError: there is not one score an item, one is no finite number, or all items are of
            one class.

    Example:
        >>> tune_threshold([True, True, False], [0.1, 0.4, 0.9]).value
        0.4
    """
    _check_lengths(truth, scores)
    for score in scores:
        if not math.isfinite(score):
            raise InputError(f"threshold: got the score {score}, expected finite numbers")
    positive = sum(truth)
    negative = len(truth) - positive
    if not positive or not negative:
        raise InputError(
            f"threshold: got {positive} positive and {negative} negative items, expected some of "
            "both; tune it on others"
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
        InputError: lengths differ, all items are of one class, or a setting is out of range.

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13 (percentile
    interval) and section 16.4 for drawing pairs.
    """
    import numpy as np

    for decided in (a, b, *([] if groups is None else [groups])):
        _check_lengths(truth, decided)
    if resamples < 1 or not 0 < confidence < 1:
        raise InputError(
            f"bootstrap: got {resamples} resamples and confidence {confidence}, expected at least "
            "1, and a number between 0 and 1"
        )
    observed = confusion(truth, a).balanced_accuracy, confusion(truth, b).balanced_accuracy
    if observed[0].value is None or observed[1].value is None:
        raise InputError(
            f"bootstrap: got {ONE_CLASS}, expected positive and negative ones; compare on more items"
        )
    cells = _cells(truth, a, b, range(len(truth)) if groups is None else groups)
    # Groups with equal counts cannot be told apart, so that a draw of groups is a multinomial one.
    kinds, sizes = np.unique(cells, axis=0, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(cells), sizes / len(cells), size=resamples)
    differences = _differences(drawn @ kinds)
    differences = differences[np.isfinite(differences)]
    count = len(differences)
    if not count:
        raise InputError(
            "bootstrap: got no resample with items of both classes, expected some; compare on more"
        )
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
    import numpy as np

    places: dict[Hashable, int] = {}
    for group in groups:
        places.setdefault(group, len(places))
    cells = np.zeros((len(places), 8), dtype=np.int64)
    for group, true, first, second in zip(groups, truth, a, b, strict=True):
        cells[places[group], 4 * bool(true) + 2 * bool(first) + bool(second)] += 1
    return cells


def _differences(counts: NDArray[Any]) -> NDArray[Any]:
    """Return balanced accuracy of A minus that of B, in points, for rows of eight counts.

    A negative item is decided right where a bit is 0; NaN for a row without items of one class.
    """
    import numpy as np

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


def _check_lengths(truth: Sequence[object], others: Sequence[object]) -> None:
    if len(truth) != len(others):
        raise InputError(
            f"decisions: got {len(others)} for {len(truth)} items, expected one an item; pair them first"
        )
