"""A figure that is a value, or says why it is none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, get_args

from semqa.errors import InputError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Statistic:
    """One figure and how many items it rests on; never a NaN.

    Attributes:
        value: the figure; None where `unscored` says why.
        n: items that it rests on.
        unscored: why there is no value; None where there is one.
    """

    value: float | None
    n: int
    unscored: str | None = None

    def __post_init__(self) -> None:
        if (self.value is None) is (self.unscored is None):
            raise ValueError("a statistic has either a value or a reason why it has none")

    @classmethod
    def none(cls, reason: str, n: int = 0) -> Self:
        """Return a figure without a value, for a reason."""
        return cls(None, n, reason)

    def to_dict(self) -> dict[str, Any]:
        """Return ``value``, ``n`` and, where there is no value, ``unscored``."""
        row: dict[str, Any] = {"value": self.value, "n": self.n}
        if self.unscored is not None:
            row["unscored"] = self.unscored
        return row


def percentile_interval(drawn: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """Return the bounds between which the middle of drawn scores lies.

    Args:
        drawn: the score of each resample, [resamples], at least one, and no NaN.
        confidence: the mass between the bounds, in (0, 1).

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13.

    Example:
        >>> percentile_interval(range(101), confidence=0.5)
        (25.0, 75.0)
    """
    import numpy as np

    tail = 50 * (1 - confidence)
    low, high = np.percentile(np.asarray(drawn, dtype=np.float64), [tail, 100 - tail])
    return float(low), float(high)


RateTest = Literal["z", "fisher", "chi2", "welch"]
"""Pooled two-proportion z; Fisher's exact; χ² with Yates' correction; Welch's t on zeros and ones."""

Alternative = Literal["two-sided", "less", "greater"]
"""What is held against "no difference": that the first rate is other, lower or higher."""

Correction = Literal["none", "bonferroni", "holm", "bh"]
"""For many tests: of the family-wise error (Bonferroni, Holm) or the false discovery rate (BH)."""

CONSTANT = "both rates are 0, or both are 1: there is no variance to test against"
TOO_FEW = "a rate rests on fewer than {least} items"
NO_PAIRS = "no item was judged twice"


class RateTestResult(NamedTuple):
    """What a test found.

    Attributes:
        p: in [0, 1]; None where `unscored` says why.
        statistic: z, χ² or t, or the odds ratio for Fisher's; None where there is none or it is infinite.
        unscored: why there is no p.
    """

    p: float | None
    statistic: float | None = None
    unscored: str | None = None


@dataclass(frozen=True, slots=True)
class McNemar:
    """The same items judged twice, by yes or no.

    Attributes:
        n: items judged both times.
        both: items with yes both times.
        only_first: items with yes the first time only.
        only_second: items with yes the second time only.
        p: exact and two-sided; None where no item was judged twice.
        unscored: why there is no p.
    """

    n: int
    both: int
    only_first: int
    only_second: int
    p: float | None
    unscored: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, without `unscored` where there is a p."""
        row: dict[str, Any] = {
            "n": self.n,
            "both": self.both,
            "only_first": self.only_first,
            "only_second": self.only_second,
            "p": self.p,
        }
        if self.unscored is not None:
            row["unscored"] = self.unscored
        return row


def compare_rates(
    first: tuple[int, int],
    second: tuple[int, int],
    *,
    test: RateTest = "z",
    alternative: Alternative = "two-sided",
) -> RateTestResult:
    """Test whether two independent rates differ.

    Args:
        first: (count, n).
        second: (count, n).
        test: which test; see `RateTest`. χ² has no direction, so only the two-sided alternative.
        alternative: see `Alternative`.

    Raises:
        InputError: a count is not in 0..n, or the test has no such alternative.
        MissingExtraError: Fisher's or Welch's test without scipy.

    Source: Agresti, "Categorical Data Analysis" (3rd edition), sections 3.2 and 3.5; Welch 1947.

    Example:
        >>> compare_rates((94, 195), (198, 200)).p < 1e-29
        True
        >>> compare_rates((8, 8), (9, 9)).unscored
        'both rates are 0, or both are 1: there is no variance to test against'
    """
    for count, n in (first, second):
        _check_rate(count, n)
    if test not in get_args(RateTest):
        raise _not_one_of("test", test, RateTest)
    if min(first[1], second[1]) < 1:
        return RateTestResult(None, unscored=TOO_FEW.format(least=1))
    if test == "z":
        return _z(first, second, alternative)
    if test == "fisher":
        return _fisher(first, second, alternative)
    if test == "chi2":
        if alternative != "two-sided":
            raise InputError("must be two-sided for χ².", field="alternative", value=alternative)
        return _chi2(first, second)
    return _welch(first, second, alternative)


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """Test whether the same items get yes more often the one time than the other.

    Exact: under no difference, each of the items judged differently is equally likely to be either
    way round, so their split is binomial with one half.

    Args:
        first: an item's judgement the first time.
        second: that of the second, in the same order.

    Raises:
        InputError: the judgements are not of the same items.

    Source: McNemar 1947; Agresti, section 11.1.

    Example:
        >>> mcnemar([True, True, True, False], [False, False, False, False]).p
        0.25
    """
    if len(first) != len(second):
        raise InputError(
            f"McNemar's test needs items judged twice, got {len(first)} and {len(second)} judgements."
        )
    pairs = list(zip(first, second, strict=True))
    both = sum(a and b for a, b in pairs)
    gained = sum(a and not b for a, b in pairs)
    lost = sum(b and not a for a, b in pairs)
    if not pairs:
        return McNemar(0, 0, 0, 0, None, NO_PAIRS)
    return McNemar(len(pairs), both, gained, lost, _sign_test(gained, lost))


def adjust(values: Sequence[float], method: Correction) -> list[float]:
    """Correct p-values for their number: what is returned is compared with the same level.

    Args:
        values: the p-values of one family of tests.
        method: see `Correction`.

    Returns:
        In the same order, at most 1.

    Raises:
        InputError: there is no such correction.

    Source: Holm 1979; Benjamini and Hochberg 1995.

    Example:
        >>> adjust([0.01, 0.04, 0.03], "holm")
        [0.03, 0.06, 0.06]
    """
    m = len(values)
    if method == "none":
        return list(values)
    if method == "bonferroni":
        return [min(1.0, m * p) for p in values]
    order = sorted(range(m), key=lambda place: values[place])
    adjusted = [0.0] * m
    if method == "holm":
        highest = 0.0
        for rank, place in enumerate(order):
            highest = max(highest, (m - rank) * values[place])
            adjusted[place] = min(1.0, highest)
        return adjusted
    if method == "bh":
        lowest = 1.0
        for rank in range(m, 0, -1):
            place = order[rank - 1]
            lowest = min(lowest, m / rank * values[place])
            adjusted[place] = lowest
        return adjusted
    raise _not_one_of("correction", method, Correction)


def wilson_interval(count: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval of a rate, which stays in [0, 1] and never has no width.

    Args:
        count: how many of them.
        n: of how many, at least 1.
        confidence: mass of the interval, in (0, 1).

    Raises:
        InputError: an argument is out of range.

    Source: Wilson, "Probable Inference, the Law of Succession, and Statistical Inference" (1927).
    """
    _check_interval(count, n, confidence)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    middle = (count + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(count * (n - count) / n + z * z / 4)
    # The ends are 0 and 1 exactly where no item, or each, counts; rounding must not pass them.
    low = 0.0 if count == 0 else max(0.0, middle - half)
    high = 1.0 if count == n else min(1.0, middle + half)
    return low, high


def bootstrap_interval(
    count: int, n: int, *, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile interval of a rate over resamples of its items.

    Drawing n zeros and ones with replacement and counting the ones *is* a binomial draw, so no item
    is touched. A rate of 0 or 1 gives an interval without width: Wilson's is better there.

    Raises:
        InputError: an argument is out of range.
    """
    _check_interval(count, n, confidence)
    check_resampling(resamples, confidence)
    import numpy as np

    drawn = np.random.default_rng(seed).binomial(n, count / n, size=resamples) / n
    return percentile_interval(drawn, confidence)


def check_resampling(resamples: int, confidence: float, *, least: int = 1) -> None:
    """Raise if a number of resamples, or the mass of an interval, is out of range."""
    if resamples < least:
        raise InputError(
            f"must be at least {least}, got {resamples}.", field="resamples", value=resamples
        )
    if not 0 < confidence < 1:
        raise InputError(
            f"must be between 0 and 1, got {confidence}.", field="confidence", value=confidence
        )


def _not_one_of(name: str, value: object, known: object) -> InputError:
    choices = ", ".join(get_args(known))
    return InputError(f"must be one of {choices}, got {value!r}.", field=name, value=value)


def _check_rate(count: int, n: int) -> None:
    if not 0 <= count <= n:
        raise InputError(f"A rate cannot be {count} of {n}.")


def _check_interval(count: int, n: int, confidence: float) -> None:
    _check_rate(count, n)
    if n < 1:
        raise InputError("The interval of a rate needs at least one item.")
    check_resampling(1, confidence)


def _z(first: tuple[int, int], second: tuple[int, int], alternative: Alternative) -> RateTestResult:
    (a, n), (b, m) = first, second
    pooled = (a + b) / (n + m)
    variance = pooled * (1 - pooled) * (1 / n + 1 / m)
    if a + b in (0, n + m):
        return RateTestResult(None, unscored=CONSTANT)
    z = (a / n - b / m) / math.sqrt(variance)
    # erfc keeps its digits far out in the tails, where 1 - cdf has none left.
    upper = math.erfc(z / math.sqrt(2)) / 2
    lower = math.erfc(-z / math.sqrt(2)) / 2
    tails = {"two-sided": math.erfc(abs(z) / math.sqrt(2)), "less": lower, "greater": upper}
    return RateTestResult(tails[alternative], z)


def _chi2(first: tuple[int, int], second: tuple[int, int]) -> RateTestResult:
    (a, n), (b, m) = first, second
    if a + b in (0, n + m):
        return RateTestResult(1.0, 0.0)  # one outcome only: each cell is as expected
    # By determinants; Yates' correction may not turn the difference over.
    excess = max(0.0, abs(a * (m - b) - b * (n - a)) - (n + m) / 2)
    statistic = (n + m) * excess**2 / (n * m * (a + b) * (n + m - a - b))
    return RateTestResult(math.erfc(math.sqrt(statistic / 2)), statistic)


def _fisher(
    first: tuple[int, int], second: tuple[int, int], alternative: Alternative
) -> RateTestResult:
    stats = require("scipy.stats", extra="eval", purpose="Fisher's exact test")
    (a, n), (b, m) = first, second
    odds, p = stats.fisher_exact([[a, n - a], [b, m - b]], alternative=alternative)
    return RateTestResult(float(p), float(odds) if math.isfinite(odds) else None)


def _welch(
    first: tuple[int, int], second: tuple[int, int], alternative: Alternative
) -> RateTestResult:
    if min(first[1], second[1]) < 2:
        return RateTestResult(None, unscored=TOO_FEW.format(least=2))
    moments = []
    for count, n in (first, second):
        moments += [count / n, math.sqrt(count * (n - count) / n / (n - 1)), n]
    if moments[1] == moments[4] == 0:
        return RateTestResult(None, unscored=CONSTANT)
    stats = require("scipy.stats", extra="eval", purpose="Welch's test")
    found = stats.ttest_ind_from_stats(*moments, equal_var=False, alternative=alternative)
    return RateTestResult(float(found.pvalue), float(found.statistic))


def _sign_test(gained: int, lost: int) -> float:
    """Return the two-sided p of a split under one half, in whole numbers up to the division."""
    n, fewer = gained + lost, min(gained, lost)
    term = tail = 1
    for k in range(1, fewer + 1):
        term = term * (n - k + 1) // k
        tail += term
    return min(1.0, 2 * tail / (1 << n))
