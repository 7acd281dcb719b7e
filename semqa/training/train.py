"""Fine-tuning a model on QuoteSum answers, with transformers' Trainer.

Evaluations use the same engine, prompts and constraint as inference. The best model is kept. A
killed run resumes from its last complete checkpoint, and ends with the same weights as without the
interruption.

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

    Args:
        questions: the training data; every reference is an example.
        dev: questions for evaluations, which select the best model.
        out: the folder of the run; the model is in its subfolder ``model``.
        options: settings of the run.
        progress: callbacks.

    Returns:
        The content of ``training.json``: settings, data, prompts, and the scores of all evaluations
        and of the best model.

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
            value=options.prompt,
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
    engine = TransformersEngine(loaded, settings, prompts=prompts, say=session.progress.say)
    scorer = DevScorer(engine, dev, "dev data", ranks)
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
            "must be float32 to train all weights: bfloat16 loses small updates.",
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
    from pathlib import Path

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


IGNORED = -100
"""The label that torch's loss ignores."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Encoded examples.

    Attributes:
        features: one example per answer, or several answers per example if packed.
        left_out: number of answers left out because they are blank or too long.
        unverified: number of answers with an unverified quote; these are used for training.
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

    Args:
        questions: questions with their answers.
        ask: builds the prompt of a question, as the engine does.
        encoder: encodes prompts, and answers of decoder-only models.
        tokenizer: the tokenizer of the model.
        end: the token that ends an answer.
        limit: maximum number of tokens of the prompt and of the answer, or of both together for a
            decoder-only model.
        is_encoder_decoder: whether the model has an encoder.
    """
    features: list[dict[str, list[int]]] = []
    left_out = unverified = 0
    spell = Spelling(encoder.reserved)
    for question in questions:
        try:
            prompt = ask(question.question, question.sources)
        except InputError:  # the engine would reject this question
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
    """Pack consecutive answers to the same prompt into one sequence of at most `limit` tokens.

    The prompt is included once. Each further answer follows a copy of the prompt's last token,
    which predicts its first token. `Padding` masks the answers from each other.
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
    """Return the examples that `pack` combined."""
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
    """Return the number of tokens before the first label that is not ignored."""
    return next((place for place, label in enumerate(labels) if label != IGNORED), len(labels))


def end_token(name: str, tokenizer: Any) -> int:
    """Return the token that ends an answer."""
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
    """Scores the answers of an engine to the dev questions."""

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
        """Return the corpus scores by name, and the share of verified answers."""
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
            value=options.lora_targets,
        ) from error


def merge(adapters: Path, base: Any, tokenizer: Any, folder: Path) -> None:
    """Merge adapters into their base model in place, and save the merged model and the adapters."""
    from peft import PeftModel

    model: Any = PeftModel.from_pretrained(base, str(adapters))
    model.save_pretrained(str(folder / ADAPTER))
    model.merge_and_unload().save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
