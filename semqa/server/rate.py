"""How many requests a key may make: a bucket each, that fills up steadily."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RateLimit"]

MAX_KNOWN = 10_000
"""Buckets that are kept; beyond, those longest unused are forgotten, which are full again."""


class RateLimit:
    """Allows a number of requests a minute, and up to as many at once after a pause.

    Args:
        per_minute: requests; 0 for no limit.
        clock: seconds.

    Example:
        >>> limit = RateLimit(2, clock=lambda: 0.0)
        >>> [limit.wait("k") for _ in range(3)]
        [0.0, 0.0, 30.0]
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str) -> float:
        """Take one request of a key; returns 0, or the seconds until one is allowed."""
        wait = self.left(key)
        if self._most:
            left, now = self._buckets.pop(key)
            self._buckets[key] = (left if wait else left - 1, now)
            while len(self._buckets) > MAX_KNOWN:
                self._buckets.popitem(last=False)
        return wait

    def left(self, key: str) -> float:
        """Return 0 if a request is allowed, or the seconds until one is; takes none."""
        if not self._most:
            return 0.0
        now = self._clock()
        left, seen = self._buckets.pop(key, (self._most, now))
        left = min(self._most, left + (now - seen) * self._most / 60)
        self._buckets[key] = (left, now)
        return 0.0 if left >= 1 else (1 - left) * 60 / self._most
