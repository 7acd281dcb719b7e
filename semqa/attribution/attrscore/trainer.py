"""Load a model for AttrScore, encode examples, and set up its run with transformers' Trainer.

References are truncated to fit. Claims are not: if a claim leaves no room for its reference, the
example is left out. Both cases are counted. Importing this module loads torch and transformers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    DataCollatorForSeq2Seq,
    DataCollatorWithPadding,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    set_seed,
)

from semqa.attribution.attrscore.examples import LABELS, RELATIONS, Example, Label, parse_label
from semqa.attribution.attrscore.judging import AttrPrompt
from semqa.attribution.attrscore.options import TrainingOptions
from semqa.attribution.attrscore.scores import score_labels
from semqa.engines.model.hub import ModelFiles
from semqa.errors import InputError
from semqa.training.folder import Session
from semqa.training.trainer import GuardedTrainer, OneDevice, Run, arguments

_NAMES: Final[dict[str, Label]] = {
    **{label.lower(): label for label in LABELS},
    **{relation: label for label, relation in RELATIONS.items()},
}


@dataclass(frozen=True, slots=True)
class Trained:
    """A model to train.

    `labels` has the labels of a classifier's outputs, in order; `new_head` is whether its last
    layer was newly initialised.
    """

    model: Any
    tokenizer: Any
    kind: Literal["classifier", "seq2seq"]
    labels: tuple[Label, ...]
    new_head: bool


def load(options: TrainingOptions) -> Trained:
    """Load a model; missing weights are initialised with the seed.

    An entailment classifier with three relations keeps its last layer, because they correspond to
    the labels. Other classifiers get a new last layer.
    """
    files = ModelFiles.find(options.model)
    with files.loading():
        config, tokenizer = files.config(), files.tokenizer()
        kind = options.kind
        if kind == "auto":
            kind = "seq2seq" if config.is_encoder_decoder else "classifier"
        set_seed(options.seed)
        load_kind = _seq2seq if kind == "seq2seq" else _classifier
        return load_kind(files, config, tokenizer)


def _seq2seq(files: ModelFiles, config: Any, tokenizer: Any) -> Trained:
    if not config.is_encoder_decoder:
        raise InputError(
            f"The {config.model_type} model {files.name} is not an encoder-decoder like T5.",
            hint="Use --kind classifier.",
        )
    model, _ = files.model(AutoModelForSeq2SeqLM, config)
    return Trained(model.float(), tokenizer, "seq2seq", (), False)


def _classifier(files: ModelFiles, config: Any, tokenizer: Any) -> Trained:
    known = [_NAMES.get(str(config.id2label[i]).lower()) for i in range(config.num_labels)]
    kept = tuple(label for label in known if label is not None)
    reused = len(known) == len(LABELS) and set(kept) == set(LABELS)
    labels = kept if reused else LABELS
    config.num_labels = len(labels)
    config.id2label = {i: label.lower() for i, label in enumerate(labels)}
    config.label2id = {label.lower(): i for i, label in enumerate(labels)}
    config.problem_type = "single_label_classification"
    if tokenizer.pad_token_id is None:
        if tokenizer.eos_token is None:
            raise InputError(
                f"The tokenizer of {files.name} has neither a padding token nor an end token."
            )
        tokenizer.pad_token = tokenizer.eos_token
    if config.pad_token_id is None:
        config.pad_token_id = tokenizer.pad_token_id
    model, _ = files.model(AutoModelForSequenceClassification, config, ignore_mismatched_sizes=True)
    return Trained(model.float(), tokenizer, "classifier", labels, not reused)


MIN_REFERENCE = 8
"""Minimum tokens of a reference; examples with fewer left are not used."""


@dataclass(slots=True)
class Encoded:
    """Encoded examples and their gold labels.

    `cut` counts examples with a truncated reference; `left_out` counts those that are not used,
    because the claim is too long.
    """

    features: list[dict[str, Any]]
    labels: list[Label]
    cut: int = 0
    left_out: int = 0


def encode(
    examples: Sequence[Example], trained: Trained, prompt: AttrPrompt | None, longest: int
) -> Encoded:
    """Encode pairs of reference and claim for a classifier, or else prompts with label words."""
    found = Encoded([], [])
    for example in examples:
        if prompt is None:
            inputs, cut = _encode_pair(example, trained.tokenizer, longest)
        else:
            inputs, cut = _encode_prompt(example, trained.tokenizer, prompt, longest)
        if inputs is None or example.label is None:
            found.left_out += 1
            continue
        target: Any = (
            trained.labels.index(example.label)
            if prompt is None
            else trained.tokenizer(text_target=prompt.family.word(example.label))["input_ids"]
        )
        found.cut += cut
        found.features.append({**inputs, "labels": target})
        found.labels.append(example.label)
    return found


def _encode_pair(example: Example, tokenizer: Any, longest: int) -> tuple[Any, bool]:
    """Return the reference as premise and the claim as hypothesis, and whether it was cut."""
    claim = example.claim()
    special = tokenizer.num_special_tokens_to_add(pair=True)
    budget = longest - special - len(tokenizer(claim, add_special_tokens=False)["input_ids"])
    reference = tokenizer(example.reference, add_special_tokens=False)["input_ids"]
    if budget < min(MIN_REFERENCE, len(reference)):
        return None, False
    encoded = tokenizer(example.reference, claim, truncation="only_first", max_length=longest)
    return encoded, len(reference) > budget


def _encode_prompt(
    example: Example, tokenizer: Any, prompt: AttrPrompt, longest: int
) -> tuple[Any, bool]:
    """Return the prompt with the longest prefix of the reference that fits, in words."""
    claim, words = example.claim(), example.reference.split()
    whole = tokenizer(prompt.fill(claim, example.reference))
    if len(whole["input_ids"]) <= longest:
        return whole, False
    least, most = 0, len(words)
    found = None
    while least < most:
        middle = (least + most + 1) // 2
        encoded = tokenizer(prompt.fill(claim, " ".join(words[:middle])))
        if len(encoded["input_ids"]) <= longest:
            least, found = middle, encoded
        else:
            most = middle - 1
    return (found if least >= min(MIN_REFERENCE // 2, len(words)) else None), True


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

    def score(prediction: Any) -> dict[str, float]:
        scores = score_labels(dev.labels, _labels_of(trained, prediction.predictions), resamples=0)
        return {
            "micro_f1": scores["micro_f1"] or 0.0,
            "macro_f1": scores["macro_f1"] or 0.0,
            "unparsed": scores["unparsed"],
            **{f"f1_{label.lower()}": scores["labels"][label]["f1"] or 0.0 for label in LABELS},
        }

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
        "compute_metrics": score,
    }
    trainer: GuardedTrainer
    if trained.kind == "classifier":
        collator: Any = DataCollatorWithPadding(trained.tokenizer)
        trainer = GuardedTrainer(args=OneDevice(**given), data_collator=collator, **shared)
    else:
        seq2seq_arguments = _Seq2SeqArguments(
            predict_with_generate=True,
            generation_max_length=max(len(each["labels"]) for each in examples.features) + _SPARE,
            generation_num_beams=1,
            **given,
        )
        collator = DataCollatorForSeq2Seq(trained.tokenizer, trained.model)
        trainer = _Seq2SeqTrainer(args=seq2seq_arguments, data_collator=collator, **shared)
    return Run(trainer, session, "micro_f1", SCORES, save, save_steps=options.save_steps)


def warmup_steps(examples: int, options: TrainingOptions) -> int:
    """Return the number of warm-up steps: 3% of all steps."""
    batches = math.ceil(examples / options.batch_size)
    steps = math.ceil(math.ceil(batches / options.accumulate) * options.epochs)
    return math.ceil(0.03 * (options.max_steps or steps))


class _Seq2SeqArguments(OneDevice, Seq2SeqTrainingArguments):
    pass


class _Seq2SeqTrainer(GuardedTrainer, Seq2SeqTrainer):
    pass


def _labels_of(trained: Trained, predictions: Any) -> list[Label | None]:
    if trained.kind == "classifier":
        logits = predictions[0] if isinstance(predictions, tuple) else predictions
        return [trained.labels[int(number)] for number in np.argmax(logits, axis=-1)]
    ids = np.where(predictions < 0, trained.tokenizer.pad_token_id, predictions)
    texts = trained.tokenizer.batch_decode(ids, skip_special_tokens=True)
    return [parse_label(text) for text in texts]
