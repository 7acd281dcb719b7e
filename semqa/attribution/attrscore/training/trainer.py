"""One training with transformers' Trainer: its arguments, its evaluation and what it leaves behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from transformers import (
    DataCollatorForSeq2Seq,
    DataCollatorWithPadding,
    PrinterCallback,
    ProgressCallback,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from semqa.attribution.attrscore.label import LABELS
from semqa.attribution.attrscore.parsing import parse_label
from semqa.attribution.attrscore.scores import score_labels
from semqa.trainer.state import check_losses, finished_state

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from semqa.attribution.attrscore.label import Label
    from semqa.attribution.attrscore.training.encoding import Encoded
    from semqa.attribution.attrscore.training.models import Trained
    from semqa.attribution.attrscore.training.options import TrainingOptions
    from semqa.trainer import TrainingFolder

__all__ = ["Run"]

_SPARE = 8
"""Tokens that a model may write beyond the longest label word."""


class Run:
    """A training that can be gone on with."""

    def __init__(
        self,
        trained: Trained,
        examples: Encoded,
        dev: Encoded,
        folder: TrainingFolder,
        options: TrainingOptions,
        on_progress: Callable[[int, int | None], None] | None,
    ) -> None:
        self._trained = trained
        self._dev = dev
        self._folder = folder
        self._options = options
        self._history: dict[int, dict[str, Any]] = {}
        self._best = folder.best()
        arguments = self._arguments(examples)
        shared: dict[str, Any] = {
            "model": trained.model,
            "args": arguments,
            "train_dataset": examples.features,
            "eval_dataset": dev.features,
            "processing_class": trained.tokenizer,
            "compute_metrics": self._scored,
            "callbacks": [_Watcher(self, on_progress)],
        }
        tokenizer = trained.tokenizer
        self._trainer: Any
        if trained.kind == "classifier":
            self._trainer = Trainer(data_collator=DataCollatorWithPadding(tokenizer), **shared)
        else:
            collator = DataCollatorForSeq2Seq(tokenizer, trained.model)
            self._trainer = Seq2SeqTrainer(data_collator=collator, **shared)
        for callback in (PrinterCallback, ProgressCallback):
            self._trainer.remove_callback(callback)

    def _arguments(self, examples: Encoded) -> TrainingArguments:
        options = self._options
        given: dict[str, Any] = {
            "output_dir": str(self._folder.checkpoints),
            "per_device_train_batch_size": options.batch_size,
            "per_device_eval_batch_size": options.batch_size,
            "gradient_accumulation_steps": options.accumulate,
            "learning_rate": options.learning_rate,
            "warmup_steps": options.warmup_steps,
            "weight_decay": options.weight_decay,
            "num_train_epochs": options.epochs,
            "max_steps": options.max_steps or -1,
            "eval_strategy": "epoch",
            "save_strategy": "steps" if options.save_steps else "epoch",
            "save_total_limit": 2,
            "logging_strategy": "no",
            "report_to": "none",
            "disable_tqdm": True,
            "log_level": "error",
            "seed": options.seed,
            "data_seed": options.seed,
            "use_cpu": options.device == "cpu",
            "bf16": options.bf16,
            "dataloader_pin_memory": False,
            "remove_unused_columns": False,
        }
        if options.save_steps:
            given["save_steps"] = options.save_steps
        if self._trained.kind == "classifier":
            return TrainingArguments(**given)
        longest = max(len(each["labels"]) for each in examples.features)
        return Seq2SeqTrainingArguments(
            predict_with_generate=True,
            generation_max_length=longest + _SPARE,
            generation_num_beams=1,
            **given,
        )

    def go(
        self, checkpoint: Path | None, on_resume: Callable[[int], None] | None
    ) -> list[dict[str, Any]]:
        """Train to the end, from a checkpoint if there is one.

        Returns:
            Step, epoch and scores of each evaluation, also of those before the checkpoint.

        Raises:
            InputError: the loss is no number any more.
        """
        if checkpoint is not None:
            step = int(checkpoint.name.rpartition("-")[2])
            if on_resume is not None:
                on_resume(step)
            done = finished_state(checkpoint)
            if done is not None:
                self._trainer.state = done
                return self._evaluations()
        self._trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
        check_losses(self._trainer.state.log_history)
        return self._evaluations()

    def _evaluations(self) -> list[dict[str, Any]]:
        """Return the evaluations, which the Trainer's own state keeps across checkpoints."""
        found: dict[int, dict[str, Any]] = {}
        for entry in self._trainer.state.log_history:
            if "eval_micro_f1" in entry:
                found[entry["step"]] = _evaluation(entry["step"], entry["epoch"], entry)
        return [found[step] for step in sorted(found)]

    def evaluated(self, step: int, epoch: float, metrics: dict[str, Any]) -> None:
        """Keep the model if it is better than all before."""
        state = _evaluation(step, epoch, metrics)
        name = self._options.metric
        if self._best is None or state[name] > self._best[name]:
            self._folder.keep(state, self._save)
            self._best = state

    def saved(self, step: int) -> None:
        """Mark a checkpoint as written."""
        self._folder.mark_whole(step)

    def _save(self, folder: str) -> None:
        self._trained.model.save_pretrained(folder)
        self._trained.tokenizer.save_pretrained(folder)

    def _scored(self, prediction: Any) -> dict[str, float]:
        """Return the scores of an evaluation by name; a label without any has 0 as its F1."""
        predicted = (
            self._classes(prediction.predictions)
            if self._trained.kind == "classifier"
            else self._written(prediction.predictions)
        )
        scores = score_labels(self._dev.labels, predicted, resamples=0)
        return {
            "micro_f1": scores.micro_f1 or 0.0,
            "macro_f1": scores.macro_f1 or 0.0,
            "unparsed": float(scores.unparsed),
            **{f"f1_{label.lower()}": scores.labels[label].f1 or 0.0 for label in LABELS},
        }

    def _classes(self, predictions: Any) -> list[Label | None]:
        logits = predictions[0] if isinstance(predictions, tuple) else predictions
        return [self._trained.labels[int(number)] for number in np.argmax(logits, axis=-1)]

    def _written(self, predictions: Any) -> Sequence[Label | None]:
        tokenizer = self._trained.tokenizer
        ids = np.where(predictions < 0, tokenizer.pad_token_id, predictions)
        texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
        return [parse_label(text, self._options.family) for text in texts]


def _evaluation(step: int, epoch: float, metrics: dict[str, Any]) -> dict[str, Any]:
    names = ("micro_f1", "macro_f1", *(f"f1_{label.lower()}" for label in LABELS))
    return {
        "step": step,
        "epoch": round(epoch, 4),
        **{name: float(metrics[f"eval_{name}"]) for name in names},
        "unparsed": int(metrics["eval_unparsed"]),
    }


class _Watcher(TrainerCallback):
    """Tells a run what the Trainer does, and has it evaluate an epoch before its checkpoint.

    The Trainer saves at the last step of an epoch and evaluates after that; gone on with from such a
    checkpoint, it would never evaluate the epoch.
    """

    def __init__(self, run: Run, on_progress: Callable[[int, int | None], None] | None) -> None:
        self._run = run
        self._on_progress = on_progress
        self._save_later = False

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:  # noqa: ARG002
        if self._on_progress is not None:
            self._on_progress(state.global_step, state.max_steps)
        last = float(state.epoch).is_integer() or state.global_step >= state.max_steps
        if control.should_save and last:
            control.should_save, self._save_later = False, True
        return control

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:  # noqa: ARG002
        if self._save_later:
            control.should_save, self._save_later = True, False
        return control

    def on_evaluate(self, args: Any, state: Any, control: Any, **given: Any) -> None:  # noqa: ARG002
        self._run.evaluated(state.global_step, state.epoch or 0.0, given["metrics"])

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        self._run.saved(state.global_step)
