"""Fine-tuning a model on QuoteSum's answers, with transformers' Trainer.

Evaluated as it will be asked: with the engine's own prompts, under the constraint. The best model is
kept; a training that was killed goes on from its last whole checkpoint, and ends with the weights
that it would have ended with.

Source: Schuster et al., SEMQA (NAACL 2024), section 5.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from semqa.data.jsonl import encode_row
from semqa.engines.base import Request
from semqa.engines.model.hub import model_identity, quiet
from semqa.engines.model.options import learned_files
from semqa.errors import InputError
from semqa.extras import require
from semqa.metrics import METRICS, Example, score
from semqa.prompting import PromptBuilder
from semqa.prompting.prompt import Spelling
from semqa.quotes import QuotedAnswer
from semqa.training.folder import Progress, Ranks, Session, TrainingFolder, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from semqa.data.quotesum import Question
    from semqa.engines.model.text import PromptEncoder
    from semqa.engines.transformers import TransformersEngine, TransformersOptions
    from semqa.engines.transformers.loading import LoadedModel
    from semqa.prompting import Prompt
    from semqa.quotes import Source
    from semqa.training.options import TrainingOptions

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
        progress: callbacks.

    Returns the record, as ``training.json`` has it: settings, data, prompts, the scores of each
    evaluation, and the best.

    Raises:
        InputError: questions, model or folder are not usable.
        UnavailableError: the disk failed, or another process trains there.
        MissingExtraError: a package is missing.
        KeyboardInterrupt: Ctrl-C, or SIGTERM (`Terminated`); what was done is in a checkpoint.
    """
    for name, some in (("training", questions), ("dev", dev)):
        if not some:
            raise InputError(f"The {name} data has no questions.")
    if max_checkpoints < 1:
        raise InputError(f"must be at least 1, got {max_checkpoints}.", field="max_checkpoints")
    prompts = PromptBuilder(options.prompt, form=options.form)
    if prompts.template.answers != "quotes":
        asks = f"asks for {prompts.template.answers}, but the answers have quotes."
        raise InputError(f"{prompts.template.name} {asks}", field="prompt", value=options.prompt)
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
    beside = learned_files(prompts.template, options.form)
    ranks = Ranks.join(options.device)
    folder = ranks.first(lambda: TrainingFolder(out, SCORES, beside))
    session = Session(folder, ranks, progress, max_checkpoints)
    return session.run(
        plan,
        lambda session: _train(questions, dev, session, plan, options, prompts),
        keep_checkpoints=keep_checkpoints,
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
        decoding="tokens",  # whole quotes come from another ranker, which says little of the model
        batch_size=options.eval_batch_size,
        max_new_tokens=options.max_new_tokens,
    )
    loaded = load_model(options.model, settings)
    method = _method(options, loaded)
    # Modules of torch and transformers, which take seconds to import.
    from transformers import set_seed

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
            # The engine has the model whose layers get adapters, and answers with them.
            model = adapted(loaded.model, options)
        run = make_run(model, loaded.tokenizer, encoded, scorer, session, options)
        # Not before all is well, or a corrected command would be another training.
        history = run.go(session.claim(plan))
        if method == "lora" and options.merge:
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
            "must be float32 if all weights are trained: smaller ones lose small changes.",
            field="dtype",
            value=options.dtype,
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
    from semqa.engines.model.text import PromptEncoder
    from semqa.engines.transformers.loading import prompt_limit

    encoder_decoder = bool(loaded.model.config.is_encoder_decoder)
    if options.pack and encoder_decoder:
        raise InputError("is not possible: this model has an encoder.", field="pack")
    room = prompt_limit(loaded, settings)
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
            f"No answer of the training data fits into {limit:,} tokens with its prompt.",
            hint="Raise --max-length, or choose another model.",
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


IGNORED = -100
"""The label of a token that no loss counts, as torch has it."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Encoded examples, one for each answer, or for each prompt if they are packed.

    `left_out` counts answers that are too long with their prompts, or blank; `unverified` those that
    quote what no source has, which are learned from all the same.
    """

    features: list[dict[str, list[int]]]
    left_out: int
    unverified: int


def encode(
    questions: Sequence[Question],
    ask: Callable[[str, Sequence[Source]], Prompt],
    encoder: PromptEncoder,
    tokenizer: Any,
    *,
    end: int,
    limit: int,
    is_encoder_decoder: bool,
) -> Encoded:
    """Encode every answer to every question.

    `ask` makes the prompt of a question as the engine does, `end` is the token that ends an answer,
    and `limit` the most tokens of a prompt and of an answer, or of both for a decoder-only model.
    """
    features: list[dict[str, list[int]]] = []
    left_out = unverified = 0
    spell = Spelling(encoder.reserved)
    for question in questions:
        try:
            prompt = ask(question.question, question.sources)
        except InputError:  # no engine would ask the model that
            left_out += len(question.texts)
            continue
        ids = encoder.encode(prompt)
        for text in question.texts:
            answer = spell(text).strip()
            if not answer:
                left_out += 1
                continue
            if is_encoder_decoder:
                target = _ended(list(tokenizer(text_target=answer)["input_ids"]), end)
                fits = max(len(ids), len(target)) <= limit
                feature = {"input_ids": ids, "labels": target}
            else:
                target = _ended(encoder.encode_answer(prompt, answer), end)
                fits = len(ids) + len(target) <= limit
                labels = [IGNORED] * len(ids) + target
                feature = {"input_ids": ids + target, "labels": labels}
            if not fits:
                left_out += 1
                continue
            features.append(feature)
            quotes = QuotedAnswer.parse(text, question.sources).quotes
            unverified += not all(quote.verified for quote in quotes)
    return Encoded(features, left_out, unverified)


def pack(features: Sequence[Mapping[str, list[int]]], limit: int) -> list[dict[str, list[int]]]:
    """Put answers that follow the same prompt behind one copy of it, up to `limit` tokens.

    Each answer begins with a copy of the prompt's last token, which predicts its first one.
    `Padding` keeps the answers from seeing each other.
    """
    packed: list[dict[str, list[int]]] = []
    for each in features:
        size = prompt_size(each["labels"])
        last = packed[-1] if packed else {"input_ids": [], "labels": []}
        same = last["input_ids"][:size] == each["input_ids"][:size]
        added = len(each["labels"]) - size + 1
        if same and prompt_size(last["labels"]) == size and len(last["labels"]) + added <= limit:
            for name in last:
                last[name] += each[name][size - 1 :]
        else:
            packed.append({name: list(each[name]) for name in last})
    return packed


def unpack(feature: Mapping[str, list[int]]) -> list[dict[str, list[int]]]:
    """Return the examples of which `pack` made one."""
    labels = feature["labels"]
    begins = [
        place
        for place, both in enumerate(pairwise(labels))
        if both[0] == IGNORED and both[1] != IGNORED
    ]
    shared = {name: values[: begins[0]] for name, values in feature.items()}
    return [
        {name: shared[name] + values[begin:end] for name, values in feature.items()}
        for begin, end in pairwise([*begins, len(labels)])
    ]


def prompt_size(labels: Sequence[int]) -> int:
    """Return how many tokens stand before the first label that counts."""
    return next((place for place, label in enumerate(labels) if label != IGNORED), len(labels))


def end_token(name: str, tokenizer: Any) -> int:
    """Return the token that a model is to end its answers with."""
    for token in (tokenizer.eos_token_id, tokenizer.sep_token_id):
        if token is not None:
            return int(token)
    raise InputError(
        f"The tokenizer of {name} has no end token.",
        hint="Set eos_token in tokenizer_config.json.",
    )


def _ended(tokens: list[int], end: int) -> list[int]:
    return tokens if tokens and tokens[-1] == end else [*tokens, end]


class DevScorer:
    """Scores a model, by the engine over it, on questions that it does not learn from."""

    def __init__(
        self,
        engine: TransformersEngine,
        questions: Sequence[Question],
        where: str,
        ranks: Ranks = Ranks(),  # noqa: B008  (a constant)
    ) -> None:
        self._engine = engine
        self._ranks = ranks
        self._questions = tuple(questions)
        for question in self._questions:
            try:
                engine.prompt(question.question, question.sources)
            except InputError as error:
                raise InputError(f"{where}: question {question.qid!r}: {error}") from error

    def scores(self) -> dict[str, float]:
        """Return the corpus scores by name, and the share of answers that quote, all verified."""
        requests = [Request(each.question, each.sources) for each in self._questions]
        here = self._engine.answer_batch(self._ranks.spread(requests))
        answers = self._ranks.join_spread([(each.marked, each.verified) for each in here])
        report = score(
            (
                Example(
                    qid=question.qid,
                    prediction=marked,
                    references=question.texts,
                    short_answers=question.short_answers,
                    present=question.numbers,
                )
                for question, (marked, _) in zip(self._questions, answers, strict=True)
            ),
            resamples=0,
        )
        found = {name: report.value(name) for name in METRICS}
        return {
            **{name: value for name, value in found.items() if value is not None},
            "verified": sum(verified for _, verified in answers) / len(answers),
        }


ADAPTER = "adapter"
"""The folder in the model's that holds the adapters alone."""


def adapted(model: Any, options: TrainingOptions) -> Any:
    """Return the model with new adapters; the model itself is changed, and frozen.

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
            value=options.lora_targets,
        ) from error


def merge(adapters: Path, base: Any, tokenizer: Any, folder: Path) -> None:
    """Write the model that adapters make of their base, which is changed, and the adapters beside it."""
    from peft import PeftModel

    model: Any = PeftModel.from_pretrained(base, str(adapters))
    model.save_pretrained(str(folder / ADAPTER))
    model.merge_and_unload().save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
