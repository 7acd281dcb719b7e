"""Fine-tuning a model on QuoteSum's answers, with transformers' Trainer.

Evaluated as it will be asked: with the engine's own prompts, under the constraint. The best model is
kept; a training that was killed goes on from its last whole checkpoint, and ends with the weights
that it would have ended with.

Source: Schuster et al., SEMQA (NAACL 2024), section 5.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import semqa
from semqa.data.jsonl import encode_row
from semqa.data.lock import locked
from semqa.engines.model.identity import model_identity, model_versions
from semqa.engines.model.quiet import quiet
from semqa.errors import InputError, MissingExtraError
from semqa.extras import require
from semqa.prompting import PromptBuilder
from semqa.trainer import TrainingFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from semqa.data.quotesum import Question
    from semqa.engines.transformers import TransformersOptions
    from semqa.engines.transformers.loading import LoadedModel
    from semqa.training.encoding import Encoded
    from semqa.training.options import TrainingOptions

__all__ = ["FORMAT", "Progress", "train"]

FORMAT = "semqa-training/1"
SCORES = "semqa-training.json"
"""The file in the trained model's folder that says what it is."""

_PURPOSE = "semqa train"


class Progress(NamedTuple):
    """Who is told what.

    Attributes:
        on_progress: called with how many steps are done, and of how many.
        on_resume: called with the step that a killed training goes on from.
        say: told in words what takes long.
    """

    on_progress: Callable[[int, int | None], None] | None = None
    on_resume: Callable[[int], None] | None = None
    say: Callable[[str], None] | None = None


def train(
    questions: Sequence[Question],
    dev: Sequence[Question],
    out: Path,
    options: TrainingOptions,
    *,
    keep_checkpoints: bool = False,
    tensorboard: bool = False,
    progress: Progress = Progress(),  # noqa: B008  (a constant)
) -> dict[str, Any]:
    """Fine-tune a model, or go on with what was begun in the folder.

    Args:
        questions: to learn from, every reference.
        dev: by which the best model is told.
        out: the folder of this training; the model is in its ``model``.
        options: what, and how.
        keep_checkpoints: leave the checkpoints there when all is done.
        tensorboard: write events to the folder's ``tensorboard``.
        progress: who is told how it goes.

    Returns:
        The record, as ``training.json`` has it: settings, data, prompts, the scores of each
        evaluation, and the best.

    Raises:
        InputError: questions, model or folder are not usable.
        UnavailableError: the disk failed, or another process trains there.
        MissingExtraError: a package is missing.
        KeyboardInterrupt: Ctrl-C; what was done is in a checkpoint.
    """
    for name, some in (("training", questions), ("dev", dev)):
        if not some:
            raise InputError(f"{name} data: got no questions, expected some; give another file")
    prompts = PromptBuilder(options.prompt, form=options.form)
    if tensorboard and find_spec("tensorboard") is None:
        raise MissingExtraError(
            "tensorboard: a package is missing: got no tensorboard, expected it; run: pip install "
            "tensorboard, or leave the option out"
        )
    folder = TrainingFolder(out, SCORES)
    plan = {
        "format": FORMAT,
        "options": {**options.to_dict(), "lora_targets": list(options.lora_targets)},
        "model_identity": model_identity(f"transformers:{options.model}"),
        "data": {"train": _data(questions), "dev": _data(dev)},
        "shared_questions": len({each.qid for each in questions} & {each.qid for each in dev}),
        "prompt": prompts.identity(),
    }
    with locked(out / "lock", wait_seconds=1.0):
        folder.check(plan)
        done = folder.record()
        if done is not None:
            return done
        record = _train(
            questions,
            dev,
            folder,
            plan,
            options,
            prompts,
            out / "tensorboard",
            tensorboard,
            progress,
        )
        folder.finish(record, keep_checkpoints=keep_checkpoints)
        return record


def _train(
    questions: Sequence[Question],
    dev: Sequence[Question],
    folder: TrainingFolder,
    plan: dict[str, Any],
    options: TrainingOptions,
    prompts: PromptBuilder,
    events: Path,
    tensorboard: bool,
    progress: Progress,
) -> dict[str, Any]:
    for package in ("torch", "transformers", "accelerate"):
        if find_spec(package) is None:
            require(package, extra="train", purpose=_PURPOSE)
    from semqa.engines.transformers import TransformersEngine, TransformersOptions
    from semqa.engines.transformers.loading import load_model

    settings = TransformersOptions(
        dtype=options.dtype,
        device=options.device,
        constraint=options.constraint,
        batch_size=options.eval_batch_size,
        max_new_tokens=options.max_new_tokens,
    )
    loaded = load_model(options.model, settings)
    method = _method(options, loaded)
    # Modules of torch and transformers, which take seconds to import.
    from transformers import set_seed

    from semqa.training.scoring import DevScorer
    from semqa.training.trainer import Run

    engine = TransformersEngine(loaded, settings, prompts=prompts, say=progress.say)
    scorer = DevScorer(engine, dev, "dev data")
    encoded = _encoded(questions, loaded, settings, prompts, options)
    folder.claim(plan)  # not before all is well, or a corrected command would be another training
    checkpoint = folder.last_checkpoint()
    if checkpoint is not None and progress.on_resume is not None:
        progress.on_resume(int(checkpoint.name.rpartition("-")[2]))
    with quiet():
        set_seed(options.seed)
        model = loaded.model
        if method == "lora":
            from semqa.training.adapters import adapted

            # The engine has the model whose layers get adapters, and answers with them.
            model = adapted(loaded.model, options)
        run = Run(
            model,
            loaded.tokenizer,
            encoded,
            scorer,
            folder,
            options,
            tensorboard=events if tensorboard else None,
            on_progress=progress.on_progress,
        )
        history = run.go(checkpoint)
        if method == "lora":
            _merge(folder, options, settings)
    return {
        **plan,
        "method": method,
        "chat": engine.chat,
        "examples": len(encoded.features),
        "left_out": encoded.left_out,
        "unverified": encoded.unverified,
        "history": history,
        "best": folder.best(),
        "versions": _versions(),
    }


def _method(options: TrainingOptions, loaded: LoadedModel) -> str:
    method = options.method
    if method == "auto":
        method = "full" if loaded.model.config.is_encoder_decoder else "lora"
    if method == "lora":
        require("peft", extra="train", purpose=f"{_PURPOSE} with LoRA")
    return method


def _encoded(
    questions: Sequence[Question],
    loaded: LoadedModel,
    settings: TransformersOptions,
    prompts: PromptBuilder,
    options: TrainingOptions,
) -> Encoded:
    from semqa.engines.model import PromptEncoder
    from semqa.engines.transformers.limits import Limits
    from semqa.training.encoding import encode, end_token

    encoder_decoder = bool(loaded.model.config.is_encoder_decoder)
    room = Limits.of(loaded, settings).prompt
    limit = min(options.max_length, room if encoder_decoder else room + options.max_new_tokens)
    encoded = encode(
        questions,
        prompts,
        PromptEncoder(loaded.tokenizer, is_encoder_decoder=encoder_decoder, form=options.form),
        loaded.tokenizer,
        end=end_token(options.model, loaded.tokenizer),
        limit=limit,
        is_encoder_decoder=encoder_decoder,
    )
    if not encoded.features:
        raise InputError(
            f"training data: no usable answer: got {encoded.left_out} beyond {limit:,} tokens with "
            "their prompts, expected some within; raise --max-length, or choose another model"
        )
    return encoded


def _merge(folder: TrainingFolder, options: TrainingOptions, settings: TransformersOptions) -> None:
    """Put the whole model in the place of the adapters, unless a killed training has done so."""
    best = folder.best()
    if best is None or (folder.model / "config.json").exists():
        return
    from pathlib import Path

    from semqa.engines.transformers.loading import load_model
    from semqa.training.adapters import merge

    base = load_model(options.model, settings)
    folder.keep(best, lambda path: merge(folder.model, base.model, base.tokenizer, Path(path)))


def _data(questions: Sequence[Question]) -> dict[str, Any]:
    digest = hashlib.sha256()
    for each in questions:
        sources = [[source.title, source.text] for source in each.sources]
        row = [each.qid, each.question, sources, list(each.texts), list(each.short_answers)]
        digest.update(encode_row({"row": row}))
    return {
        "questions": len(questions),
        "answers": sum(len(each.references) for each in questions),
        "sha256": digest.hexdigest(),
    }


def _versions() -> dict[str, str]:
    found = {"semqa": semqa.__version__, **model_versions()}
    for name in ("accelerate", "peft"):
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found
