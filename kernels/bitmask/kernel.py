"""`apply_bitmask` in Triton: one program a mask and tile of tokens; logits are written only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import triton
import triton.language as tl

from semqa.kernels.store import store_nothing

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["apply_bitmask"]

TILE = 4096


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
        store_nothing(logits + row * row_stride, keep, words, columns)


def apply_bitmask(logits: Tensor, masks: Tensor, rows: Tensor) -> None:
    """See `semqa.kernels.bitmask.apply_bitmask`."""
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
