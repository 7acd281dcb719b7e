"""The processor that vLLM loads, with a clock around its part of a step."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

from semqa.decoding.vllm.processor import CopyConstraintProcessor

if TYPE_CHECKING:
    import torch

__all__ = ["TimedProcessor"]


class TimedProcessor(CopyConstraintProcessor):
    """Writes down how long it takes.

    Attributes:
        seconds: of each call, with the rows of the logits.
    """

    seconds: ClassVar[list[tuple[int, float]]] = []

    def apply(self, logits: torch.Tensor, ctx: Any = None) -> torch.Tensor:
        """Mask the logits."""
        started = time.perf_counter()
        masked = super().apply(logits, ctx)
        self.seconds.append((len(logits), time.perf_counter() - started))
        return masked
