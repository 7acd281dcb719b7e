"""How much random work tests do: ``SEMQA_TEST_EFFORT`` times what is usual, 1 unless it is set.

Random cases are other ones in each run of hypothesis, so runs add up; ``SEMQA_TEST_EFFORT=10`` is
for the day on which the language changes.
"""

from __future__ import annotations

import os

__all__ = ["effort"]

EFFORT = float(os.environ.get("SEMQA_TEST_EFFORT", "1"))


def effort(usual: int) -> int:
    """Return how many cases to try, at least one."""
    return max(1, round(usual * EFFORT))
