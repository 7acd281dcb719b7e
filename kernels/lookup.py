"""Looking a token up, and whether what is left suffices behind it, in Triton."""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = ["affords", "lower_bound"]


@triton.jit
def lower_bound(tokens, count, token):  # type: ignore[no-untyped-def]
    """Return how many of so many ascending tokens are below one."""
    low = token * 0
    high = count
    while low < high:
        middle = (low + high) // 2
        if tl.load(tokens + middle) < token:
            low = middle + 1
        else:
            high = middle
    return low


@triton.jit
def affords(cost, quotes, quote_cost, left):  # type: ignore[no-untyped-def]
    """Tell whether what is left suffices to finish from a state, whose record says `cost`."""
    quotes = tl.maximum(quotes - (cost & 1), 0)
    return (cost >> 1) + quotes * quote_cost + 1 <= left
