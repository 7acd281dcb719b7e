"""TofuEval (Tang et al. 2024): topic-focused summaries of dialogues and their errors."""

from semqa.attribution.tofueval.annotations import (
    EXTRA_MODEL,
    AnnotatedSentence,
    SummaryKey,
    by_summary,
    read_annotations,
)
from semqa.attribution.tofueval.judging import Judged, Judgement, judge_texts
from semqa.attribution.tofueval.meta import compare, evaluate, self_agreement, tune
from semqa.attribution.tofueval.predictions import Evaluator, Prediction, Run, read_evaluator
from semqa.attribution.tofueval.rates import count_errors, error_rates
from semqa.attribution.tofueval.taxonomy import ERROR_TYPES, ErrorType

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
