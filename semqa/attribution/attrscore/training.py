"""Fine-tune a model on AttrScore's labels with transformers' Trainer.

Each epoch is evaluated with `scores`, and the best model is kept. A training run that was killed
resumes from its last complete checkpoint and ends with the same weights as without the
interruption.

Source: Yue et al. 2023, fine-tuning of RoBERTa, GPT-2, T5, Flan-T5 and LLaMA models. The default
learning rate, length, schedule (a cosine after a warm-up) and examples per step are those of the
paper and of the released training command.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal

from semqa.attribution.attrscore.judging import AttrPrompt
from semqa.attribution.attrscore.labels import LABELS, RELATIONS, Label
from semqa.attribution.judges.models import longest_input
from semqa.data.jsonl import encode_row
from semqa.engines.model.hub import ModelFiles, quiet
from semqa.errors import InputError
from semqa.extras import require
from semqa.training.folder import Progress, Ranks, Session, TrainingFolder, versions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from semqa.attribution.attrscore.labels import Example
    from semqa.attribution.attrscore.options import TrainingOptions


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
    from transformers import set_seed

    with files.loading():
        config, tokenizer = files.config(), files.tokenizer()
        kind = options.kind
        if kind == "auto":
            kind = "seq2seq" if config.is_encoder_decoder else "classifier"
        set_seed(options.seed)
        load_kind = _seq2seq if kind == "seq2seq" else _classifier
        return load_kind(files, config, tokenizer)


def _seq2seq(files: ModelFiles, config: Any, tokenizer: Any) -> Trained:
    from transformers import AutoModelForSeq2SeqLM

    if not config.is_encoder_decoder:
        raise InputError(
            f"The {config.model_type} model {files.name} is not an encoder-decoder like T5.",
            hint="Use --kind classifier.",
        )
    model, _ = files.model(AutoModelForSeq2SeqLM, config)
    return Trained(model.float(), tokenizer, "seq2seq", (), False)


def _classifier(files: ModelFiles, config: Any, tokenizer: Any) -> Trained:
    from transformers import AutoModelForSequenceClassification

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


FORMAT = "semqa-attrscore-training/1"


def train(
    examples: Sequence[Example],
    dev: Sequence[Example],
    out: Path,
    options: TrainingOptions,
    *,
    progress: Progress = Progress(),  # noqa: B008  (a constant)
) -> dict[str, Any]:
    """Fine-tune a model, or resume the training run in a folder.

    Args:
        examples: labelled training examples.
        dev: labelled examples for selecting the best model.
        out: folder of the run; the model is saved in its subfolder ``model``.
        options: model and hyperparameters.
        progress: callbacks.

    Returns:
        The record, as in ``training.json``: settings, data, the scores of each evaluation, and the
        best evaluation.

    Raises:
        InputError: examples, model or folder are invalid.
        UnavailableError: the disk failed, another process uses the folder, or a package is missing.
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
    # Imported late, because torch and transformers take seconds to import.
    from semqa.attribution.attrscore.trainer import (
        encode_pairs,
        encode_prompts,
        make_run,
    )

    longest = min(options.max_length, longest_input(trained.tokenizer, trained.model.config))
    if trained.kind == "classifier":
        numbers = {label: number for number, label in enumerate(trained.labels)}
        encoded = [
            encode_pairs(some, trained.tokenizer, numbers, longest) for some in (examples, dev)
        ]
    else:
        prompt = AttrPrompt.create(options.family)
        encoded = [
            encode_prompts(some, trained.tokenizer, prompt, longest) for some in (examples, dev)
        ]
    for name, some in zip(("training", "dev"), encoded, strict=True):
        if not some.features:
            raise InputError(
                f"No {name} example can be used: {some.left_out} claims are too long for {longest} tokens.",
                hint="Increase --max-length or choose another model.",
            )
    with quiet():
        run = make_run(trained, encoded[0], encoded[1], session, options)
        history = run.go(session.claim(plan))
    return {
        **plan,
        "kind": trained.kind,
        "labels": [label.lower() for label in trained.labels],
        "new_head": trained.new_head,
        "max_length": longest,
        "prompt": None
        if trained.kind == "classifier"
        else AttrPrompt.create(options.family).to_dict(),
        "cut": {"train": encoded[0].cut, "dev": encoded[1].cut},
        "left_out": {"train": encoded[0].left_out, "dev": encoded[1].left_out},
        "history": history,
        "best": session.ranks.first(session.folder.best),
        "versions": versions(),
    }


def split_by_question(
    examples: Sequence[Example], share: float, seed: int
) -> tuple[list[Example], list[Example]]:
    """Split examples into training and dev sets without common questions.

    `share` is the share of the dev set, in (0, 1). The order is kept.
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
            value=share,
            hint="Choose a file with --dev, or another share.",
        )
    return training, dev


def _data(examples: Sequence[Example]) -> dict[str, Any]:
    digest = hashlib.sha256()
    labels: Counter[str] = Counter()
    for example in examples:
        if example.label is None:
            raise InputError(
                f"must be one of {', '.join(LABELS)}, but is missing.",
                field="label",
                where=example.where or f"example {example.id}",
            )
        labels[example.label] += 1
        row = [example.query, example.answer, example.reference, example.label]
        digest.update(encode_row({"row": row}))
    return {
        "examples": len(examples),
        "labels": dict(sorted(labels.items())),
        "sha256": digest.hexdigest(),
    }
