"""`apply_bitmask`: the definition on the host, Triton on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["apply_bitmask"]


def apply_bitmask(logits: Tensor, masks: Tensor, rows: Tensor, *, fast: bool | None = None) -> None:
    """Set to minus infinity, in place, what masks do not allow.

    Args:
        logits: float32, float16 or bfloat16 [R, N], any row stride, columns side by side; columns
            beyond the masks are not allowed, and there may be fewer. What is allowed keeps its bits.
        masks: int32[M, W], any row stride; bit ``t % 32`` of word ``t // 32`` is 1 if token t is allowed.
        rows: int64[M] or int32[M], the row of logits that each mask is for; no row twice, and
            nothing is done for those below 0. Other rows stay as they are.
        fast: use Triton; None for wherever the tensors are on a device.
    """
    if logits.device.type != "cpu" if fast is None else fast:
        from semqa.kernels.bitmask.kernel import apply_bitmask as chosen
    else:
        from semqa.kernels.bitmask.naive import apply_bitmask as chosen
    chosen(logits, masks, rows)
