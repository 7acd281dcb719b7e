"""Apply masks to rows of logits, with one Triton program per mask and tile of tokens.

Logits are written but never read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import triton
import triton.language as tl

if TYPE_CHECKING:
    from torch import Tensor

TILE = 4096


@triton.jit
def _store_nothing(out, keep, words, columns):  # type: ignore[no-untyped-def]
    """Write minus infinity to a row where bits are 0.

    Words without any bit, the usual case in a quote, are written 16 bytes at a time: the compiler can
    see that their mask is the same for 32 columns. Other words are written column by column.

    Args:
        out: the row.
        keep: int32[K], the bits of 32 columns each.
        words: int32[K], the word indexes; the first column of each is ``32 * words``.
        columns: the number of columns in the row.
    """
    ids = words[:, None] * 32 + tl.arange(0, 32)[None, :]
    nothing = tl.full([keep.shape[0], 32], float("-inf"), out.dtype.element_ty)
    whole = (keep == 0) & (words * 32 + 31 < columns)
    tl.store(out + ids, nothing, mask=tl.broadcast_to(whole[:, None], nothing.shape))
    mixed = (keep != -1) & ~whole & (words * 32 < columns)
    if tl.sum(mixed.to(tl.int32), axis=0) > 0:
        kept = ((keep[:, None] >> tl.arange(0, 32)[None, :]) & 1) != 0
        tl.store(out + ids, nothing, mask=mixed[:, None] & ~kept & (ids < columns))


@triton.jit
def _bitmask_kernel(  # type: ignore[no-untyped-def]
    logits, row_stride, columns, masks, mask_stride, width, rows,
    TILE: tl.constexpr,  # noqa: N803
):  # fmt: skip
    WORDS: tl.constexpr = TILE // 32  # noqa: N806
    mask = tl.program_id(0).to(tl.int64)
    row = tl.load(rows + mask).to(tl.int64)
    if row >= 0:
        words = tl.program_id(1) * WORDS + tl.arange(0, WORDS)
        keep = tl.load(masks + mask * mask_stride + words, mask=words < width, other=0)
        _store_nothing(logits + row * row_stride, keep, words, columns)


def apply_bitmask(logits: Tensor, masks: Tensor, rows: Tensor) -> None:
    """Set the logits of tokens that the masks do not allow to minus infinity, in place.

    Args:
        logits: float32, float16 or bfloat16 [R, N], any row stride, contiguous columns. Columns
            beyond the masks are not allowed; there may also be fewer columns than mask bits. Allowed
            logits are not changed.
        masks: int32[M, W], any row stride; bit ``t % 32`` of word ``t // 32`` is 1 if token t is allowed.
        rows: int64[M] or int32[M], the row of logits for each mask, without duplicates. Masks with
            a row below 0 are ignored, and other rows are not changed.
    """
    count, columns = masks.shape[0], logits.shape[1]
    if count == 0 or columns == 0:
        return
    _bitmask_kernel[(count, triton.cdiv(columns, TILE))](
        logits,
        logits.stride(0),
        columns,
        masks,
        masks.stride(0),
        masks.shape[1],
        rows,
        TILE=TILE,
        num_warps=8,
    )
