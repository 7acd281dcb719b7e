"""TofuEval (Tang et al. 2024): topic-focused summaries of dialogues and their errors.

`data` reads the released files, `judging` runs judges, and `meta` counts errors and compares
evaluators with annotators.
"""

from semqa.attribution.tofueval.data import ERROR_TYPES, read_annotations
from semqa.attribution.tofueval.judging import judge_texts
from semqa.attribution.tofueval.meta import error_rates, evaluate, read_evaluator, score_evaluators

__all__ = [
    "ERROR_TYPES",
    "error_rates",
    "evaluate",
    "judge_texts",
    "read_annotations",
    "read_evaluator",
    "score_evaluators",
]
