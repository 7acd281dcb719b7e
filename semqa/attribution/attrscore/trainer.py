"""Set up a training run with transformers' Trainer: encoding, arguments and evaluation.

References are truncated to fit. Claims are not: if a claim leaves no room for its reference, the
example is left out. Both cases are counted. Importing this module loads torch and transformers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from transformers import (
    DataCollatorForSeq2Seq,
    DataCollatorWithPadding,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
)

from semqa.attribution.attrscore.labels import LABELS, parse_label
from semqa.attribution.attrscore.scores import score_labels
from semqa.training.trainer import GuardedTrainer, Keeping, OneDevice, Run, arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.attrscore.judging import AttrPrompt
    from semqa.attribution.attrscore.labels import Example, Label
    from semqa.attribution.attrscore.options import TrainingOptions
    from semqa.attribution.attrscore.training import Trained
    from semqa.training.folder import Session


MIN_REFERENCE = 8
"""Minimum tokens of a reference; examples with fewer left are not used."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Encoded examples and their gold labels.

    `cut` counts examples with a truncated reference; `left_out` counts those that are not used,
    because the claim is too long.
    """

    features: list[dict[str, Any]]
    labels: list[Label]
    cut: int
    left_out: int


def encode_pairs(
    examples: Sequence[Example],
    tokenizer: Any,
    numbers: Mapping[Label, int],
    longest: int,
) -> Encoded:
    """Encode references as premises and claims as hypotheses, for a classifier."""
    features: list[dict[str, Any]] = []
    labels: list[Label] = []
    cut = left_out = 0
    special = tokenizer.num_special_tokens_to_add(pair=True)
    for example in examples:
        claim = example.claim()
        budget = longest - special - len(tokenizer(claim, add_special_tokens=False)["input_ids"])
        reference = tokenizer(example.reference, add_special_tokens=False)["input_ids"]
        if budget < min(MIN_REFERENCE, len(reference)) or example.label is None:
            left_out += 1
            continue
        cut += len(reference) > budget
        encoded = tokenizer(example.reference, claim, truncation="only_first", max_length=longest)
        features.append({**encoded, "labels": numbers[example.label]})
        labels.append(example.label)
    return Encoded(features, labels, cut, left_out)


def encode_prompts(
    examples: Sequence[Example],
    tokenizer: Any,
    prompt: AttrPrompt,
    longest: int,
) -> Encoded:
    """Encode prompts as inputs and label words as targets."""
    features: list[dict[str, Any]] = []
    labels: list[Label] = []
    cut = left_out = 0
    for example in examples:
        claim = example.claim()
        whole = tokenizer(prompt.fill(claim, example.reference))
        if example.label is None:
            left_out += 1
            continue
        if len(whole["input_ids"]) > longest:
            shorter = _cut_to_fit(tokenizer, prompt, claim, example.reference, longest)
            if shorter is None:
                left_out += 1
                continue
            whole = shorter
            cut += 1
        target = tokenizer(text_target=prompt.family.word(example.label))["input_ids"]
        features.append({**whole, "labels": target})
        labels.append(example.label)
    return Encoded(features, labels, cut, left_out)


def _cut_to_fit(
    tokenizer: Any, prompt: AttrPrompt, claim: str, reference: str, longest: int
) -> Any | None:
    """Encode the prompt with the longest prefix of the reference that fits, in words."""
    words = reference.split()
    least, most = 0, len(words)
    found = None
    while least < most:
        middle = (least + most + 1) // 2
        encoded = tokenizer(prompt.fill(claim, " ".join(words[:middle])))
        if len(encoded["input_ids"]) <= longest:
            least, found = middle, encoded
        else:
            most = middle - 1
    return found if least >= min(MIN_REFERENCE // 2, len(words)) else None


SCORES = ("micro_f1", "macro_f1", *(f"f1_{label.lower()}" for label in LABELS), "unparsed")
_SPARE = 8
"""Tokens that a model may generate beyond the longest label word."""


def make_run(
    trained: Trained, examples: Encoded, dev: Encoded, session: Session, options: TrainingOptions
) -> Run:
    """Create a training run that is ready to start."""

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
        weight_decay=0.0,
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
        seq2seq_arguments = _Seq2SeqArguments(
            predict_with_generate=True,
            generation_max_length=longest + _SPARE,
            generation_num_beams=1,
            **given,
        )
        collator = DataCollatorForSeq2Seq(trained.tokenizer, trained.model)
        trainer = _Seq2SeqTrainer(args=seq2seq_arguments, data_collator=collator, **shared)
    keeping = Keeping(
        "micro_f1",
        SCORES,
        save,
        save_steps=options.save_steps,
    )
    return Run(trainer, session.folder, session.ranks, keeping, session.progress.on_progress)


WARMUP = 0.03


def warmup_steps(examples: int, options: TrainingOptions) -> int:
    """Return the number of warm-up steps: 3% of all steps."""
    batches = math.ceil(examples / options.batch_size)
    steps = math.ceil(math.ceil(batches / options.accumulate) * options.epochs)
    return math.ceil(WARMUP * (options.max_steps or steps))


class _Seq2SeqArguments(OneDevice, Seq2SeqTrainingArguments):
    pass


class _Seq2SeqTrainer(GuardedTrainer, Seq2SeqTrainer):
    pass


class _Scorer:
    """Scores a model's predictions for the dev examples."""

    def __init__(self, trained: Trained, dev: Encoded) -> None:
        self._trained = trained
        self._labels = dev.labels

    def __call__(self, prediction: Any) -> dict[str, float]:
        """Return the scores of an evaluation by name; an undefined F1 counts as 0."""
        predicted = (
            self._classes(prediction.predictions)
            if self._trained.kind == "classifier"
            else self._generated(prediction.predictions)
        )
        scores = score_labels(self._labels, predicted, resamples=0)
        return {
            "micro_f1": scores["micro_f1"] or 0.0,
            "macro_f1": scores["macro_f1"] or 0.0,
            "unparsed": scores["unparsed"],
            **{f"f1_{label.lower()}": scores["labels"][label]["f1"] or 0.0 for label in LABELS},
        }

    def _classes(self, predictions: Any) -> list[Label | None]:
        logits = predictions[0] if isinstance(predictions, tuple) else predictions
        return [self._trained.labels[int(number)] for number in np.argmax(logits, axis=-1)]

    def _generated(self, predictions: Any) -> Sequence[Label | None]:
        tokenizer = self._trained.tokenizer
        ids = np.where(predictions < 0, tokenizer.pad_token_id, predictions)
        texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
        return [parse_label(text) for text in texts]
