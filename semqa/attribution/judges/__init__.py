"""Judges, which decide whether a text supports a claim; read `base` first."""

from semqa.attribution.judges.base import (
    AnsweringJudge,
    AskingJudge,
    CompletingJudge,
    Entailment,
    EntailmentJudge,
    Judge,
    Pair,
    Reading,
    Span,
    TooLongError,
    unless_too_long,
)
from semqa.attribution.judges.cached import CachedJudge, TolerantJudge
from semqa.attribution.judges.registry import create_judge

__all__ = [
    "AnsweringJudge",
    "AskingJudge",
    "CachedJudge",
    "CompletingJudge",
    "Entailment",
    "EntailmentJudge",
    "Judge",
    "Pair",
    "Reading",
    "Span",
    "TolerantJudge",
    "TooLongError",
    "create_judge",
    "unless_too_long",
]
