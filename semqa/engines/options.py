"""The settings of engines with a language model, declared once for Python and the command line.

Defaults are greedy and reproducible. This module imports no model library, so that invalid settings are
found before one is loaded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from semqa.decoding.policy import QuotePolicy
from semqa.errors import InputError

if TYPE_CHECKING:
    EngineArgs = Mapping[str, object]
else:
    EngineArgs = str  # JSON, as typed on a command line


def _decoding(text: str, **given: Any) -> Any:
    """Return an option about decoding, with its help."""
    return Option(help=text, rich_help_panel="Decoding (language models)", **given)


def _model(text: str, *flags: str, **given: Any) -> Any:
    """Return an option about the model, with its help."""
    return Option(*flags, help=text, rich_help_panel="Model (language models)", **given)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions(QuotePolicy):
    """Settings of all language models, and the rules for answers if there is a constraint.

    The same question with the same sources and seed gets the same answer.
    """

    constraint: str = "on"
    max_new_tokens: Annotated[int, _decoding("Maximum tokens in an answer.", min=1)] = 256
    temperature: Annotated[
        float, _decoding("Sampling temperature; 0 is greedy.", min=0, max=100)
    ] = 0.0
    top_p: Annotated[
        float, _decoding("Probability mass for nucleus sampling.", min=0.001, max=1)
    ] = 1.0
    top_k: Annotated[int, _decoding("Sample from the k most likely tokens; 0 for all.", min=0)] = 0
    seed: Annotated[int, _decoding("Random seed.", min=0, envvar="SEMQA_SEED")] = 0
    batch_size: Annotated[
        int, _model("Questions per batch; 64 for vllm.", min=1, envvar="SEMQA_BATCH_SIZE")
    ] = 8
    context: Annotated[
        int | None,
        _model("Maximum tokens of prompt and answer.", min=2, show_default="the model's"),
    ] = None

    def __post_init__(self) -> None:
        QuotePolicy.__post_init__(self)  # `super()` fails: slots=True recreates the class
        if self.temperature == 0 and (self.top_p < 1 or self.top_k > 0):
            name = "top_p" if self.top_p < 1 else "top_k"
            raise InputError("needs a temperature above 0.", field=name)

    @property
    def constrained(self) -> bool:
        """Whether there is a constraint."""
        return self.constraint != "off"

    @property
    def policy(self) -> QuotePolicy:
        """The rules for answers."""
        return QuotePolicy(self.free, self.boundary, self.quote_from, self.quote_bias)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions(AnswerOptions):
    """Settings of a model that runs locally."""

    constraint: Literal["on", "off"] = "on"
    decoding: Annotated[
        Literal["spans", "tokens"] | None,
        _decoding("Decode whole quotes, or token by token.", show_default="spans if possible"),
    ] = None
    dtype: Annotated[
        Literal["auto", "float32", "float16", "bfloat16"],
        _model("Type of weights.", envvar="SEMQA_DTYPE"),
    ] = "auto"
    revision: Annotated[str | None, _model("Branch, tag or commit on the Hub.")] = None
    trust_remote_code: Annotated[
        bool, _model("Run code from the model's repository.", "--trust-remote-code")
    ] = False

    def __post_init__(self) -> None:
        AnswerOptions.__post_init__(self)
        if self.decoding == "spans" and not self.can_choose_spans:
            raise InputError(
                "can be spans only with the constraint on and greedy decoding (no temperature, num_beams or repetition_penalty).",
                field="decoding",
            )

    @property
    def can_choose_spans(self) -> bool:
        """Whether the other settings allow ``decoding="spans"``."""
        return self.constrained and self.temperature == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformersOptions(LocalOptions):
    """Settings of a `TransformersEngine`.

    The repetition penalty does not apply to tokens of the prompt, because quotes repeat them on purpose.
    """

    num_beams: Annotated[int, _decoding("Number of beams.", min=1)] = 1
    repetition_penalty: Annotated[
        float, _decoding("Above 1 makes repeated tokens less likely.", min=0.1, max=10)
    ] = 1.0
    device: Annotated[
        str | None,
        _model(
            "Device, such as cpu, cuda or cuda:1.",
            show_default="a GPU if any",
            envvar="SEMQA_DEVICE",
        ),
    ] = None
    device_map: Annotated[
        str | None, _model("auto splits the model across devices (transformers).")
    ] = None
    load_in_8bit: Annotated[
        bool, _model("Quantize to 8 bits (transformers).", "--load-in-8bit")
    ] = False
    load_in_4bit: Annotated[
        bool, _model("Quantize to 4 bits (transformers).", "--load-in-4bit")
    ] = False
    attn_implementation: Annotated[
        str | None, _model("Attention kernel, such as flash_attention_2.", metavar="NAME")
    ] = None

    def __post_init__(self) -> None:
        LocalOptions.__post_init__(self)
        if self.load_in_8bit and self.load_in_4bit:
            raise InputError("cannot be combined with load_in_4bit.", field="load_in_8bit")
        if self.device is not None and self.device_map is not None:
            raise InputError("cannot be combined with device_map.", field="device")
        if self.num_beams > 1 and self.temperature > 0:
            raise InputError(
                "needs temperature 0: beam search cannot be combined with sampling.",
                field="num_beams",
            )

    @property
    def can_choose_spans(self) -> bool:
        """Whether the other settings allow choosing whole quotes, if the model is causal."""
        plain = self.num_beams == 1 and self.repetition_penalty == 1.0
        return plain and self.constrained and self.temperature == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmOptions(LocalOptions):
    """Settings of a `VllmEngine`; `engine_args` are arguments of vLLM's ``AsyncEngineArgs``."""

    batch_size: Annotated[int, Option(min=1)] = 64
    tensor_parallel_size: Annotated[int, _model("Tensor-parallel size (vllm).", min=1)] = 1
    engine_args: Annotated[
        EngineArgs,
        _model(
            """Other engine arguments, such as {"quantization": "fp8"} (vllm).""",
            metavar="JSON",
            envvar="SEMQA_ENGINE_ARGS",
        ),
    ] = None  # type: ignore[assignment]  # an empty mapping

    def __post_init__(self) -> None:
        LocalOptions.__post_init__(self)
        if not self.engine_args:
            object.__setattr__(self, "engine_args", {})
        given: Any = self.engine_args
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise InputError(
                f'must be arguments of vLLM by name, such as {{"max_num_seqs": 64}}, got {given!r}.',
                field="engine_args",
            )
        for name in given:
            named = "context" if name == "max_model_len" else name
            if name in _RESERVED or named in ("seed", *VLLM_LOADING):
                use = "the engine sets it" if name in _RESERVED else f"use the setting {named}"
                raise InputError(f"must not contain {name}; {use}.", field="engine_args")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIOptions(AnswerOptions):
    """Settings of an `OpenAIEngine`.

    Attributes:
        batch_size: maximum number of concurrent requests.
        constraint: ``auto`` (or ``on``) uses the first of the others that the endpoint supports.
    """

    constraint: Annotated[
        Literal["auto", "on", "processor", "grammar", "pointing", "repair", "off"],
        Option(
            help="Allow verbatim quotes only (language models); openai: also the method.",
            show_default="on",
        ),
    ] = "auto"
    timeout: Annotated[
        float,
        Option(
            min=0.001,
            max=86_400,
            help="Seconds to wait for an answer, including retries.",
            rich_help_panel="Endpoint (openai)",
        ),
    ] = 600.0

    def __post_init__(self) -> None:
        if self.constraint == "on":
            object.__setattr__(self, "constraint", "auto")
        AnswerOptions.__post_init__(self)


LOADING = (
    "dtype", "device", "device_map", "load_in_8bit", "load_in_4bit", "revision", "trust_remote_code",
    "attn_implementation",
)  # fmt: skip
"""Settings that a model in transformers is loaded with; changing one requires reloading it."""

VLLM_LOADING = (
    "dtype", "revision", "trust_remote_code", "context", "tensor_parallel_size", "engine_args",
)  # fmt: skip
"""Settings that vLLM is started with; changing one needs a restart. The seed is set per request."""

_RESERVED = ("model", "tokenizer", "logits_processors", "skip_tokenizer_init")
"""Arguments of vLLM that the engine sets."""
