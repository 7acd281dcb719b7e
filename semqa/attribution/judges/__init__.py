"""Judges: who says whether a text supports a claim."""

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
)
from semqa.attribution.judges.cached import CachedJudge
from semqa.attribution.judges.length import TooLongError, unless_too_long
from semqa.attribution.judges.patient import PatientJudge
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
    "PatientJudge",
    "Reading",
    "Span",
    "TooLongError",
    "create_judge",
    "unless_too_long",
]
