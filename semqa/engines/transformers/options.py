"""The settings of the engine: what to load, and how.

Knows nothing of torch or transformers, so that a wrong setting is found before they are loaded.
"""

from __future__ import annotations

from dataclasses import dataclass

from semqa.engines.model import AnswerOptions, check_range, check_whole
from semqa.errors import InputError

__all__ = ["DECODINGS", "LOADING", "TransformersOptions"]

LOADING = (
    "dtype",
    "device",
    "device_map",
    "load_in_8bit",
    "load_in_4bit",
    "revision",
    "trust_remote_code",
    "attn_implementation",
)
"""The settings that a model is loaded with: other ones need it loaded anew."""

DECODINGS = ("spans", "tokens")
"""What the model chooses among: whole quotes, or tokens."""

_DTYPES = ("auto", "float32", "float16", "bfloat16")


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformersOptions(AnswerOptions):
    """All settings of a `TransformersEngine`, besides those of `AnswerOptions`.

    Attributes:
        dtype: of the weights: ``auto`` as they were saved, ``float32``, ``float16`` or
            ``bfloat16``.
        device: such as ``cpu`` or ``cuda:1``; by default a GPU if there is one.
        device_map: how to spread the model over devices (``auto``); instead of `device`.
        load_in_8bit: quantise the weights to 8 bits, with bitsandbytes.
        load_in_4bit: quantise the weights to 4 bits, with bitsandbytes.
        revision: branch, tag or commit of the model on the Hub.
        trust_remote_code: whether code that comes with the model may run here.
        attn_implementation: such as ``sdpa`` or ``flash_attention_2``.
        context: tokens of prompt and answer together; by default what the model's configuration
            says.
        decoding: ``spans`` to choose among whole quotes, ``tokens`` to choose token by token; by
            default spans where it can be: for causal models with the constraint on and greedy
            decoding.
        num_beams: beams of a beam search; needs temperature 0.
        repetition_penalty: above 1 makes tokens of the answer so far less likely. The prompt is
            left out of account, for quotes repeat it on purpose.

    Raises:
        InputError: there is no such setting, one is out of its range, or two of them exclude each
            other.
    """

    dtype: str = "auto"
    device: str | None = None
    device_map: str | None = None
    load_in_8bit: bool = False
    load_in_4bit: bool = False
    revision: str | None = None
    trust_remote_code: bool = False
    attn_implementation: str | None = None
    context: int | None = None
    decoding: str | None = None
    num_beams: int = 1
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        if self.dtype not in _DTYPES:
            raise InputError(
                f"dtype: got {self.dtype!r}, expected {', '.join(_DTYPES)}; choose one of them"
            )
        check_whole("num_beams", self.num_beams, 1)
        if self.context is not None:
            check_whole("context", self.context, 2)
        check_range("repetition_penalty", self.repetition_penalty, 0.1, 10.0, "1 turns it off")
        AnswerOptions.__post_init__(self)  # `super()` fails where slots make the class anew
        if self.load_in_8bit and self.load_in_4bit:
            raise InputError(
                "load_in_8bit: got it with load_in_4bit, expected one of them; leave one out"
            )
        if self.device is not None and self.device_map is not None:
            raise InputError(
                f"device: got {self.device!r} with device_map={self.device_map!r}, expected one of "
                "them; leave one out"
            )
        if self.decoding not in (None, *DECODINGS):
            raise InputError(f"decoding: got {self.decoding!r}, expected {' or '.join(DECODINGS)}")
        if self.decoding == "spans" and not self.can_choose_spans:
            raise InputError(
                "decoding: got 'spans', expected it with the constraint on and greedy decoding; leave "
                "out temperature, num_beams and repetition_penalty"
            )
        if self.num_beams > 1 and self.temperature > 0:
            raise InputError(
                f"num_beams: got {self.num_beams} with temperature={self.temperature:g}, expected "
                "beams or draws, not both; leave one out"
            )

    @property
    def can_choose_spans(self) -> bool:
        """Whether the other settings allow whole quotes to be chosen."""
        plain = self.temperature == 0 and self.num_beams == 1 and self.repetition_penalty == 1.0
        return self.constrained and plain
