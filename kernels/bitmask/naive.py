"""The definition of `apply_bitmask`, in plain torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["apply_bitmask"]


def apply_bitmask(logits: Tensor, masks: Tensor, rows: Tensor) -> None:
    """See `semqa.kernels.bitmask.apply_bitmask`."""
    columns = torch.arange(logits.shape[1], device=logits.device)
    inside = columns < 32 * masks.shape[1]
    for mask, row in zip(masks, rows.tolist(), strict=True):
        if row >= 0:
            words = torch.where(inside, mask[(columns // 32) * inside], 0)
            allowed = (words >> (columns % 32)) & 1 != 0
            logits[row].masked_fill_(~allowed, -torch.inf)
