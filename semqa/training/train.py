"""Fine-tuning a model on QuoteSum's answers, with transformers' Trainer.

Evaluated as it will be asked: with the engine's own prompts, under the constraint. The best model is
kept; a training that was killed goes on from its last whole checkpoint, and ends with the weights
that it would have ended with.

Source: Schuster et al., SEMQA (NAACL 2024), section 5.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from semqa.data.jsonl import encode_row
from semqa.engines.model import check_whole
from semqa.engines.model.hub import model_identity, quiet
from semqa.engines.model.options import learned_files
from semqa.errors import InputError, MissingExtraError
from semqa.extras import require
from semqa.prompting import PromptBuilder
from semqa.trainer import Progress, Ranks, Session, TrainingFolder
from semqa.trainer.session import versions
from semqa.training.card import write_card

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from semqa.data.quotesum import Question
    from semqa.engines.transformers import TransformersEngine, TransformersOptions
    from semqa.engines.transformers.loading import LoadedModel
    from semqa.training.encoding import Encoded
    from semqa.training.options import TrainingOptions

__all__ = ["FORMAT", "train"]

FORMAT = "semqa-training/1"
SCORES = "semqa-training.json"
"""The file in the trained model's folder that says what it is."""

_PURPOSE = "semqa train"


def train(
    questions: Sequence[Question],
    dev: Sequence[Question],
    out: Path,
    options: TrainingOptions,
    *,
    keep_checkpoints: bool = False,
    max_checkpoints: int = 2,
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
        max_checkpoints: how many are left at a time.
        tensorboard: write events to the folder's ``tensorboard``.
        progress: who is told how it goes.

    Returns:
        The record, as ``training.json`` has it: settings, data, prompts, the scores of each
        evaluation, and the best.

    Raises:
        InputError: questions, model or folder are not usable.
        UnavailableError: the disk failed, or another process trains there.
        MissingExtraError: a package is missing.
        KeyboardInterrupt: Ctrl-C, or SIGTERM (`Terminated`); what was done is in a checkpoint.
    """
    for name, some in (("training", questions), ("dev", dev)):
        if not some:
            raise InputError(f"{name} data: got no questions, expected some; give another file")
    check_whole("max_checkpoints", max_checkpoints, 1)
    prompts = PromptBuilder(options.prompt, form=options.form)
    if prompts.template.answers != "quotes":
        raise InputError(
            f"prompt {prompts.template.name}: asks for {prompts.template.answers}: got it for answers "
            "with quotes, expected a prompt for such; choose another"
        )
    for package in ("torch", "transformers", "accelerate"):
        if find_spec(package) is None:
            require(package, extra="train", purpose=_PURPOSE)
    if tensorboard and find_spec("tensorboard") is None:
        raise MissingExtraError(
            "tensorboard: a package is missing: got no tensorboard, expected it; run: pip install "
            "tensorboard, or leave the option out"
        )
    plan = {
        "format": FORMAT,
        "options": {**options.to_dict(), "lora_targets": list(options.lora_targets)},
        "model_identity": _identity(options),
        "data": {"train": _data(questions), "dev": _data(dev)},
        "shared_questions": len({each.qid for each in questions} & {each.qid for each in dev}),
        "prompt": prompts.identity(),
    }
    beside = learned_files(prompts.template, options.form)
    ranks = Ranks.join(options.device)
    folder = ranks.first(lambda: TrainingFolder(out, SCORES, beside))
    session = Session(folder, ranks, progress, max_checkpoints)
    return session.run(
        plan,
        lambda session: _train(
            questions, dev, session, plan, options, prompts, out / "tensorboard", tensorboard
        ),
        keep_checkpoints=keep_checkpoints,
    )


def _train(
    questions: Sequence[Question],
    dev: Sequence[Question],
    session: Session,
    plan: dict[str, Any],
    options: TrainingOptions,
    prompts: PromptBuilder,
    events: Path,
    tensorboard: bool,
) -> dict[str, Any]:
    from semqa.engines.transformers import TransformersEngine, TransformersOptions
    from semqa.engines.transformers.loading import load_model

    settings = TransformersOptions(
        dtype=options.dtype,
        device=options.device,
        constraint=options.constraint,
        decoding="tokens",  # whole quotes come from another ranker, which says little of the model
        batch_size=options.eval_batch_size,
        max_new_tokens=options.max_new_tokens,
    )
    loaded = load_model(options.model, settings)
    method = _method(options, loaded)
    # Modules of torch and transformers, which take seconds to import.
    from transformers import set_seed

    from semqa.training.scoring import DevScorer
    from semqa.training.trainer import make_run

    folder, ranks = session.folder, session.ranks
    engine = TransformersEngine(loaded, settings, prompts=prompts, say=session.progress.say)
    scorer = DevScorer(engine, dev, "dev data", ranks)
    encoded = _encoded(questions, engine, loaded, settings, options)
    if plan["model_identity"] is None:
        plan["model_identity"] = _identity(options)  # of the Hub, and on this machine by now
    with quiet():
        set_seed(options.seed)
        model = loaded.model
        if method == "lora":
            from semqa.training.adapters import adapted

            # The engine has the model whose layers get adapters, and answers with them.
            model = adapted(loaded.model, options)
        run = make_run(
            model,
            loaded.tokenizer,
            encoded,
            scorer,
            session,
            options,
            tensorboard=events if tensorboard else None,
        )
        # Not before all is well, or a corrected command would be another training.
        history = run.go(session.claim(plan))
        if method == "lora" and options.merge:
            ranks.first(lambda: _merge(folder, options, settings))
    record = {
        **plan,
        "method": method,
        "chat": engine.chat,
        "examples": len(encoded.features),
        "left_out": encoded.left_out,
        "unverified": encoded.unverified,
        "history": history,
        "best": ranks.first(folder.best),
        "versions": versions(),
    }
    ranks.first(lambda: write_card(folder.model, record))
    return record


def _identity(options: TrainingOptions) -> str | None:
    return model_identity(f"transformers:{options.model}")


def _method(options: TrainingOptions, loaded: LoadedModel) -> str:
    method = options.method
    if method == "auto":
        method = "full" if loaded.model.config.is_encoder_decoder else "lora"
    if method == "lora":
        require("peft", extra="train", purpose=f"{_PURPOSE} with LoRA")
    elif options.dtype != "float32":
        raise InputError(
            f"dtype: got {options.dtype} with method='full', expected float32, for smaller weights "
            "lose small changes; leave it out, or take bf16 in its place"
        )
    return method


def _encoded(
    questions: Sequence[Question],
    engine: TransformersEngine,
    loaded: LoadedModel,
    settings: TransformersOptions,
    options: TrainingOptions,
) -> Encoded:
    from semqa.engines.model import PromptEncoder
    from semqa.engines.transformers.loading import Limits
    from semqa.training.encoding import encode, end_token, pack

    encoder_decoder = bool(loaded.model.config.is_encoder_decoder)
    if options.pack and encoder_decoder:
        raise InputError("pack: This model has an encoder; leave it out.")
    room = Limits.of(loaded, settings).prompt
    limit = min(options.max_length, room if encoder_decoder else room + options.max_new_tokens)
    encoded = encode(
        questions,
        engine.prompt,
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
    if options.pack:
        return replace(encoded, features=pack(encoded.features, limit))
    return encoded


def _merge(folder: TrainingFolder, options: TrainingOptions, settings: TransformersOptions) -> None:
    """Put the whole model in the place of the adapters, unless a killed training has done so."""
    best = folder.best()
    if best is None or (folder.model / "config.json").exists():
        return
    from pathlib import Path

    from semqa.engines.transformers.loading import load_model
    from semqa.training.adapters import merge

    # Off the GPU, where the trained model still is.
    base = load_model(options.model, replace(settings, device="cpu"))
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
