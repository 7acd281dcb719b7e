"""The settings of engines with a language model, declared once for Python and the command line.

Defaults are greedy and reproducible. This module imports no model library, so that invalid settings are
found before one is loaded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from semqa.checks import check_number
from semqa.decoding.policy import QuotePolicy
from semqa.errors import InputError

if TYPE_CHECKING:
    EngineArgs = Mapping[str, object]
else:
    EngineArgs = str  # JSON, as typed on a command line

_DECODING = "Decoding (language models)"
_MODEL = "Model (language models)"
_ENDPOINT = "Endpoint (openai)"

DType = Annotated[
    Literal["auto", "float32", "float16", "bfloat16"],
    Option(help="Type of weights.", rich_help_panel=_MODEL, envvar="SEMQA_DTYPE"),
]
Context = Annotated[
    int | None,
    Option(
        min=2,
        help="Maximum tokens of prompt and answer.",
        show_default="the model's",
        rich_help_panel=_MODEL,
    ),
]
Revision = Annotated[
    str | None, Option(help="Branch, tag or commit on the Hub.", rich_help_panel=_MODEL)
]
RemoteCode = Annotated[
    bool,
    Option(
        "--trust-remote-code",
        help="Run code from the model's repository.",
        rich_help_panel=_MODEL,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions(QuotePolicy):
    """Settings of all language models, and the rules for answers if there is a constraint.

    The same question with the same sources and seed gets the same answer.
    """

    constraint: str = "on"
    max_new_tokens: Annotated[
        int, Option(min=1, help="Maximum tokens in an answer.", rich_help_panel=_DECODING)
    ] = 256
    temperature: Annotated[
        float,
        Option(
            min=0, max=100, help="Sampling temperature; 0 is greedy.", rich_help_panel=_DECODING
        ),
    ] = 0.0
    top_p: Annotated[
        float,
        Option(
            min=0.001,
            max=1,
            help="Probability mass for nucleus sampling.",
            rich_help_panel=_DECODING,
        ),
    ] = 1.0
    top_k: Annotated[
        int,
        Option(
            min=0,
            help="Sample from the k most likely tokens; 0 for all.",
            rich_help_panel=_DECODING,
        ),
    ] = 0
    seed: Annotated[
        int, Option(min=0, help="Random seed.", rich_help_panel=_DECODING, envvar="SEMQA_SEED")
    ] = 0
    batch_size: Annotated[
        int,
        Option(
            min=1,
            help="Questions per batch; 64 for vllm.",
            rich_help_panel=_MODEL,
            envvar="SEMQA_BATCH_SIZE",
        ),
    ] = 8

    def __post_init__(self) -> None:
        QuotePolicy.__post_init__(self)  # `super()` fails: slots=True recreates the class
        if self.temperature == 0 and (self.top_p < 1 or self.top_k > 0):
            name = "top_p" if self.top_p < 1 else "top_k"
            raise InputError("needs a temperature above 0.", field=name, value=getattr(self, name))

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
        Option(
            help="Decode whole quotes, or token by token.",
            show_default="spans if possible",
            rich_help_panel=_DECODING,
        ),
    ] = None
    dtype: DType = "auto"
    revision: Revision = None
    trust_remote_code: RemoteCode = False
    context: Context = None

    def __post_init__(self) -> None:
        AnswerOptions.__post_init__(self)
        if self.decoding == "spans" and not self.can_choose_spans:
            raise InputError(
                "can be spans only with the constraint on and greedy decoding (no temperature, num_beams or repetition_penalty).",
                field="decoding",
                value=self.decoding,
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

    num_beams: Annotated[int, Option(min=1, help="Number of beams.", rich_help_panel=_DECODING)] = 1
    repetition_penalty: Annotated[
        float,
        Option(
            min=0.1,
            max=10,
            help="Above 1 makes repeated tokens less likely.",
            rich_help_panel=_DECODING,
        ),
    ] = 1.0
    device: Annotated[
        str | None,
        Option(
            help="Device, such as cpu, cuda or cuda:1.",
            show_default="a GPU if any",
            rich_help_panel=_MODEL,
            envvar="SEMQA_DEVICE",
        ),
    ] = None
    device_map: Annotated[
        str | None,
        Option(help="auto splits the model across devices (transformers).", rich_help_panel=_MODEL),
    ] = None
    load_in_8bit: Annotated[
        bool,
        Option("--load-in-8bit", help="Quantize to 8 bits (transformers).", rich_help_panel=_MODEL),
    ] = False
    load_in_4bit: Annotated[
        bool,
        Option("--load-in-4bit", help="Quantize to 4 bits (transformers).", rich_help_panel=_MODEL),
    ] = False
    attn_implementation: Annotated[
        str | None,
        Option(
            help="Attention kernel, such as flash_attention_2.",
            metavar="NAME",
            rich_help_panel=_MODEL,
        ),
    ] = None

    def __post_init__(self) -> None:
        LocalOptions.__post_init__(self)
        if self.load_in_8bit and self.load_in_4bit:
            raise InputError("cannot be combined with load_in_4bit.", field="load_in_8bit")
        if self.device is not None and self.device_map is not None:
            raise InputError(
                "cannot be combined with device_map.", field="device", value=self.device
            )
        if self.num_beams > 1 and self.temperature > 0:
            raise InputError(
                "needs temperature 0: beam search cannot be combined with sampling.",
                field="num_beams",
                value=self.num_beams,
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
    tensor_parallel_size: Annotated[
        int, Option(min=1, help="Tensor-parallel size (vllm).", rich_help_panel=_MODEL)
    ] = 1
    engine_args: Annotated[
        EngineArgs,
        Option(
            help="""Other engine arguments, such as {"quantization": "fp8"} (vllm).""",
            metavar="JSON",
            rich_help_panel=_MODEL,
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
                value=given,
            )
        for name in given:
            named = "context" if name == "max_model_len" else name
            if name in _RESERVED or named in ("seed", *VLLM_LOADING):
                use = "the engine sets it" if name in _RESERVED else f"use the setting {named}"
                raise InputError(f"must not hold {name}; {use}.", field="engine_args", value=given)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIOptions(AnswerOptions):
    """Settings of an `OpenAIEngine`.

    Attributes:
        batch_size: maximum number of concurrent requests.
        constraint: ``auto`` (or ``on``) uses the first of the others that the endpoint supports.
        connect_timeout: seconds to establish a connection.
        read_timeout: seconds to wait for data; without streaming, none arrives until the answer is
            finished.
        attempts: maximum number of attempts if a request fails with a transient error.
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
            rich_help_panel=_ENDPOINT,
        ),
    ] = 600.0
    connect_timeout: float = 10.0
    read_timeout: float = 300.0
    attempts: int = 5

    def __post_init__(self) -> None:
        if self.constraint == "on":
            object.__setattr__(self, "constraint", "auto")
        AnswerOptions.__post_init__(self)
        for name in ("connect_timeout", "read_timeout"):
            check_number(name, getattr(self, name), 0.001, 86_400)
        check_number("attempts", self.attempts, 1, whole=True)


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
