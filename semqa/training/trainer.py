"""One training with transformers' Trainer: its arguments, its batches and its evaluations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from semqa.metrics import METRICS
from semqa.trainer.run import GuardedTrainer, Keeping, OneDevice, Run, arguments
from semqa.training.encoding import IGNORED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from semqa.trainer import Session
    from semqa.training.encoding import Encoded
    from semqa.training.options import TrainingOptions
    from semqa.training.scoring import DevScorer

__all__ = ["Padding", "make_run"]

_LOGGED = 50
"""Steps between two losses in TensorBoard."""


def make_run(
    model: Any,
    tokenizer: Any,
    examples: Encoded,
    dev: DevScorer,
    session: Session,
    options: TrainingOptions,
    *,
    tensorboard: Path | None = None,
) -> Run:
    """Return a training that is ready to go.

    Args:
        model: what is trained.
        tokenizer: its tokenizer.
        examples: to learn from.
        dev: scores the model as it is.
        session: folder, processes, and who is told.
        options: what, and how.
        tensorboard: folder for TensorBoard's events.

    Raises:
        InputError: the device does not compute so, or the batch cannot be shared out.
    """

    def save(folder: str) -> None:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)

    logged: dict[str, Any] = {"logging_strategy": "steps", "logging_steps": _LOGGED}
    given = arguments(
        options,
        session.folder,
        session.ranks,
        optim="adafactor" if options.optimizer == "adafactor" else "adamw_torch",
        lr_scheduler_type=_SCHEDULES[bool(options.warmup_steps), options.schedule],
        max_steps=options.max_steps,
        gradient_checkpointing=options.gradient_checkpointing,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        **({} if tensorboard is None else logged),
    )
    pad = tokenizer.pad_token_id
    trainer = _ScoringTrainer(
        dev,
        model=model,
        args=OneDevice(**given),
        train_dataset=examples.features,
        data_collator=Padding(0 if pad is None else int(pad)),
    )
    if tensorboard is not None and session.ranks.rank == 0:
        trainer.add_callback(_tensorboard(tensorboard))
    keeping = Keeping(
        options.metric,
        (*METRICS, "verified"),
        save,
        evaluate_steps=options.eval_steps,
        most=session.most_checkpoints,
    )
    return Run(trainer, session.folder, session.ranks, keeping, session.progress.on_progress)


class Padding:
    """Puts examples of different lengths into one batch.

    Args:
        pad: the token to fill up with, which is masked.
    """

    def __init__(self, pad: int) -> None:
        self._pad = pad

    def __call__(self, features: Sequence[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
        """Return ids and mask [B, T] and labels [B, U], filled up at the right."""
        ids = [each["input_ids"] for each in features]
        return {
            "input_ids": _filled(ids, self._pad),
            "attention_mask": _filled([[1] * len(each) for each in ids], 0),
            "labels": _filled([each["labels"] for each in features], IGNORED),
        }


def _filled(rows: Sequence[Sequence[int]], value: int) -> torch.Tensor:
    width = max(map(len, rows))
    return torch.tensor([[*row, *([value] * (width - len(row)))] for row in rows])


class _ScoringTrainer(GuardedTrainer):
    """A Trainer whose evaluations are what a scorer finds."""

    def __init__(self, dev: DevScorer, **given: Any) -> None:
        super().__init__(**given)
        self._dev = dev

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Return the scores of the model as it is, and tell the callbacks."""
        model: Any = self.model
        model.eval()  # the next step sets it back
        with self.as_given():
            metrics = {f"eval_{name}": value for name, value in self._dev.scores().items()}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, metrics
        )
        return metrics


def _tensorboard(folder: Path) -> Any:
    from torch.utils.tensorboard import SummaryWriter
    from transformers import integrations

    known: Any = integrations  # it states no names
    return known.TensorBoardCallback(SummaryWriter(log_dir=str(folder)))


_SCHEDULES = {
    (False, "constant"): "constant",
    (True, "constant"): "constant_with_warmup",
    **{(warm, name): name for warm in (False, True) for name in ("linear", "cosine")},
}
