"""Writing minus infinity, in Triton: what the masking kernels share."""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = ["store_nothing"]


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
