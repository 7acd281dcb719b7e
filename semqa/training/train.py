"""Fine-tuning a model on QuoteSum answers, with transformers' Trainer.

Evaluations use the same engine, prompts and constraint as inference. The best model is kept. A
killed run resumes from its last complete checkpoint, and ends with the same weights as without the
interruption.

Source: Schuster et al., SEMQA (NAACL 2024), section 5.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semqa.data.jsonl import encode_row
from semqa.data.quotesum import Question
from semqa.engines.model.hub import model_identity, quiet
from semqa.engines.model.options import learned_files
from semqa.engines.model.text import PromptEncoder
from semqa.errors import InputError
from semqa.extras import require
from semqa.prompting import PromptBuilder
from semqa.training.examples import DevScorer, Encoded, encode, end_token, pack
from semqa.training.folder import Progress, Ranks, Session, TrainingFolder, versions
from semqa.training.options import TrainingOptions

if TYPE_CHECKING:
    from semqa.engines.transformers import TransformersEngine, TransformersOptions
    from semqa.engines.transformers.loading import LoadedModel

FORMAT = "semqa-training/1"
SCORES = "semqa-training.json"
"""The file in the model folder with its step and scores."""

_PURPOSE = "semqa train"


def train(
    questions: Sequence[Question],
    dev: Sequence[Question],
    out: Path,
    options: TrainingOptions,
    *,
    progress: Progress = Progress(),  # noqa: B008  (a constant)
) -> dict[str, Any]:
    """Fine-tune a model, or resume the run in the folder.

    Every reference of a question is an example. The best model on `dev` is saved in the subfolder
    ``model``. The result is the content of ``training.json``: settings, data, prompts, and the
    scores of all evaluations and of the best model.

    Raises:
        InputError: the data, model or folder cannot be used.
        UnavailableError: a file cannot be written, or another process uses the folder.
        MissingExtraError: a package is missing.
        KeyboardInterrupt: Ctrl-C or SIGTERM (`Terminated`); a checkpoint has been saved.
    """
    for name, data in (("training", questions), ("dev", dev)):
        if not data:
            raise InputError(f"The {name} data has no questions.")
    prompts = PromptBuilder(options.prompt, form=options.form)
    if prompts.template.answers != "quotes":
        raise InputError(
            f"{prompts.template.name} asks for {prompts.template.answers}, but the answers have "
            "quotes.",
            field="prompt",
        )
    for package in ("torch", "transformers", "accelerate"):
        if find_spec(package) is None:
            require(package, extra="train", purpose=_PURPOSE)
    plan = {
        "format": FORMAT,
        "options": asdict(options),
        "model_identity": _identity(options),
        "data": {"train": _data(questions), "dev": _data(dev)},
        "shared_questions": len({each.qid for each in questions} & {each.qid for each in dev}),
        "prompt": prompts.identity(),
    }
    extra_files = learned_files(prompts.template, options.form)
    ranks = Ranks.join(options.device)
    folder = ranks.first(lambda: TrainingFolder(out, SCORES, extra_files))
    return Session(folder, ranks, progress).run(
        plan, lambda session: _train(questions, dev, session, plan, options, prompts)
    )


def _train(
    questions: Sequence[Question],
    dev: Sequence[Question],
    session: Session,
    plan: dict[str, Any],
    options: TrainingOptions,
    prompts: PromptBuilder,
) -> dict[str, Any]:
    from semqa.engines.transformers import TransformersEngine, TransformersOptions
    from semqa.engines.transformers.loading import load_model

    settings = TransformersOptions(
        dtype=options.dtype,
        device=options.device,
        constraint=options.constraint,
        decoding="tokens",  # span decoding would mostly measure its ranker
        batch_size=options.eval_batch_size,
        max_new_tokens=options.max_new_tokens,
    )
    loaded = load_model(options.model, settings)
    method = _method(options, loaded)
    # These imports take seconds.
    from transformers import set_seed

    from semqa.training.trainer import make_run

    folder, ranks = session.folder, session.ranks
    engine = TransformersEngine(loaded, settings, prompts=prompts)
    engine.warm_up(session.progress.say)
    scorer = DevScorer(engine, dev, ranks)
    encoded = _encoded(questions, engine, loaded, settings, options)
    if plan["model_identity"] is None:
        plan["model_identity"] = _identity(options)  # known once the model is downloaded
    with quiet():
        set_seed(options.seed)
        model = loaded.model
        if method == "lora":
            # Adapters are added to the engine's model in place, so evaluations use them.
            model = adapted(loaded.model, options)
        run = make_run(model, loaded.tokenizer, encoded, scorer, session, options)
        # Claim the folder only now: after an error above, a corrected command may use it.
        history = run.go(session.claim(plan))
        if method == "lora":
            ranks.first(lambda: _merge(folder, options, settings))
    return {
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
            "must be float32 to train all weights: bfloat16 loses small updates.",
            field="dtype",
            hint="Use bf16 instead.",
        )
    return method


def _encoded(
    questions: Sequence[Question],
    engine: TransformersEngine,
    loaded: LoadedModel,
    settings: TransformersOptions,
    options: TrainingOptions,
) -> Encoded:
    from semqa.engines.transformers.loading import prompt_limit

    encoder_decoder = bool(loaded.model.config.is_encoder_decoder)
    if options.pack and encoder_decoder:
        raise InputError("is not supported for encoder-decoder models.", field="pack")
    context = prompt_limit(loaded, settings)
    if not encoder_decoder:
        context += options.max_new_tokens
    limit = min(options.max_length, context)
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
            f"No answer of the training data fits into {limit:,} tokens with its prompt.",
            hint="Raise --max-length, or choose another model.",
        )
    if options.pack:
        return replace(encoded, features=pack(encoded.features, limit))
    return encoded


def _merge(folder: TrainingFolder, options: TrainingOptions, settings: TransformersOptions) -> None:
    """Replace the adapters with the merged model, unless that was done before a restart."""
    best = folder.best()
    if best is None or (folder.model / "config.json").exists():
        return
    from semqa.engines.transformers.loading import load_model

    # On the CPU: the trained model still occupies the GPU.
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


ADAPTER = "adapter"
"""The subfolder of the model with the adapters."""


def adapted(model: Any, options: TrainingOptions) -> Any:
    """Add new adapters to a model, in place; its own weights are frozen.

    Source: Hu et al. 2022, LoRA.
    """
    from peft import LoraConfig, TaskType, get_peft_model

    targets = [name.strip() for name in options.lora_targets.split(",")]
    encoder_decoder = bool(model.config.is_encoder_decoder)
    config = LoraConfig(
        task_type=TaskType.SEQ_2_SEQ_LM if encoder_decoder else TaskType.CAUSAL_LM,
        r=options.lora_rank,
        lora_alpha=options.lora_alpha,
        lora_dropout=options.lora_dropout,
        target_modules="all-linear" if targets == ["all-linear"] else targets,
        bias="none",
    )
    try:
        return get_peft_model(model, config)
    except ValueError as error:
        raise InputError(
            f"must be modules of {options.model}: {' '.join(str(error).split())[:200]}",
            field="lora_targets",
        ) from error


def merge(adapters: Path, base: Any, tokenizer: Any, folder: Path) -> None:
    """Merge adapters into their base model in place, and save the merged model and the adapters."""
    from peft import PeftModel

    model: Any = PeftModel.from_pretrained(base, str(adapters))
    model.save_pretrained(str(folder / ADAPTER))
    model.merge_and_unload().save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
