"""`bias_rows`: the definition on the host, Triton on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["bias_rows"]


def bias_rows(
    logits: Tensor, rows: Tensor, openers: Tensor, biases: Tensor, *, fast: bool | None = None
) -> None:
    """Add to the logits of openers, in place, in rows that stand in free text.

    Args:
        logits: float32, float16 or bfloat16 [R, N], any row stride, columns side by side. Sums are
            taken in float32, rounded, and kept from becoming infinite.
        rows: int32[R, ROW_FIELDS], as `semqa.kernels.advance.advance_rows` writes them.
        openers: int32[K], different tokens; those beyond the columns do not count.
        biases: float32[S], by slot, finite.
        fast: use Triton; None for wherever the tensors are on a device.
    """
    if logits.device.type != "cpu" if fast is None else fast:
        from semqa.kernels.bias.kernel import bias_rows as chosen
    else:
        from semqa.kernels.bias.naive import bias_rows as chosen
    chosen(logits, rows, openers, biases)
