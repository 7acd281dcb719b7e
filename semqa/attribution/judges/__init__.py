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

__all__ = [
    "AnsweringJudge",
    "AskingJudge",
    "CompletingJudge",
    "Entailment",
    "EntailmentJudge",
    "Judge",
    "Pair",
    "Reading",
    "Span",
]
