"""Fine-tune a classifier on AttrScore's labels with transformers' Trainer.

Each epoch is evaluated with `scores`, and the best model is kept. A training run that was killed
resumes from its last complete checkpoint and ends with the same weights as without the
interruption. References are truncated to fit. Claims are not: if a claim leaves no room for its
reference, the example is left out. Both cases are counted.

Source: Yue et al. 2023, fine-tuning of RoBERTa, GPT-2, T5, Flan-T5 and LLaMA models. The default
learning rate, length, schedule (a cosine after a warm-up) and examples per step are those of the
paper and of the released training command. The paper's T5 and LLaMA models write the label; here,
every model has a layer for the three labels.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from random import Random
from typing import TYPE_CHECKING, Any, Final

from semqa.attribution.attrscore.labels import LABELS, RELATIONS, Label
from semqa.attribution.attrscore.scores import score_labels
from semqa.attribution.judges.models import longest_input
from semqa.data.jsonl import encode_row
from semqa.engines.model.hub import ModelFiles, quiet
from semqa.errors import InputError
from semqa.extras import require
from semqa.training.folder import Progress, Ranks, Session, TrainingFolder, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from semqa.attribution.attrscore.labels import Example
    from semqa.attribution.attrscore.options import TrainingOptions
    from semqa.training.trainer import Run


_NAMES: Final[dict[str, Label]] = {
    **{label.lower(): label for label in LABELS},
    **{relation: label for label, relation in RELATIONS.items()},
}


@dataclass(frozen=True, slots=True)
class Trained:
    """A model to train, and the labels of its outputs; `new_head` if its last layer is new."""

    model: Any
    tokenizer: Any
    labels: tuple[Label, ...]
    new_head: bool


def load(options: TrainingOptions) -> Trained:
    """Load a model; missing weights are initialised with the seed.

    An entailment classifier with three relations keeps its last layer, because they correspond to
    the labels. Other models get a new last layer.
    """
    files = ModelFiles.find(options.model)
    from transformers import AutoModelForSequenceClassification, set_seed

    with files.loading():
        config, tokenizer = files.config(), files.tokenizer()
        set_seed(options.seed)
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
        kind = AutoModelForSequenceClassification
        model, _ = files.model(kind, config, ignore_mismatched_sizes=True)
    return Trained(model.float(), tokenizer, labels, not reused)


FORMAT = "semqa-attrscore-training/2"


def train(
    examples: Sequence[Example],
    dev: Sequence[Example],
    out: Path,
    options: TrainingOptions,
    *,
    progress: Progress = Progress(),  # noqa: B008  (a constant)
) -> dict[str, Any]:
    """Fine-tune a model, or resume the training run in a folder.

    The examples are labelled; `dev` selects the best model. It is saved in the subfolder ``model``
    of `out`.

    Returns:
        The record, as in ``training.json``: settings, data, the scores of each evaluation, and the
        best evaluation.

    Raises:
        KeyboardInterrupt: Ctrl-C or SIGTERM (`Terminated`); a checkpoint has the progress.
    """
    for name, some in (("training", examples), ("dev", dev)):
        if not some:
            raise InputError(f"There are no {name} examples.")
    plan = {
        "format": FORMAT,
        "options": asdict(options),
        "data": {"train": _data(examples), "dev": _data(dev)},
    }
    for package in ("transformers", "torch", "accelerate"):
        if find_spec(package) is None:
            require(package, extra="eval", purpose="training for AttrScore")
    ranks = Ranks.join(options.device)
    folder = ranks.first(lambda: TrainingFolder(out, "attrscore.json"))
    return Session(folder, ranks, progress).run(
        plan, lambda session: _train(examples, dev, session, plan, options)
    )


def _train(
    examples: Sequence[Example],
    dev: Sequence[Example],
    session: Session,
    plan: dict[str, Any],
    options: TrainingOptions,
) -> dict[str, Any]:
    trained = load(options)
    longest = min(options.max_length, longest_input(trained.tokenizer, trained.model.config))
    encoded = [_encode(some, trained, longest) for some in (examples, dev)]
    for name, some in zip(("training", "dev"), encoded, strict=True):
        if not some.features:
            raise InputError(
                f"No {name} example can be used: {some.left_out} claims are too long for {longest} tokens.",
                hint="Increase --max-length or choose another model.",
            )
    with quiet():
        run = _make_run(trained, encoded[0].features, encoded[1].features, session, options)
        history = run.go(session.claim(plan))
    return {
        **plan,
        "labels": [label.lower() for label in trained.labels],
        "new_head": trained.new_head,
        "max_length": longest,
        "cut": {"train": encoded[0].cut, "dev": encoded[1].cut},
        "left_out": {"train": encoded[0].left_out, "dev": encoded[1].left_out},
        "history": history,
        "best": session.ranks.first(session.folder.best),
        "versions": versions(),
    }


def split_by_question(
    examples: Sequence[Example], share: float, seed: int
) -> tuple[list[Example], list[Example]]:
    """Split examples into training and dev sets without common questions, in order.

    `share` is the share of the dev set, in (0, 1).
    """
    keys = [" ".join((each.query or each.answer).split()).casefold() for each in examples]
    questions = sorted(set(keys))
    Random(seed).shuffle(questions)  # noqa: S311  (no secret)
    sizes = Counter(keys)
    target, count = share * len(examples), 0
    chosen: set[str] = set()
    for question in questions:
        if count >= target:
            break
        chosen.add(question)
        count += sizes[question]
    training = [each for each, key in zip(examples, keys, strict=True) if key not in chosen]
    dev = [each for each, key in zip(examples, keys, strict=True) if key in chosen]
    if not training or not dev:
        raise InputError(
            f"leaves the training or dev set empty: {share:g} of {len(examples)} examples with {len(questions)} questions.",
            field="--dev-share",
            hint="Choose a file with --dev, or another share.",
        )
    return training, dev


def _data(examples: Sequence[Example]) -> dict[str, Any]:
    digest = hashlib.sha256()
    for each in examples:
        if each.label is None:
            where = each.where or f"example {each.id}"
            raise InputError(
                f"must be one of {', '.join(LABELS)}, but is missing.", field="label", where=where
            )
        digest.update(encode_row({"row": [each.query, each.answer, each.reference, each.label]}))
    return {
        "examples": len(examples),
        "labels": dict(sorted(Counter(str(each.label) for each in examples).items())),
        "sha256": digest.hexdigest(),
    }


MIN_REFERENCE = 8
"""Minimum tokens of a reference; examples with fewer left are not used."""


@dataclass(frozen=True, slots=True)
class _Encoded:
    features: list[dict[str, Any]]
    cut: int
    left_out: int


def _encode(examples: Sequence[Example], trained: Trained, longest: int) -> _Encoded:
    """Encode references as premises and claims as hypotheses."""
    tokenizer = trained.tokenizer
    features: list[dict[str, Any]] = []
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
        features.append({**encoded, "labels": trained.labels.index(example.label)})
    return _Encoded(features, cut, left_out)


SCORES = ("micro_f1", "macro_f1", *(f"f1_{label.lower()}" for label in LABELS))


def _make_run(
    trained: Trained,
    features: list[dict[str, Any]],
    dev: list[dict[str, Any]],
    session: Session,
    options: TrainingOptions,
) -> Run:
    # Imported late, because torch and transformers take seconds to import.
    from transformers import DataCollatorWithPadding

    from semqa.training.trainer import GuardedTrainer, Keeping, OneDevice, Run, arguments

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
        warmup_steps=warmup_steps(len(features), options),
        weight_decay=0.0,
    )
    trainer = GuardedTrainer(
        args=OneDevice(**given),
        data_collator=DataCollatorWithPadding(trained.tokenizer),
        model=trained.model,
        train_dataset=features,
        eval_dataset=dev,
        processing_class=trained.tokenizer,
        compute_metrics=_scorer(trained.labels, [trained.labels[each["labels"]] for each in dev]),
    )
    keeping = Keeping("micro_f1", SCORES, save, save_steps=options.save_steps)
    return Run(trainer, session.folder, session.ranks, keeping, session.progress.on_progress)


WARMUP = 0.03


def warmup_steps(examples: int, options: TrainingOptions) -> int:
    """Return the number of warm-up steps: 3% of all steps."""
    batches = math.ceil(examples / options.batch_size)
    steps = math.ceil(math.ceil(batches / options.accumulate) * options.epochs)
    return math.ceil(WARMUP * (options.max_steps or steps))


def _scorer(labels: Sequence[Label], gold: Sequence[Label]) -> Callable[[Any], dict[str, float]]:
    """Return a function from predictions to scores; an undefined F1 counts as 0."""

    def scores(prediction: Any) -> dict[str, float]:
        logits = prediction.predictions
        logits = logits[0] if isinstance(logits, tuple) else logits
        found = score_labels(gold, [labels[i] for i in logits.argmax(-1)], resamples=0)
        f1 = {f"f1_{name.lower()}": each["f1"] or 0.0 for name, each in found["labels"].items()}
        return {"micro_f1": found["micro_f1"], "macro_f1": found["macro_f1"] or 0.0, **f1}

    return scores
