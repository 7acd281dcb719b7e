"""TofuEval (Tang et al. 2024): topic-focused summaries of dialogues and their errors."""

from semqa.attribution.tofueval.data import (
    ERROR_TYPES,
    EXTRA_MODEL,
    AnnotatedSentence,
    ErrorType,
    SummaryKey,
    by_summary,
    read_annotations,
)
from semqa.attribution.tofueval.judging import Judged, Judgement, judge_texts
from semqa.attribution.tofueval.meta import (
    Evaluator,
    Prediction,
    Run,
    compare,
    count_errors,
    error_rates,
    evaluate,
    read_evaluator,
    self_agreement,
    tune,
)

__all__ = [
    "ERROR_TYPES",
    "EXTRA_MODEL",
    "AnnotatedSentence",
    "ErrorType",
    "Evaluator",
    "Judged",
    "Judgement",
    "Prediction",
    "Run",
    "SummaryKey",
    "by_summary",
    "compare",
    "count_errors",
    "error_rates",
    "evaluate",
    "judge_texts",
    "read_annotations",
    "read_evaluator",
    "self_agreement",
    "tune",
]
