"""How labels, decisions and scores agree: raters with each other, decisions and scores with the truth.

Labels of several raters are given as *units*: for each item its labels, in any order and number;
items with fewer than two say nothing about agreement and are left out. Of decisions, the *positive*
class (True) is what one looks for, such as an error. What is undefined is unscored with a reason,
never NaN. Shares of `Confusion` are in percent; everything else is in [0, 1] or [-1, 1].
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from semqa.errors import InputError
from semqa.extras import require
from semqa.metrics.statistics import Statistic, check_resampling, percentile_interval

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence

    Units = Sequence[Collection[Hashable]]
    from collections.abc import Hashable, Sequence

    from numpy.typing import ArrayLike, NDArray

Level = Literal["nominal", "ordinal", "interval", "ratio"]

NO_ITEMS = "no items"
NOT_TWICE = "no item has two labels or more"
ONE_VALUE = "all labels are the same, so that no disagreement could be expected"


@dataclass(frozen=True, slots=True)
class ConsensusFit:
    """How single labels stand to the consensus of their items, all labels pooled.

    Attributes:
        f1: for each label, F1 of the single labels as predictions of the consensus, 0-1.
        macro: the mean of those.
        accuracy: the share of single labels that are their item's consensus.
    """

    f1: Mapping[Hashable, Statistic]
    macro: Statistic
    accuracy: Statistic


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> Statistic:
    """Return Cohen's kappa of two raters (or two runs of one) who labelled the same items.

    Args:
        first: a label an item.
        second: a label an item, in the same order.

    Returns:
        1 for agreement throughout, 0 for what chance gives, at least -1. Unscored without items,
        and where both give one and the same label throughout: chance then explains all of it, and
        kappa is 0/0.

    Raises:
        InputError: they labelled different numbers of items.

    Source: Cohen, "A Coefficient of Agreement for Nominal Scales" (1960), equation 1.

    Example:
        >>> cohen_kappa("yynn", "ynnn").value
        0.5
        >>> cohen_kappa("yy", "yy").unscored
        'all labels are the same, so that no disagreement could be expected'
    """
    if len(first) != len(second):
        raise InputError(
            f"Kappa needs two labels per item, got {len(first)} and {len(second)} labels."
        )
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

    Args:
        units: the labels of each item; numbers where the level is not nominal.
        level: of measurement, which says how far apart two labels are.

    Returns:
        1 for agreement throughout, 0 for what chance gives; `Statistic.n` counts the items with
        two labels or more. Unscored where there is none, or all labels are the same.

    Raises:
        InputError: a label of a level that is not nominal is no number.
        MissingExtraError: the package krippendorff is not installed.

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
    if level != "nominal" and not all(isinstance(label, (int, float)) for label in labels):
        raise InputError(f"The level {level} needs labels that are numbers.")
    import numpy as np

    package = require("krippendorff", extra="eval", purpose="Krippendorff's alpha")
    domain: list[Any] = sorted(labels, key=repr if level == "nominal" else None)
    place = {label: number for number, label in enumerate(domain)}
    counts = np.zeros((len(pairable), len(domain)), dtype=np.int64)
    for row, unit in enumerate(pairable):
        for label in unit:
            counts[row, place[label]] += 1
    alpha = package.alpha(
        value_counts=counts,
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


def consensus_fit(units: Units, consensus: Sequence[Hashable]) -> ConsensusFit:
    """Hold each single label to the consensus of its item, as if it predicted that.

    The consensus is made of the same labels, so this flatters raters the more the fewer they are.

    Args:
        units: the labels of each item.
        consensus: one label an item; items where it is None are left out.

    Returns:
        F1 for each label that occurs, their mean, and accuracy; n counts single labels.

    Raises:
        InputError: there is not one consensus an item.
    """
    if len(units) != len(consensus):
        raise InputError(
            f"needs one label or None per item, got {len(consensus)} for {len(units)} items.",
            field="consensus",
        )
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
        label: Statistic(2 * right[label] / (given[label] + true[label]), n)
        for label in sorted(given.keys() | true.keys(), key=repr)
    }
    macro = fmean(2 * right[label] / (given[label] + true[label]) for label in f1)
    return ConsensusFit(f1, Statistic(macro, n), Statistic(right.total() / n, n))


def _pairable(units: Units) -> Units:
    return [unit for unit in units if len(unit) > 1]


def _agreeing_pairs(unit: Collection[Hashable]) -> float:
    n = len(unit)
    return sum(count * (count - 1) for count in Counter(unit).values()) / (n * (n - 1))


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
        raise InputError(f"There are {len(others)} decisions for {len(truth)} items.")


class Detection(NamedTuple):
    """How one class is detected.

    Attributes:
        precision: unscored where nothing is predicted to be of the class.
        recall: unscored where nothing is of the class.
        f1: unscored where either is; 0 where nothing is hit.
    """

    precision: Statistic
    recall: Statistic
    f1: Statistic


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """Predictions at one threshold: a score above it is positive, one at it or below is not.

    Attributes:
        threshold: of the score.
        true_positives: positives predicted to be positive; the other counts likewise.
        false_positives: negatives predicted to be positive.
        false_negatives: positives predicted to be negative.
        true_negatives: negatives predicted to be negative.
    """

    threshold: float
    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def n(self) -> int:
        """Number of examples."""
        return (
            self.true_positives + self.false_positives + self.false_negatives + self.true_negatives
        )

    @property
    def accuracy(self) -> float:
        """Share of examples that are predicted right."""
        return (self.true_positives + self.true_negatives) / self.n

    @property
    def positive(self) -> Detection:
        """How the positives are detected."""
        return _detection(self.true_positives, self.false_positives, self.false_negatives)

    @property
    def negative(self) -> Detection:
        """How the negatives are detected."""
        return _detection(self.true_negatives, self.false_negatives, self.false_positives)


class PrecisionRecall(NamedTuple):
    """A precision-recall curve, as scikit-learn defines it: one point a threshold, and (1, 0).

    Attributes:
        precision: [points], in [0, 1].
        recall: [points], in [0, 1], falling.
        thresholds: [points - 1], rising; a score at the threshold is predicted positive here, for
            that is the definition of the curve.
    """

    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    thresholds: NDArray[np.float64]


class Ranking(NamedTuple):
    """How well scores rank, whatever the threshold.

    Attributes:
        roc_auc: area under the ROC curve: the chance that a positive is above a negative.
        average_precision: of detecting the positives by high scores.
        average_precision_negative: of detecting the negatives by low scores.
    """

    roc_auc: Statistic
    average_precision: Statistic
    average_precision_negative: Statistic


def at_threshold(scores: Sequence[float], labels: Sequence[bool], threshold: float) -> AtThreshold:
    """Predict by a threshold, and count; equal to the threshold is negative.

    Raises:
        InputError: there are no examples, or not a finite score for each label.

    Example:
        >>> found = at_threshold([0.2, 0.5, 0.9], [False, True, True], 0.5)
        >>> found.positive.precision.value, found.positive.recall.value
        (1.0, 0.5)
    """
    values, truth = _checked(scores, labels)
    predicted = values > threshold
    return AtThreshold(
        threshold,
        int((predicted & truth).sum()),
        int((predicted & ~truth).sum()),
        int((~predicted & truth).sum()),
        int((~predicted & ~truth).sum()),
    )


def precision_recall(scores: Sequence[float], labels: Sequence[bool]) -> PrecisionRecall | None:
    """Return the curve of detecting the positives; None where there is no positive.

    For the curve of detecting the negatives by low scores give ``1 - score`` and the labels turned
    over.

    Raises:
        InputError: there are no examples, or not a finite score for each label.
    """
    values, truth = _checked(scores, labels)
    if not truth.any():
        return None
    sklearn = require("sklearn.metrics", extra="eval", purpose="a precision-recall curve")
    return PrecisionRecall(*sklearn.precision_recall_curve(truth, values))


def ranking(scores: Sequence[float], labels: Sequence[bool]) -> Ranking:
    """Return the areas under the curves; unscored where one of the classes is missing.

    Raises:
        InputError: there are no examples, or not a finite score for each label.
    """
    values, truth = _checked(scores, labels)
    n = len(values)
    if truth.all() or not truth.any():
        return Ranking(*[Statistic.none("examples of one class only", n)] * 3)
    sklearn = require("sklearn.metrics", extra="eval", purpose="the area under a curve")
    return Ranking(
        Statistic(float(sklearn.roc_auc_score(truth, values)), n),
        Statistic(float(sklearn.average_precision_score(truth, values)), n),
        Statistic(float(sklearn.average_precision_score(~truth, -values)), n),
    )


def spearman(a: Sequence[float], b: Sequence[float]) -> Statistic:
    """Return Spearman's rank correlation, ties at their mean rank.

    Returns:
        Unscored where all values of one side are equal, or there are fewer than two.

    Raises:
        InputError: the sides differ in length, or a value is not finite.

    Example:
        >>> spearman([1, 2, 3, 4], [10, 20, 40, 30]).value
        0.8
    """
    (found,) = spearman_rows([list(a)], b)
    if found is None:
        return Statistic.none("fewer than two different values on a side", len(b))
    return Statistic(found, len(b))


def spearman_rows(rows: ArrayLike, reference: Sequence[float]) -> list[float | None]:
    """Return Spearman's correlation of each row with one reference; None where it is unscored.

    Args:
        rows: [rows, n].
        reference: [n].

    Raises:
        InputError: the shapes do not fit, or a value is not finite.
    """
    table = np.asarray(rows, dtype=np.float64)
    against = np.asarray(reference, dtype=np.float64)
    if table.ndim != 2 or against.ndim != 1 or table.shape[1] != len(against):
        raise InputError(
            f"Spearman's correlation needs pairs, got shapes {table.shape} and {against.shape}."
        )
    if not (np.isfinite(table).all() and np.isfinite(against).all()):
        raise InputError("Spearman's correlation needs finite values.")
    if table.shape[1] < 2:
        return [None] * len(table)
    stats = require("scipy.stats", extra="eval", purpose="Spearman's correlation")
    left = 2 * stats.rankdata(table, axis=1)
    right = 2 * stats.rankdata(against)
    # Doubled ranks and their mean, n + 1, are whole numbers: products are exact, ties are ties.
    left -= table.shape[1] + 1
    right -= table.shape[1] + 1
    spread = np.sqrt((left**2).sum(axis=1) * (right**2).sum())
    return [
        float(np.clip(c / s, -1.0, 1.0)) if s > 0 else None
        for c, s in zip(left @ right, spread, strict=True)
    ]


def _detection(hits: int, false: int, missed: int) -> Detection:
    predicted, present = hits + false, hits + missed
    precision = _fraction(hits, predicted, "nothing is predicted to be of the class")
    recall = _fraction(hits, present, "nothing is of the class")
    if precision.value is None or recall.value is None:
        reason = precision.unscored or recall.unscored or ""
        return Detection(precision, recall, Statistic.none(reason, present))
    return Detection(precision, recall, Statistic(2 * hits / (predicted + present), present))


def _fraction(part: int, whole: int, reason: str) -> Statistic:
    return Statistic(part / whole, whole) if whole else Statistic.none(reason)


def _checked(
    scores: Sequence[float], labels: Sequence[bool]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    values = np.asarray(scores, dtype=np.float64)
    truth = np.asarray(labels, dtype=bool)
    if values.shape != truth.shape or values.ndim != 1 or not len(values):
        raise InputError(
            f"Each example needs a score and a label, got {values.size} and {truth.size}."
        )
    if not np.isfinite(values).all():
        raise InputError("Scores must be finite.")
    return values, truth
