"""The mean of independent scores, with its percentile interval by the bootstrap."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semqa.errors import InputError
from semqa.metrics.percentiles import percentile_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Mean", "mean_with_interval"]

_DRAWN_AT_ONCE = 1 << 20


class Mean(NamedTuple):
    """A mean.

    Attributes:
        value: None where there is nothing to take the mean of.
        n: how many values it rests on.
        interval: (low, high), or None without resamples or below two values.
    """

    value: float | None
    n: int
    interval: tuple[float, float] | None


def mean_with_interval(
    values: Sequence[float], *, resamples: int = 1000, seed: int = 0, confidence: float = 0.95
) -> Mean:
    """Return the mean of values, each of which a resample draws on its own.

    Args:
        values: finite numbers.
        resamples: of the bootstrap; 0 for no interval.
        seed: of a generator made here.
        confidence: mass of the interval, in (0, 1).

    Raises:
        InputError: a setting is out of range.

    Example:
        >>> mean_with_interval([0.0, 1.0, 1.0, 0.0], resamples=0)
        Mean(value=0.5, n=4, interval=None)
    """
    if resamples < 0:
        raise InputError(f"resamples: got {resamples}, expected at least 0; correct it")
    if not 0 < confidence < 1:
        raise InputError(f"confidence: got {confidence}, expected between 0 and 1; correct it")
    n = len(values)
    if not n:
        return Mean(None, 0, None)
    if not resamples or n < 2:
        return Mean(fmean(values), n, None)
    generator = np.random.default_rng(seed)
    array = np.asarray(values, dtype=np.float64)
    means: list[float] = []
    while len(means) < resamples:
        part = min(resamples - len(means), max(1, _DRAWN_AT_ONCE // n))
        means += array[generator.integers(n, size=(part, n))].mean(axis=1).tolist()
    return Mean(fmean(values), n, percentile_interval(means, confidence))
