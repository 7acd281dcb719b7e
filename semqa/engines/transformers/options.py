"""The settings of the engine: what to load, how to decode, what an answer may do.

Knows nothing of torch or transformers, so that a wrong setting is found before they are loaded.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, fields
from typing import Literal, Self

from semqa.decoding.policy import QuotePolicy, checked_numbers
from semqa.errors import InputError

__all__ = ["TransformersOptions"]

_DTYPES = ("auto", "float32", "float16", "bfloat16")


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformersOptions:
    """All settings of a `TransformersEngine`; the defaults are greedy and reproducible.

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
        max_new_tokens: most tokens of an answer, its end token included.
        temperature: 0 takes the likeliest token; above, tokens are drawn.
        top_p: draw from the likeliest tokens that have this probability together.
        top_k: draw from so many likeliest tokens; 0 for all.
        num_beams: beams of a beam search; needs temperature 0.
        repetition_penalty: above 1 makes tokens of the answer so far less likely. The prompt is
            left out of account, for quotes repeat it on purpose.
        seed: of the draws: the same question over the same sources gets the same answer.
        batch_size: how many questions are answered together.
        constraint: ``on``, so that only verbatim quotes can be written, or ``off``.
        boundary, numbers, names, max_words, max_free_words, max_span_words, min_quotes, quote_bias:
            as in `QuotePolicy`; without effect where the constraint is off.
        quote_from: numbers of the sources that may be quoted (from 1); None for all. So, too.

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
    max_new_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    num_beams: int = 1
    repetition_penalty: float = 1.0
    seed: int = 0
    batch_size: int = 8
    constraint: Literal["on", "off"] = "on"
    boundary: Literal["word", "char"] = "word"
    numbers: Literal["free", "quoted"] = "free"
    names: Literal["free", "quoted"] = "free"
    max_words: int | None = None
    max_free_words: int | None = None
    max_span_words: int | None = None
    min_quotes: int = 0
    quote_bias: float = 0.0
    quote_from: tuple[int, ...] | None = None

    def __new__(cls, *_: object, **settings: object) -> Self:
        """Refuse what is no setting, with the nearest one that is."""
        for name, value in settings.items():
            if name not in cls.names_of_all():
                close = difflib.get_close_matches(name, cls.names_of_all(), n=1)
                raise InputError(
                    f"no such setting: got {name}={value!r}, expected a field of {cls.__name__}; "
                    f"{f'did you mean {close[0]}?' if close else 'leave it out'}"
                )
        return object.__new__(cls)

    def __post_init__(self) -> None:
        if self.dtype not in _DTYPES:
            raise InputError(
                f"dtype: got {self.dtype!r}, expected {', '.join(_DTYPES)}; choose one of them"
            )
        if self.constraint not in {"on", "off"}:
            raise InputError(
                f"constraint: got {self.constraint!r}, expected on or off; choose one of them"
            )
        for name, least in _LEAST.items():
            _check_whole(name, getattr(self, name), least)
        _check_range("temperature", self.temperature, 0.0, 100.0, "0 takes the likeliest token")
        _check_range("top_p", self.top_p, 0.0, 1.0, "1 leaves every token in", least_given=False)
        _check_range("repetition_penalty", self.repetition_penalty, 0.1, 10.0, "1 turns it off")
        self._check_pairs()
        object.__setattr__(self, "quote_from", checked_numbers("quote_from", self.quote_from))
        _ = self.policy

    def _check_pairs(self) -> None:
        if self.load_in_8bit and self.load_in_4bit:
            raise InputError(
                "load_in_8bit: got it with load_in_4bit, expected one of them; leave one out"
            )
        if self.device is not None and self.device_map is not None:
            raise InputError(
                f"device: got {self.device!r} with device_map={self.device_map!r}, expected one of "
                "them; leave one out"
            )
        if self.num_beams > 1 and self.temperature > 0:
            raise InputError(
                f"num_beams: got {self.num_beams} with temperature={self.temperature:g}, expected "
                "beams or draws, not both; leave one out"
            )
        if self.temperature == 0 and (self.top_p < 1 or self.top_k > 0):
            name = "top_p" if self.top_p < 1 else "top_k"
            raise InputError(
                f"{name}: got {getattr(self, name):g} with temperature=0, expected draws to choose "
                "from; give a temperature, or leave it out"
            )

    @property
    def policy(self) -> QuotePolicy:
        """The rules of an answer."""
        settings = {name: getattr(self, name) for name in _POLICY}
        return QuotePolicy(**settings, sources=self.quote_from)

    @classmethod
    def names_of_all(cls) -> tuple[str, ...]:
        """Return the names of all settings."""
        return tuple(field.name for field in fields(cls))


_POLICY = (
    "boundary",
    "numbers",
    "names",
    "max_words",
    "max_free_words",
    "max_span_words",
    "min_quotes",
    "quote_bias",
)
_LEAST = {"max_new_tokens": 1, "top_k": 0, "num_beams": 1, "seed": 0, "batch_size": 1, "context": 2}


def _check_whole(name: str, value: object, least: int) -> None:
    if value is None and name == "context":
        return
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**63:
        raise InputError(
            f"{name}: got {value!r}, expected a whole number from {least}; change or leave it out"
        )


def _check_range(
    name: str, value: object, least: float, most: float, hint: str, *, least_given: bool = True
) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    fits = number and math.isfinite(value) and least <= value <= most  # type: ignore[arg-type,operator]
    if not fits or (value == least and not least_given):
        start = f"from {least:g}" if least_given else f"above {least:g}"
        raise InputError(f"{name}: got {value!r}, expected a number {start} to {most:g}; {hint}")
