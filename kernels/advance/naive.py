"""The definition of `advance_rows`, token by token; reads every number back to the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from semqa.kernels.naive_step import Standing, row_of, step
from semqa.kernels.tables import DEAD, NOT_OURS, Row

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
) -> None:
    """See `semqa.kernels.advance.advance_rows`."""
    before, at, whole = NOT_OURS, Standing(DEAD, 0, 0), False
    for row, slot in enumerate(slots.tolist()):
        if slot < 0 or int(tables.places[slot, 0]) == NOT_OURS:
            out[row] = torch.tensor(Row(NOT_OURS))
            before = NOT_OURS
            continue
        position = int(positions[row])
        if slot != before:
            at, whole = _commit(tables, slot, history, int(lengths[slot])), position == 0
        else:
            at = step(tables, slot, at, int(input_ids[row]))
        if not whole:
            at = at._replace(state=DEAD)
        out[row] = torch.tensor(row_of(tables, slot, at))
        before = slot


def _commit(tables: ProgramTables, slot: int, history: Tensor, length: int) -> Standing:
    *standing, cursor = (int(number) for number in tables.registers[slot])
    at = Standing(*standing)
    for place in range(cursor, length):
        at = step(tables, slot, at, int(history[slot, place]))
    tables.registers[slot] = torch.tensor([*at, max(cursor, length)])
    return at
