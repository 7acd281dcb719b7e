"""Scores for quoted answers: ROUGE, Sem-F1, Sem-Rec and SEMQA, with confidence intervals.

`semqa.metrics.bootstrap` has the paired test of two systems.
"""

from semqa.metrics.report import Estimate, Report, score, summarise
from semqa.metrics.rouge import RougeScores, rouge_scores
from semqa.metrics.scores import (
    METRICS,
    Example,
    ExampleScores,
    NoReferenceError,
    Target,
    leave_one_out,
    score_example,
)

__all__ = [
    "METRICS",
    "Estimate",
    "Example",
    "ExampleScores",
    "NoReferenceError",
    "Report",
    "RougeScores",
    "Target",
    "leave_one_out",
    "rouge_scores",
    "score",
    "score_example",
    "summarise",
]
