"""Q²: is a response consistent with its knowledge, by questions about it (Honovich et al. 2021)."""

from semqa.attribution.q2.baselines import (
    BASELINES,
    BertScore,
    Overlap,
    baseline_scores,
    bleu,
    word_overlap,
)
from semqa.attribution.q2.measure import Q2, Settings
from semqa.attribution.q2.meta import (
    Judged,
    Level,
    Simulation,
    SystemLevel,
    annotation_counts,
    contexts_of,
    response_level,
    system_level,
)
from semqa.attribution.q2.reading import Columns, ResponseFile, read_responses, with_ids
from semqa.attribution.q2.record import Run, read_run
from semqa.attribution.q2.responses import (
    MEASURES,
    Question,
    Response,
    ResponseScore,
    repeated,
    summarise,
)
from semqa.attribution.q2.spans import InformativeSpan, RuleSpans, SpacySpans, create_span_finder

__all__ = [
    "BASELINES",
    "MEASURES",
    "Q2",
    "BertScore",
    "Columns",
    "InformativeSpan",
    "Judged",
    "Level",
    "Overlap",
    "Question",
    "Response",
    "ResponseFile",
    "ResponseScore",
    "RuleSpans",
    "Run",
    "Settings",
    "Simulation",
    "SpacySpans",
    "SystemLevel",
    "annotation_counts",
    "baseline_scores",
    "bleu",
    "contexts_of",
    "create_span_finder",
    "read_responses",
    "read_run",
    "repeated",
    "response_level",
    "summarise",
    "system_level",
    "with_ids",
    "word_overlap",
]
