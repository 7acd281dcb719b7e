"""The copy constraint: token masks that let a model quote only text from its sources.

All modules are imported on first use: compiled code needs numba, and the command line only the options.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from semqa.extras import require

if TYPE_CHECKING:
    from semqa.decoding.breach import find_breach
    from semqa.decoding.constraint import CopyConstraint, State
    from semqa.decoding.policy import QuotePolicy
    from semqa.decoding.vocabulary import Vocabulary
    from semqa.decoding.warming import warm_up

__all__ = ["CopyConstraint", "QuotePolicy", "State", "Vocabulary", "find_breach", "warm_up"]


_MODULES = {
    "CopyConstraint": "constraint",
    "QuotePolicy": "policy",
    "State": "constraint",
    "Vocabulary": "vocabulary",
    "find_breach": "breach",
    "warm_up": "warming",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _MODULES[name] == "constraint":
        require("numba", extra="decoding", purpose="the copy constraint")
    return getattr(import_module(f"semqa.decoding.{_MODULES[name]}"), name)
