"""The definition of `mask_rows`, row by row; reads states back to the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from semqa.kernels.naive_step import record
from semqa.kernels.tables import DEAD, ENDED, NOT_OURS, UNLIMITED

if TYPE_CHECKING:
    from torch import Tensor

    from semqa.kernels.tables import ProgramTables

__all__ = ["allowed_tokens", "mask_rows"]


def mask_rows(logits: Tensor, rows: Tensor, tables: ProgramTables) -> None:
    """See `semqa.kernels.mask.mask_rows`."""
    for row, (slot, state, left, quotes) in enumerate(rows.tolist()):
        if slot == NOT_OURS:
            continue
        forbidden = torch.ones(logits.shape[1], dtype=torch.bool, device=logits.device)
        known = min(logits.shape[1], tables.traits.numel())
        forbidden[:known] = ~allowed_tokens(tables, slot, state, left, quotes)[:known]
        logits[row].masked_fill_(forbidden, -torch.inf)


def allowed_tokens(tables: ProgramTables, slot: int, state: int, left: int, quotes: int) -> Tensor:
    """Return which tokens a state allows, with so many tokens left and quotes to make: bool[V]."""
    size, device = tables.traits.numel(), tables.traits.device
    allowed = torch.zeros(size, dtype=torch.bool, device=device)
    if state in (DEAD, ENDED):
        allowed[tables.ends.long()] = True
        return allowed
    start, count, base, cost = record(tables, slot, state)
    behind = torch.full((size,), DEAD, dtype=torch.int32, device=device)
    if base >= 0:
        behind[:] = tables.targets[base]
    records, tokens, targets = tables.places[slot].tolist()
    entries = tables.arena[tokens + start : tokens + start + count].long()
    behind[entries] = tables.arena[targets + start : targets + start + count]
    allowed[:] = behind >= 0
    if left != UNLIMITED:
        costs = tables.arena[records + 4 * behind.clamp(min=0).long() + 3]
        to_make = (quotes - tables.traits.int()).clamp(min=0)
        to_make = (to_make - (costs & 1)).clamp(min=0)
        allowed &= (costs >> 1) + to_make * tables.limits[slot, 1] + 1 <= left - 1
    allowed[tables.ends.long()] = cost == 0 and quotes == 0 and left >= 1
    return allowed
