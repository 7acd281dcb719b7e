"""The interval that resamples of a score give: the one way in which all bootstraps here end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["percentile_interval"]


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
