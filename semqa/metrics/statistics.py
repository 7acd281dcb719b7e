"""Defined-or-explained statistics, significance tests and confidence intervals for rates."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Self

from semqa.extras import require

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic of `n` items, or the reason (`unscored`) why it is undefined; never NaN."""

    value: float | None
    n: int
    unscored: str | None = None

    def __post_init__(self) -> None:
        if (self.value is None) is (self.unscored is None):
            raise ValueError("a statistic needs either a value or a reason, not both")

    @classmethod
    def none(cls, reason: str, n: int = 0) -> Self:
        """Return an undefined statistic with the reason."""
        return cls(None, n, reason)

    @classmethod
    def mean(cls, values: Sequence[float], reason: str) -> Self:
        """Return the mean, undefined for the reason if there are no values."""
        return cls(statistics.fmean(values), len(values)) if values else cls.none(reason)

    def to_dict(self) -> dict[str, Any]:
        """Return ``value`` and ``n``, and ``unscored`` if there is no value."""
        return _without_reason(asdict(self))


CONFIDENCE = 0.95
"""Confidence level of all intervals."""


def percentile_interval(drawn: ArrayLike) -> tuple[float, float]:
    """Return the bounds of the middle 95% of resampled scores.

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13.

    Example:
        >>> low, high = percentile_interval(range(1001))
        >>> round(low), round(high)
        (25, 975)
    """
    import numpy as np

    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(np.asarray(drawn, dtype=np.float64), [tail, 100 - tail])
    return float(low), float(high)


def compare_rates(first: tuple[int, int], second: tuple[int, int]) -> Statistic:
    """Return the two-sided p-value of the pooled z-test of two independent rates (count, n).

    Source: Agresti, "Categorical Data Analysis" (3rd edition), section 3.2.

    Example:
        >>> compare_rates((94, 195), (198, 200)).value < 1e-29
        True
        >>> compare_rates((8, 8), (9, 9)).unscored
        'both rates are 0, or both are 1: there is no variance to test against'
    """
    (a, n), (b, m) = first, second
    if min(n, m) < 1:
        return Statistic.none("a rate has no items", n + m)
    if a + b in (0, n + m):
        reason = "both rates are 0, or both are 1: there is no variance to test against"
        return Statistic.none(reason, n + m)
    pooled = (a + b) / (n + m)
    z = (a / n - b / m) / math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    # erfc stays accurate far out in the tails, unlike 1 - cdf.
    return Statistic(math.erfc(abs(z) / math.sqrt(2)), n + m)


def correlation(left: Sequence[float], right: Sequence[float], *, ranks: bool = False) -> Statistic:
    """Return Pearson's correlation, or with `ranks` Spearman's, where ties get their mean rank.

    Numbers that differ by rounding only are equal.

    Example:
        >>> correlation([1, 2, 3], [1, 4, 9]).value < correlation([1, 2, 3], [1, 4, 9], ranks=True).value
        True
    """
    pair = [[round(each, 9) for each in side] for side in (left, right)]
    if any(len(set(side)) < 2 for side in pair):
        return Statistic.none("all values are equal", len(left))
    if ranks:
        stats = require("scipy.stats", extra="eval", purpose="Spearman's correlation")
        pair = [stats.rankdata(side).tolist() for side in pair]
    return Statistic(statistics.correlation(*pair), len(left))


@dataclass(frozen=True, slots=True)
class McNemar:
    """McNemar's test of `n` items judged twice, with the counts of yes in both or in one.

    If `p` is None, `unscored` gives the reason.
    """

    n: int
    both: int
    only_first: int
    only_second: int
    p: float | None
    unscored: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, without `unscored` if there is a p-value."""
        return _without_reason(asdict(self))


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """Test whether the same items get yes more often in one of two judgements.

    Exact and two-sided: under the null hypothesis, the items judged differently split between the
    two directions binomially with probability 1/2.

    Source: McNemar 1947; Agresti, section 11.1.

    Example:
        >>> mcnemar([True, True, True, False], [False, False, False, False]).p
        0.25
    """
    pairs = list(zip(first, second, strict=True))
    if not pairs:
        return McNemar(0, 0, 0, 0, None, "no item was judged twice")
    only_first, only_second = pairs.count((True, False)), pairs.count((False, True))
    n = only_first + only_second
    term = tail = 1  # integers until the final division
    for k in range(1, min(only_first, only_second) + 1):
        term = term * (n - k + 1) // k
        tail += term
    p = min(1.0, 2 * tail / (1 << n))
    return McNemar(len(pairs), pairs.count((True, True)), only_first, only_second, p)


def holm(values: Sequence[float]) -> list[float]:
    """Adjust the p-values of a family of tests for multiple comparisons.

    Source: Holm 1979.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, (len(values) - rank) * values[index])
        adjusted[index] = min(1.0, highest)
    return adjusted


def wilson_interval(count: int, n: int) -> tuple[float, float]:
    """Return the 95% Wilson score interval of a rate, in [0, 1].

    Source: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference" (1927).
    """
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    middle = (count + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(count * (n - count) / n + z * z / 4)
    # Exact bounds at the extremes: rounding must not cross 0 or 1.
    low = 0.0 if count == 0 else max(0.0, middle - half)
    high = 1.0 if count == n else min(1.0, middle + half)
    return low, high


def _without_reason(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "unscored" or value is not None}
