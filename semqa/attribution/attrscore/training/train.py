"""Fine-tuning a model on AttrScore's labels, with transformers' Trainer.

Evaluated each epoch with the scores of `scores`; the best model is kept; a training that was killed
goes on from its last whole checkpoint, and ends with the weights that it would have ended with.

Source: Yue et al. 2023, fine-tuning, of RoBERTa, GPT-2, T5, Flan-T5 and LLaMA
models. Learning rate, length, schedule (a cosine after a warm-up) and examples a step are by default
the paper's and those of the released training command.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

from semqa.attribution.attrscore.label import LABELS
from semqa.attribution.attrscore.prompting import AttrPrompt
from semqa.attribution.attrscore.training.models import load, require_trainer
from semqa.data.jsonl import encode_row
from semqa.engines.model import check_whole
from semqa.engines.model.quiet import quiet
from semqa.errors import InputError
from semqa.trainer import Progress, Ranks, Session, TrainingFolder
from semqa.trainer.session import versions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from semqa.attribution.attrscore.example import Example
    from semqa.attribution.attrscore.training.options import TrainingOptions

__all__ = ["FORMAT", "split_by_question", "train"]

FORMAT = "semqa-attrscore-training/1"


def train(
    examples: Sequence[Example],
    dev: Sequence[Example],
    out: Path,
    options: TrainingOptions,
    *,
    keep_checkpoints: bool = False,
    max_checkpoints: int = 2,
    progress: Progress = Progress(),  # noqa: B008  (a constant)
) -> dict[str, Any]:
    """Fine-tune a model, or go on with what was begun in the folder.

    Args:
        examples: labelled examples to learn from.
        dev: labelled examples by which the best model is told.
        out: the folder of this training; the model is in its ``model``.
        options: what, and how.
        keep_checkpoints: leave the checkpoints there when all is done.
        max_checkpoints: how many are left at a time.
        progress: who is told how it goes.

    Returns:
        The record, as ``training.json`` has it: settings, data, the scores of each evaluation, and
        the best.

    Raises:
        InputError: examples, model or folder are not usable.
        UnavailableError: the disk failed, another process trains there, or a package is missing.
        KeyboardInterrupt: Ctrl-C, or SIGTERM (`Terminated`); what was done is in a checkpoint.
    """
    check_whole("max_checkpoints", max_checkpoints, 1)
    for name, some in (("training", examples), ("dev", dev)):
        if not some:
            raise InputError(
                f"{name} data: got no examples, expected some; give more, or another share"
            )
    plan = {
        "format": FORMAT,
        "options": options.to_dict(),
        "data": {"train": _data(examples), "dev": _data(dev)},
    }
    require_trainer()
    ranks = Ranks.join(options.device)
    folder = ranks.first(lambda: TrainingFolder(out, "attrscore.json"))
    return Session(folder, ranks, progress, max_checkpoints).run(
        plan,
        lambda session: _train(examples, dev, session, plan, options),
        keep_checkpoints=keep_checkpoints,
    )


def _train(
    examples: Sequence[Example],
    dev: Sequence[Example],
    session: Session,
    plan: dict[str, Any],
    options: TrainingOptions,
) -> dict[str, Any]:
    trained = load(options)
    # Modules of torch and transformers, which take seconds to import.
    from semqa.attribution.attrscore.training.encoding import (
        encode_pairs,
        encode_prompts,
        longest_input,
    )
    from semqa.attribution.attrscore.training.trainer import make_run

    longest = longest_input(options.max_length, trained.tokenizer, trained.model.config)
    if trained.kind == "classifier":
        numbers = {label: number for number, label in enumerate(trained.labels)}
        encoded = [
            encode_pairs(some, trained.tokenizer, numbers, longest, options.with_query)
            for some in (examples, dev)
        ]
    else:
        prompt = AttrPrompt.create(options.family)
        encoded = [
            encode_prompts(some, trained.tokenizer, prompt, longest, options.with_query)
            for some in (examples, dev)
        ]
    for name, some in zip(("training", "dev"), encoded, strict=True):
        if not some.features:
            raise InputError(
                f"{name} data: no usable example: got {some.left_out} with claims beyond {longest} "
                "tokens, expected some within; raise --max-length, or choose another model"
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
    """Split examples into training and dev so that no question is on both sides.

    Args:
        examples: to be split.
        share: of the dev side, in (0, 1).
        seed: of the draw.

    Returns:
        The training side and the dev side, each in the order given.

    Raises:
        InputError: a side is empty.
    """
    keys = [" ".join((each.query or each.answer).split()).casefold() for each in examples]
    questions = sorted(set(keys))
    Random(seed).shuffle(questions)  # noqa: S311  (no secret)
    sizes = Counter(keys)
    wanted, taken = share * len(examples), 0
    chosen: set[str] = set()
    for question in questions:
        if taken >= wanted:
            break
        chosen.add(question)
        taken += sizes[question]
    training = [each for each, key in zip(examples, keys, strict=True) if key not in chosen]
    dev = [each for each, key in zip(examples, keys, strict=True) if key in chosen]
    if not training or not dev:
        raise InputError(
            f"--dev-share: got {share:g} of {len(examples)} examples with {len(questions)} questions, "
            "expected some on both sides; name a file with --dev, or choose another share"
        )
    return training, dev


def _data(examples: Sequence[Example]) -> dict[str, Any]:
    digest = hashlib.sha256()
    labels: Counter[str] = Counter()
    for example in examples:
        if example.label is None:
            raise InputError(
                f"{example.where or f'example {example.id}'}: no label: got none, expected one of "
                f"{', '.join(LABELS)} to learn from; add it"
            )
        labels[example.label] += 1
        row = [example.query, example.answer, example.reference, example.label]
        digest.update(encode_row({"row": row}))
    return {
        "examples": len(examples),
        "labels": dict(sorted(labels.items())),
        "sha256": digest.hexdigest(),
    }
