"""How well a score tells two classes apart: at a threshold, over all of them, and by rank.

Labels are booleans: True is what a *high* score speaks for. What cannot be computed (nothing is
predicted positive; one class only; all scores equal) is unscored with its reason, never NaN and
never a silent zero. All figures are in [0, 1]; correlations in [-1, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semqa.errors import InputError
from semqa.extras import require
from semqa.metrics.statistic import Statistic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "AtThreshold",
    "Detection",
    "PrecisionRecall",
    "Ranking",
    "at_threshold",
    "precision_recall",
    "ranking",
    "spearman",
    "spearman_rows",
]


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
            f"Spearman's correlation: got values of shape {table.shape} and {against.shape}, "
            "expected as many on both sides; pair them"
        )
    if not (np.isfinite(table).all() and np.isfinite(against).all()):
        raise InputError(
            "Spearman's correlation: got a value that is not finite, expected numbers; leave out "
            "what is unscored"
        )
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
    precision = _share(hits, predicted, "nothing is predicted to be of the class")
    recall = _share(hits, present, "nothing is of the class")
    if precision.value is None or recall.value is None:
        reason = precision.unscored or recall.unscored or ""
        return Detection(precision, recall, Statistic.none(reason, present))
    return Detection(precision, recall, Statistic(2 * hits / (predicted + present), present))


def _share(part: int, whole: int, reason: str) -> Statistic:
    return Statistic(part / whole, whole) if whole else Statistic.none(reason)


def _checked(
    scores: Sequence[float], labels: Sequence[bool]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    values = np.asarray(scores, dtype=np.float64)
    truth = np.asarray(labels, dtype=bool)
    if values.shape != truth.shape or values.ndim != 1 or not len(values):
        raise InputError(
            f"scores and labels: got {values.size} and {truth.size}, expected one of each for at "
            "least one example; pair them"
        )
    if not np.isfinite(values).all():
        raise InputError(
            "scores: got one that is not finite, expected numbers; leave out what is unscored"
        )
    return values, truth
