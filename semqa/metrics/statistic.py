"""A figure that is a value, or says why it is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

__all__ = ["Statistic"]


@dataclass(frozen=True, slots=True)
class Statistic:
    """One figure and how many items it rests on; never a NaN.

    Attributes:
        value: the figure; None where `unscored` says why.
        n: items that it rests on.
        unscored: why there is no value; None where there is one.
    """

    value: float | None
    n: int
    unscored: str | None = None

    def __post_init__(self) -> None:
        if (self.value is None) is (self.unscored is None):
            raise ValueError("a statistic has either a value or a reason why it has none")

    @classmethod
    def none(cls, reason: str, n: int = 0) -> Self:
        """Return a figure without a value, for a reason."""
        return cls(None, n, reason)

    def to_dict(self) -> dict[str, Any]:
        """Return ``value``, ``n`` and, where there is no value, ``unscored``."""
        row: dict[str, Any] = {"value": self.value, "n": self.n}
        if self.unscored is not None:
            row["unscored"] = self.unscored
        return row
