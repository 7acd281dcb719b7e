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
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

from semqa.attribution.attrscore.examples import LABELS, Example
from semqa.attribution.attrscore.judging import AttrPrompt
from semqa.attribution.attrscore.options import TrainingOptions
from semqa.attribution.judges.models import longest_input
from semqa.data.jsonl import encode_row
from semqa.engines.model.hub import quiet
from semqa.errors import InputError
from semqa.extras import require
from semqa.training.folder import Progress, Ranks, Session, TrainingFolder, versions


def train(
    examples: Sequence[Example],
    dev: Sequence[Example],
    out: Path,
    options: TrainingOptions,
    *,
    progress: Progress = Progress(),  # noqa: B008  (a constant)
) -> dict[str, Any]:
    """Fine-tune a model on labelled examples, or resume the run in a folder.

    The best model on `dev` is saved in the subfolder ``model``. The result is the record in
    ``training.json``: settings, data, and the scores of each evaluation. For errors, see
    `semqa.training.train.train`.
    """
    for name, some in (("training", examples), ("dev", dev)):
        if not some:
            raise InputError(f"There are no {name} examples.")
    plan = {
        "format": "semqa-attrscore-training/1",
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
    # Imported late, because torch and transformers take seconds to import.
    from semqa.attribution.attrscore.trainer import encode, load, make_run

    trained = load(options)
    longest = min(options.max_length, longest_input(trained.tokenizer, trained.model.config))
    prompt = None if trained.kind == "classifier" else AttrPrompt.create(options.family)
    encoded = {
        name: encode(some, trained, prompt, longest)
        for name, some in (("train", examples), ("dev", dev))
    }
    for name, some in encoded.items():
        if not some.features:
            raise InputError(
                f"No {name} example can be used: {some.left_out} claims are too long for {longest} tokens.",
                hint="Increase --max-length or choose another model.",
            )
    with quiet():
        run = make_run(trained, encoded["train"], encoded["dev"], session, options)
        history = run.go(session.claim(plan))
    return {
        **plan,
        "kind": trained.kind,
        "labels": [label.lower() for label in trained.labels],
        "new_head": trained.new_head,
        "max_length": longest,
        "prompt": None if prompt is None else prompt.to_dict(),
        "cut": {name: some.cut for name, some in encoded.items()},
        "left_out": {name: some.left_out for name, some in encoded.items()},
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
    count = 0
    chosen: set[str] = set()
    for question in questions:
        if count >= share * len(examples):
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
