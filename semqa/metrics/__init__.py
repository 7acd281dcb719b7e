"""The scores of quoted answers: ROUGE, Sem-F1, Sem-Rec, SEMQA, with intervals.

The paired test of two systems is in `semqa.metrics.bootstrap`, and the official scorer's own
interface in `semqa.metrics.official`.
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
