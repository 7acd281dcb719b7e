"""Draws that depend on the question alone, not on what else is in the batch.

`generate` draws for all rows from one generator, so that an answer would change with its
neighbours. Here each row has its own, and the draw is an argmax: a token is drawn with its
probability when a Gumbel variable is added to each score and the highest sum wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from transformers import LogitsProcessor

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Draws"]


class Draws(LogitsProcessor):
    """Adds noise to scores, so that greedy search draws. The last processor of all.

    Args:
        seeds: of each row.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        self._seeds = tuple(seeds)
        self._generators: list[torch.Generator] = []

    def __call__(
        self,
        input_ids: torch.Tensor,  # noqa: ARG002  (as transformers calls it)
        scores: torch.Tensor,
    ) -> torch.Tensor:
        """Return noisy scores [R, S], float32."""
        if not self._generators:
            self._generators = [
                torch.Generator(scores.device).manual_seed(seed) for seed in self._seeds
            ]
        noisy = torch.empty_like(scores, dtype=torch.float32)
        for row, generator in zip(noisy, self._generators, strict=True):
            row.exponential_(generator=generator)
        # -log of an exponential variable is a Gumbel variable; zero would be infinite.
        noisy.clamp_(min=torch.finfo(torch.float32).tiny).log_().neg_()
        return noisy.add_(scores)
