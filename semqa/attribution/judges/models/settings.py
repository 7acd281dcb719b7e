"""The settings of a judge made of models, and the models that the papers used.

Knows nothing of torch or transformers, so that a wrong setting is found before they are loaded.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

from semqa.engines.model import check_range, check_whole
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEFAULTS", "ModelSettings", "read_parts"]

DEFAULTS = {
    "nli": "google/t5_xxl_true_nli_mixture",
    "qa": "ktrapeznikov/albert-xlarge-v2-squad-v2",
    "qg": "mrm8488/t5-base-finetuned-question-generation-ap",
}
"""The models of a part that names none: of AutoAIS and ALCE (11 billion weights), and of Q²."""

_PARTS = ("nli", "qa", "qg", "lm")
_TEXTS = ("labels", "words", "premise-format", "ask-format")
_NUMBERS = ("stride", "threshold", "longest-answer")
_DTYPES = ("auto", "float32", "float16", "bfloat16")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """How models are loaded and asked.

    Attributes:
        device: such as ``cpu`` or ``cuda:1``; by default a GPU if there is one.
        dtype: of the weights; by default ``float32`` on a CPU, else as they were saved.
        batch_size: inputs that a model reads together.
        trust_remote_code: whether code that comes with a model may run here.
        labels: what the labels 0, 1, … of a classifier mean, where their names do not tell:
            ``contradiction/neutral/entailment``.
        words: what a model that writes its verdict writes, for entailment and for the rest, or for
            entailment, neutral and contradiction.
        premise_format: what such a model reads, with ``{premise}`` and ``{hypothesis}``.
        ask_format: what a model that asks reads, with ``{answer}`` and ``{context}``.
        stride: tokens that neighbouring windows of a long text share.
        threshold: how much more an answer must score than no answer.
        longest_answer: most tokens of an answer.

    Raises:
        InputError: a setting is not usable.
    """

    device: str | None = None
    dtype: str | None = None
    batch_size: int = 8
    trust_remote_code: bool = False
    labels: str | None = None
    words: str = "1/0"
    premise_format: str = "premise: {premise} hypothesis: {hypothesis}"
    ask_format: str = "answer: {answer}  context: {context}"
    stride: int = 128
    threshold: float = 0.0
    longest_answer: int = 30

    def __post_init__(self) -> None:
        if self.dtype is not None and self.dtype not in _DTYPES:
            raise InputError(
                f"dtype: got {self.dtype!r}, expected {', '.join(_DTYPES)}; choose one of them"
            )
        check_whole("batch_size", self.batch_size, 1)
        check_whole("stride", self.stride, 0)
        check_whole("longest_answer", self.longest_answer, 1)
        check_range("threshold", self.threshold, -1e6, 1e6)
        if len(self.verdicts) not in (2, 3) or len(set(self.verdicts)) < len(self.verdicts):
            raise InputError(
                f"words: got {self.words!r}, expected two or three different words, such as 1/0; "
                "change or leave it out"
            )
        for name, holes in (
            ("premise_format", ("{premise}", "{hypothesis}")),
            ("ask_format", ("{answer}", "{context}")),
        ):
            given = getattr(self, name)
            if any(given.count(hole) != 1 for hole in holes):
                raise InputError(
                    f"{name}: got {given!r}, expected text with {' and '.join(holes)}, each once; "
                    "change or leave it out"
                )

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The words of `words`."""
        return tuple(word.strip() for word in self.words.split("/") if word.strip())

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Self:
        """Return settings from keyword options.

        Raises:
            InputError: there is no such setting, or one is not usable.
        """
        known = {field.name for field in fields(cls)}
        for name, value in given.items():
            if name not in known:
                raise InputError(
                    f"judge transformers: no such setting: got {name}={value!r}, expected one of "
                    f"{', '.join(sorted(known))}; leave it out"
                )
        return cls(**given)  # type: ignore[arg-type]  # checked by the record itself

    def identity(self) -> str:
        """Return what of the settings can change a result."""
        kept = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in ("device", "batch_size", "trust_remote_code")
        }
        return ",".join(f"{name}={value}" for name, value in sorted(kept.items()))


def read_parts(spec: str, carried: str) -> tuple[dict[str, str], dict[str, object]]:
    """Return the models by part, and the settings, that a specification names.

    Args:
        spec: the specification, for messages.
        carried: what stands after its first colon: ``PART=MODEL`` or ``SETTING=VALUE``, between
            commas.

    Raises:
        InputError: there is no such part, or one is named twice.

    Example:
        >>> read_parts("transformers:nli=a/b,stride=64", "nli=a/b,stride=64")
        ({'nli': 'a/b'}, {'stride': 64})
    """
    models: dict[str, str] = {}
    settings: dict[str, object] = {}
    for piece in (piece.strip() for piece in carried.split(",")):
        if not piece:
            continue
        name, equals, value = (part.strip() for part in piece.partition("="))
        key = name.replace("_", "-")
        if key in (*models, *settings) or key.replace("-", "_") in settings:
            raise InputError(
                f"judge: got {name} twice in {spec!r}, expected it once; leave one out"
            )
        if key in _PARTS:
            if not value and key not in DEFAULTS:
                raise InputError(
                    f"judge: got {name} without a model in {spec!r}, expected {name}=MODEL; name one"
                )
            models[key] = value or DEFAULTS[key]
        elif key in _TEXTS and equals:
            settings[key.replace("-", "_")] = value
        elif key in _NUMBERS and equals:
            settings[key.replace("-", "_")] = _number(name, value, whole=key != "threshold")
        else:
            names = (*_PARTS, *_TEXTS, *_NUMBERS)
            close = difflib.get_close_matches(key, names, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]}=?" if close else "write such as transformers:nli=MODEL"
            raise InputError(
                f"judge: got {piece!r} in {spec!r}, expected one of "
                f"{', '.join(f'{each}=' for each in names)}; {hint}"
            )
    return models or dict(DEFAULTS), settings


def _number(name: str, value: str, *, whole: bool) -> float:
    try:
        return int(value) if whole else float(value)
    except ValueError:
        raise InputError(f"{name}: got {value!r}, expected a number; correct it") from None
