"""`mask_rows`: the definition on the host, Triton on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from semqa.kernels.tables import ProgramTables

__all__ = ["mask_rows"]


def mask_rows(
    logits: Tensor, rows: Tensor, tables: ProgramTables, *, fast: bool | None = None
) -> None:
    """Set to minus infinity, in place, what the state of each row does not allow.

    Args:
        logits: float32, float16 or bfloat16 [R, N], any row stride, columns side by side; columns
            beyond the vocabulary are not allowed, and there may be fewer columns. What is allowed
            keeps its bits, NaN too. Rows that are NOT_OURS stay as they are.
        rows: int32[R, ROW_FIELDS], as `advance_rows` writes them.
        tables: all programs.
        fast: use Triton; None for wherever the tensors are on a device.
    """
    if logits.device.type != "cpu" if fast is None else fast:
        from semqa.kernels.mask.kernel import mask_rows as chosen
    else:
        from semqa.kernels.mask.naive import mask_rows as chosen
    chosen(logits, rows, tables)
