"""The definition of `mask_rows`, row by row; reads states back to the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from semqa.kernels.tables import DEAD, END_TRAIT, MAY_END, NEAR, NOT_OURS, Row

if TYPE_CHECKING:
    from torch import Tensor

    from semqa.kernels.tables import ProgramTables

__all__ = ["allowed_tokens", "mask_rows"]


def mask_rows(logits: Tensor, rows: Tensor, tables: ProgramTables) -> None:
    """See `semqa.kernels.mask.mask_rows`."""
    for number, fields in enumerate(rows.tolist()):
        row = Row(*fields)
        if row.slot == NOT_OURS:
            continue
        forbidden = torch.ones(logits.shape[1], dtype=torch.bool, device=logits.device)
        known = min(logits.shape[1], tables.traits.numel())
        forbidden[:known] = ~allowed_tokens(tables, row)[:known]
        logits[number].masked_fill_(forbidden, -torch.inf)


def allowed_tokens(tables: ProgramTables, row: Row) -> Tensor:
    """Return which tokens a row allows: bool[V]."""
    behind = torch.full_like(tables.traits, DEAD, dtype=torch.int32)
    if row.base >= 0:
        behind[:] = tables.targets[row.base]
    listed = tables.arena[row.tokens : row.tokens + row.entries].long()
    behind[listed] = tables.arena[row.targets : row.targets + row.entries]
    allowed = behind >= 0
    if row.flags & NEAR:
        costs = tables.arena[row.records + 4 * behind.clamp(min=0).long() + 3]
        to_make = (row.quotes - tables.traits.int()).clamp(min=0)
        to_make = (to_make - (costs & 1)).clamp(min=0)
        allowed &= (costs >> 1) + to_make * row.quote_cost + 1 <= row.left - 1
    return torch.where(tables.traits == END_TRAIT, bool(row.flags & MAY_END), allowed)
