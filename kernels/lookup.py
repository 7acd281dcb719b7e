"""What the Triton kernels share: looking a token up, whether what is left suffices, and writing."""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = ["affords", "lower_bound", "store_nothing"]


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


@triton.jit
def store_nothing(out, keep, words, columns):  # type: ignore[no-untyped-def]
    """Write minus infinity to a row where bits are 0.

    Words without any bit, by far the most in a quote, are written 16 bytes at a time: their mask is
    the same for 32 columns, which the compiler sees. The others go column by column.

    Args:
        out: the row.
        keep: int32[K], the bits of 32 columns each.
        words: int32[K], which columns: ``32 * words`` and those that follow.
        columns: how many the row has.
    """
    ids = words[:, None] * 32 + tl.arange(0, 32)[None, :]
    nothing = tl.full([keep.shape[0], 32], float("-inf"), out.dtype.element_ty)
    whole = (keep == 0) & (words * 32 + 31 < columns)
    tl.store(out + ids, nothing, mask=tl.broadcast_to(whole[:, None], nothing.shape))
    mixed = (keep != -1) & ~whole & (words * 32 < columns)
    if tl.sum(mixed.to(tl.int32), axis=0) > 0:
        kept = ((keep[:, None] >> tl.arange(0, 32)[None, :]) & 1) != 0
        tl.store(out + ids, nothing, mask=mixed[:, None] & ~kept & (ids < columns))
