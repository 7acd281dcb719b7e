"""One value of a file of settings, read as the flag of its name is."""

from __future__ import annotations

import math
import types
import typing
from enum import StrEnum
from typing import Any, NamedTuple

from semqa.cli.engine_options import EngineOptions

__all__ = ["OptionType", "engine_option_types"]


class OptionType(NamedTuple):
    """What an option takes.

    Attributes:
        kind: `str`, `int`, `float`, `bool`, `Path` or an enumeration of strings.
        low: least number.
        high: greatest number.
    """

    kind: type
    low: float | None = None
    high: float | None = None

    def read(self, text: str) -> Any:
        """Return the value of a text.

        Raises:
            ValueError: it is none; what is expected is the message.
        """
        if issubclass(self.kind, StrEnum):
            if text not in list(self.kind):
                raise ValueError(f"one of {', '.join(self.kind)}")
            return self.kind(text)
        if self.kind is bool:
            if text.lower() not in ("true", "false"):
                raise ValueError("true or false")
            return text.lower() == "true"
        if self.kind not in (int, float):
            if not text:
                raise ValueError("a text")
            return self.kind(text)  # type: ignore[call-arg]  # a string or a path
        try:
            value = int(text) if self.kind is int else float(text)
        except ValueError:
            raise ValueError(self._range()) from None
        if not math.isfinite(value) or not (
            (self.low is None or value >= self.low) and (self.high is None or value <= self.high)
        ):
            raise ValueError(self._range())
        return value

    def _range(self) -> str:
        said = ["a whole number" if self.kind is int else "a number"]
        ends = (("from", self.low), ("to", self.high))
        return " ".join([*said, *(f"{word} {end:g}" for word, end in ends if end is not None)])


def engine_option_types() -> dict[str, OptionType]:
    """Return what each option of `EngineOptions` takes, by its name.

    Example:
        >>> engine_option_types()["shots"].read("5")
        5
    """
    found = {}
    for name, hint in typing.get_type_hints(EngineOptions, include_extras=True).items():
        if typing.get_origin(hint) is not typing.Annotated:
            continue
        inner, option = typing.get_args(hint)
        kinds = typing.get_args(inner) if isinstance(inner, types.UnionType) else (inner,)
        (kind,) = (each for each in kinds if each is not type(None))
        found[name] = OptionType(kind, option.min, option.max)
    return found
