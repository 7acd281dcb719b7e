"""The definition of `bias_rows`, row by row; reads states back to the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from semqa.kernels.tables import IN_FREE_TEXT, NOT_OURS, Row

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["bias_rows"]


def bias_rows(logits: Tensor, rows: Tensor, openers: Tensor, biases: Tensor) -> None:
    """See `semqa.kernels.bias.bias_rows`."""
    columns = openers[openers < logits.shape[1]].long()
    most = torch.finfo(logits.dtype).max
    for number, fields in enumerate(rows.tolist()):
        row = Row(*fields)
        if row.slot != NOT_OURS and row.flags & IN_FREE_TEXT:
            biased = (logits[number, columns].float() + biases[row.slot]).clamp(max=most)
            logits[number, columns] = biased.to(logits.dtype)
