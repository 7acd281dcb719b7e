"""One training with transformers' Trainer: its arguments, and how an evaluation is scored."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from transformers import (
    DataCollatorForSeq2Seq,
    DataCollatorWithPadding,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
)

from semqa.attribution.attrscore.label import LABELS
from semqa.attribution.attrscore.parsing import parse_label
from semqa.attribution.attrscore.scores import score_labels
from semqa.trainer.run import GuardedTrainer, Keeping, OneDevice, Run, arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.attrscore.label import Label
    from semqa.attribution.attrscore.training.encoding import Encoded
    from semqa.attribution.attrscore.training.models import Trained
    from semqa.attribution.attrscore.training.options import TrainingOptions
    from semqa.trainer import Session

__all__ = ["make_run"]

SCORES = ("micro_f1", "macro_f1", *(f"f1_{label.lower()}" for label in LABELS), "unparsed")
_SPARE = 8
"""Tokens that a model may write beyond the longest label word."""


def make_run(
    trained: Trained, examples: Encoded, dev: Encoded, session: Session, options: TrainingOptions
) -> Run:
    """Return a training that is ready to go.

    Raises:
        InputError: the device does not compute so, or the batch cannot be shared out.
    """

    def save(folder: str) -> None:
        trained.model.save_pretrained(folder)
        trained.tokenizer.save_pretrained(folder)

    given = arguments(
        options,
        session.folder,
        per_device_train_batch_size=session.ranks.share(options.batch_size),
        gradient_accumulation_steps=options.accumulate,
        per_device_eval_batch_size=options.batch_size,
        num_train_epochs=options.epochs,
        max_steps=options.max_steps or -1,
        lr_scheduler_type="cosine",
        warmup_steps=warmup_steps(len(examples.features), options),
    )
    shared: dict[str, Any] = {
        "model": trained.model,
        "train_dataset": examples.features,
        "eval_dataset": dev.features,
        "processing_class": trained.tokenizer,
        "compute_metrics": _Scorer(trained, dev),
    }
    trainer: GuardedTrainer
    if trained.kind == "classifier":
        collator: Any = DataCollatorWithPadding(trained.tokenizer)
        trainer = GuardedTrainer(args=OneDevice(**given), data_collator=collator, **shared)
    else:
        longest = max(len(each["labels"]) for each in examples.features)
        wanted = _WritingArguments(
            predict_with_generate=True,
            generation_max_length=longest + _SPARE,
            generation_num_beams=1,
            **given,
        )
        collator = DataCollatorForSeq2Seq(trained.tokenizer, trained.model)
        trainer = _WritingTrainer(args=wanted, data_collator=collator, **shared)
    keeping = Keeping(
        options.metric,
        SCORES,
        save,
        save_steps=options.save_steps,
        most=session.most_checkpoints,
    )
    return Run(trainer, session.folder, session.ranks, keeping, session.progress.on_progress)


def warmup_steps(examples: int, options: TrainingOptions) -> int:
    """Return the steps over which the learning rate rises."""
    if options.warmup_steps:
        return options.warmup_steps
    batches = math.ceil(examples / options.batch_size)
    steps = math.ceil(math.ceil(batches / options.accumulate) * options.epochs)
    return math.ceil(options.warmup_ratio * (options.max_steps or steps))


class _WritingArguments(OneDevice, Seq2SeqTrainingArguments):
    pass


class _WritingTrainer(GuardedTrainer, Seq2SeqTrainer):
    pass


class _Scorer:
    """Scores what a model predicts of the dev examples."""

    def __init__(self, trained: Trained, dev: Encoded) -> None:
        self._trained = trained
        self._labels = dev.labels

    def __call__(self, prediction: Any) -> dict[str, float]:
        """Return the scores of an evaluation by name; a label without any has 0 as its F1."""
        predicted = (
            self._classes(prediction.predictions)
            if self._trained.kind == "classifier"
            else self._written(prediction.predictions)
        )
        scores = score_labels(self._labels, predicted, resamples=0)
        return {
            "micro_f1": scores.micro_f1 or 0.0,
            "macro_f1": scores.macro_f1 or 0.0,
            "unparsed": scores.unparsed,
            **{f"f1_{label.lower()}": scores.labels[label].f1 or 0.0 for label in LABELS},
        }

    def _classes(self, predictions: Any) -> list[Label | None]:
        logits = predictions[0] if isinstance(predictions, tuple) else predictions
        return [self._trained.labels[int(number)] for number in np.argmax(logits, axis=-1)]

    def _written(self, predictions: Any) -> Sequence[Label | None]:
        tokenizer = self._trained.tokenizer
        ids = np.where(predictions < 0, tokenizer.pad_token_id, predictions)
        texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
        return [parse_label(text) for text in texts]
