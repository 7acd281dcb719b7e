"""``--limit``: how many questions, or which share of them, as lm-evaluation-harness reads it."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_limit", "resolve_limit"]

_RULE = "a whole number from 1, or a share between 0 and 1 such as 0.1"


def read_limit(text: str) -> int | float:
    """Read a number of questions, or a share of them, which is below 1.

    Raises:
        ValueError: it is neither; what is expected is the message.

    Example:
        >>> read_limit("20"), read_limit("0.1")
        (20, 0.1)
    """
    if re.fullmatch(r"[0-9]{1,18}", text) and int(text):
        return int(text)
    if re.fullmatch(r"[0-9]*\.[0-9]{1,18}", text) and 0 < (share := float(text)) < 1:
        return share
    raise ValueError(_RULE)


def resolve_limit(limit: float | None, data: Path) -> int | None:
    """Return a limit as a number of questions; a share of them is rounded up.

    Args:
        limit: as `read_limit` gives it.
        data: the QuoteSum file that it is of.

    Raises:
        InputError: the file is not usable.
    """
    if not isinstance(limit, float):
        return limit
    from semqa.bench.plan import Plan

    return math.ceil(len(Plan(data, "").questions()) * limit)
