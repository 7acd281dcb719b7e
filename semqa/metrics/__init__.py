"""Scores for quoted answers: ROUGE, Sem-F1, Sem-Rec and SEMQA, with confidence intervals.

`semqa.metrics.bootstrap` has the paired test of two systems, and `semqa.metrics.official` the
figures that the authors' notebook prints.
"""

from semqa.metrics.rouge import RougeScores, rouge_scores
from semqa.metrics.scores import (
    METRICS,
    Estimate,
    Example,
    ExampleScores,
    NoReferenceError,
    Report,
    Target,
    leave_one_out,
    score,
    score_example,
    summarise,
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
