"""One training with transformers' Trainer: its arguments, its evaluations and what it leaves behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from transformers import (
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from semqa.errors import InputError
from semqa.trainer import Interrupt
from semqa.trainer.state import check_losses, finished_state
from semqa.training.encoding import IGNORED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from semqa.trainer import TrainingFolder
    from semqa.training.encoding import Encoded
    from semqa.training.options import TrainingOptions
    from semqa.training.scoring import DevScorer

__all__ = ["Run"]

_LOGGED = 50
"""Steps between two losses in TensorBoard."""


class Run:
    """A training that can be gone on with.

    Args:
        model: what is trained.
        tokenizer: its tokenizer.
        examples: to learn from.
        dev: scores the model as it is.
        folder: where everything goes.
        options: what, and how.
        tensorboard: folder for TensorBoard's events.
        on_progress: called with how many steps are done, and of how many.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        examples: Encoded,
        dev: DevScorer,
        folder: TrainingFolder,
        options: TrainingOptions,
        *,
        tensorboard: Path | None = None,
        on_progress: Callable[[int, int | None], None] | None = None,
    ) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._folder = folder
        self._options = options
        self._best = folder.best()
        self._interrupt = Interrupt()
        callbacks: list[Any] = [_Watcher(self, self._interrupt, on_progress)]
        if tensorboard is not None:
            callbacks.append(_tensorboard(tensorboard))
        pad = tokenizer.pad_token_id
        self._trainer: Any = _ScoringTrainer(
            dev,
            model=model,
            args=self._arguments(tensorboard is not None),
            train_dataset=examples.features,
            data_collator=Padding(0 if pad is None else int(pad)),
            callbacks=callbacks,
        )
        for callback in (PrinterCallback, ProgressCallback):
            self._trainer.remove_callback(callback)

    def _arguments(self, logged: bool) -> TrainingArguments:
        options = self._options
        return TrainingArguments(
            output_dir=str(self._folder.checkpoints),
            per_device_train_batch_size=options.batch_size,
            gradient_accumulation_steps=options.accumulate,
            optim="adafactor" if options.optimizer == "adafactor" else "adamw_torch",
            learning_rate=options.learning_rate,
            lr_scheduler_type=_SCHEDULES[bool(options.warmup_steps), options.schedule],
            warmup_steps=options.warmup_steps,
            weight_decay=options.weight_decay,
            max_steps=options.max_steps,
            eval_strategy="steps",
            eval_steps=options.eval_steps,
            save_strategy="steps",
            save_steps=options.eval_steps,
            save_total_limit=2,
            logging_strategy="steps" if logged else "no",
            logging_steps=_LOGGED,
            report_to="none",
            disable_tqdm=True,
            log_level="error",
            seed=options.seed,
            data_seed=options.seed,
            use_cpu=options.device == "cpu",
            bf16=options.bf16,
            gradient_checkpointing=options.gradient_checkpointing,
            gradient_checkpointing_kwargs={"use_reentrant": False},
            dataloader_pin_memory=False,
            remove_unused_columns=False,
        )

    def go(self, checkpoint: Path | None) -> list[dict[str, Any]]:
        """Train to the end, from a checkpoint if there is one.

        Returns:
            Step, epoch and scores of each evaluation, also of those before the checkpoint.

        Raises:
            InputError: the loss is no number any more.
            KeyboardInterrupt: Ctrl-C was pressed; what was done so far is in a checkpoint.
        """
        done = finished_state(checkpoint)
        if done is not None:
            self._trainer.state = done
            return self._evaluations()
        given = None if checkpoint is None else str(checkpoint)
        with self._interrupt:
            self._trainer.train(resume_from_checkpoint=given)
        if self._interrupt.wanted:
            raise KeyboardInterrupt
        check_losses(self._trainer.state.log_history)
        return self._evaluations()

    def _evaluations(self) -> list[dict[str, Any]]:
        """Return the evaluations, which the Trainer's own state keeps across checkpoints."""
        found: dict[int, dict[str, Any]] = {}
        for entry in self._trainer.state.log_history:
            if "eval_rougeLsum" in entry:
                found[entry["step"]] = _evaluation(entry["step"], entry["epoch"], entry)
        return [found[step] for step in sorted(found)]

    def evaluated(self, step: int, epoch: float, metrics: dict[str, Any]) -> None:
        """Keep the model if it is better than all before."""
        state = _evaluation(step, epoch, metrics)
        name = self._options.metric
        if name not in state:
            raise InputError(
                f"metric: got {name}, which the dev data does not define, expected one that it "
                "does, such as rougeLsum; choose another, or give short answers"
            )
        if self._best is None or state[name] > self._best[name]:
            self._folder.keep(state, self._save)
            self._best = state

    def saved(self, step: int) -> None:
        """Mark a checkpoint as written."""
        self._folder.mark_whole(step)

    def _save(self, folder: str) -> None:
        self._model.save_pretrained(folder)
        self._tokenizer.save_pretrained(folder)


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


class _ScoringTrainer(Trainer):
    """A Trainer whose evaluations are what a scorer finds."""

    def __init__(self, dev: DevScorer, **given: Any) -> None:
        given["eval_dataset"] = given["train_dataset"]  # it wants one, and never looks at it
        super().__init__(**given)
        self._dev = dev

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Return the scores of the model as it is, and tell the callbacks."""
        model: Any = self.model
        model.eval()  # the next step sets it back
        metrics = {f"eval_{name}": value for name, value in self._dev.scores().items()}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, metrics
        )
        return metrics


class _Watcher(TrainerCallback):
    """Tells a run what the Trainer does; ends it, with a checkpoint, when that is wanted."""

    def __init__(
        self,
        run: Run,
        interrupt: Interrupt,
        on_progress: Callable[[int, int | None], None] | None,
    ) -> None:
        self._run = run
        self._interrupt = interrupt
        self._on_progress = on_progress

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:  # noqa: ARG002
        if self._on_progress is not None:
            self._on_progress(state.global_step, state.max_steps)
        if state.global_step >= state.max_steps:
            control.should_evaluate = control.should_save = True
        if self._interrupt.wanted:
            control.should_save = control.should_training_stop = True
        return control

    def on_evaluate(self, args: Any, state: Any, control: Any, **given: Any) -> None:  # noqa: ARG002
        self._run.evaluated(state.global_step, state.epoch or 0.0, given["metrics"])

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        self._run.saved(state.global_step)


def _evaluation(step: int, epoch: float, metrics: dict[str, Any]) -> dict[str, Any]:
    scores = {
        name.removeprefix("eval_"): float(value)
        for name, value in metrics.items()
        if name.startswith("eval_")
    }
    return {"step": step, "epoch": round(epoch, 4), **scores}


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
