"""What the Trainer's own state says of a training: whether it is done, and whether it went astray.

Loads transformers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from transformers import TrainerState

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["check_losses", "finished_state"]


def finished_state(checkpoint: Path | None) -> TrainerState | None:
    """Return the state of a checkpoint after which nothing is left to do, or None.

    The Trainer, gone on with from such a one, would add a step.
    """
    if checkpoint is None:
        return None
    state = TrainerState.load_from_json(str(checkpoint / "trainer_state.json"))
    return state if state.global_step >= state.max_steps else None


def check_losses(log: Iterable[Mapping[str, Any]]) -> None:
    """See that a training's losses are numbers.

    Args:
        log: the Trainer's ``log_history``.

    Raises:
        InputError: one is none.
    """
    for entry in log:
        if (loss := entry.get("train_loss")) is not None and not np.isfinite(loss):
            raise InputError(
                f"training: diverged: got a loss of {loss}, expected a number; lower "
                "--learning-rate, and choose a new folder"
            )
