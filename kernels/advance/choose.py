"""`advance_rows`: the definition on the host, Triton on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from semqa.kernels.tables import ProgramTables

__all__ = ["advance_rows"]


def advance_rows(
    tables: ProgramTables,
    slots: Tensor,
    positions: Tensor,
    input_ids: Tensor,
    history: Tensor,
    lengths: Tensor,
    out: Tensor,
    *,
    fast: bool | None = None,
) -> None:
    """Find the state that each row of logits is for.

    The slots' registers go on by what their history holds behind what was read; called again
    without new tokens, nothing changes. A row of a draft starts from there and goes on by the draft
    tokens up to its own, on a copy.

    Args:
        tables: all programs; ``registers`` is written.
        slots: int64[R] or int32[R], the slot of each row; the rows of a slot stand together, in
            order.
        positions: int32[R], the number of each row among those of its slot, 0 for the first. Where
            the first is missing, the rows of the slot are dead: what was drafted is not known.
        input_ids: int32[R], the last token that each row has seen; read where the position is above 0.
        history: int32[S, L], the tokens of each slot, any row stride.
        lengths: int32[S], how many of them there are.
        out: int32[R, ROW_FIELDS], written: see `semqa.kernels.tables.Row`.
        fast: use Triton; None for wherever the tensors are on a device.
    """
    if slots.device.type != "cpu" if fast is None else fast:
        from semqa.kernels.advance.kernel import advance_rows as chosen
    else:
        from semqa.kernels.advance.naive import advance_rows as chosen
    chosen(tables, slots, positions, input_ids, history, lengths, out)
