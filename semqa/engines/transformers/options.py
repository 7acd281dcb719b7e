"""Settings of the transformers engine.

This module does not import torch or transformers, so that invalid settings are found before those
are loaded.
"""

from __future__ import annotations

from dataclasses import dataclass

from semqa.checks import check_choice, check_range, check_whole
from semqa.engines.model.options import DTYPES, LocalOptions
from semqa.errors import InputError

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
"""Settings that a model is loaded with; changing one requires reloading it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformersOptions(LocalOptions):
    """Settings of a `TransformersEngine`.

    Attributes:
        device: such as ``cpu`` or ``cuda:1`` (default: a GPU if available).
        device_map: how to spread the model over devices (``auto``); use instead of `device`.
        context: maximum tokens of prompt and answer together (default: from the model's
            configuration).
        repetition_penalty: values above 1 make tokens of the answer so far less likely. Tokens of
            the prompt are not penalized, because quotes repeat them on purpose.
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
    num_beams: int = 1
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        check_choice("dtype", self.dtype, DTYPES)
        check_whole("num_beams", self.num_beams, 1)
        if self.context is not None:
            check_whole("context", self.context, 2)
        check_range("repetition_penalty", self.repetition_penalty, 0.1, 10.0)
        LocalOptions.__post_init__(self)  # `super()` fails because slots recreate the class
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
