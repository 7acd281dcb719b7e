"""The copy constraint: token masks that let a model quote only text from its sources.

Compiled code needs numba and is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.decoding.breach import find_breach
from semqa.decoding.policy import QuotePolicy
from semqa.decoding.vocabulary import Vocabulary
from semqa.decoding.warm_up import warm_up

if TYPE_CHECKING:
    from semqa.decoding.constraint import CopyConstraint, State

__all__ = ["CopyConstraint", "QuotePolicy", "State", "Vocabulary", "find_breach", "warm_up"]


def __getattr__(name: str) -> object:
    if name in ("CopyConstraint", "State"):
        from semqa.extras import require

        require("numba", extra="decoding", purpose="the copy constraint")
        from semqa.decoding import constraint

        return getattr(constraint, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
