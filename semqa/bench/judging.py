"""A run under the eyes of a judge: AutoAIS, and citation recall and precision.

Judgements are no part of a run's identity: a finished run can be judged later, by one judge and then
by another, from the rows that it left. They change no other score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from semqa.attribution.ais.auto import MARGIN, ToCheck, check_answers
from semqa.attribution.ais.auto_report import summarise_checks
from semqa.attribution.citations import CitedAnswer, cited_sentences, score_citations
from semqa.attribution.judges import Entailment, TooLongError, unless_too_long
from semqa.metrics.means import mean_with_interval
from semqa.quotes import QuotedAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.citations import CitationScores
    from semqa.attribution.judges import EntailmentJudge, Pair
    from semqa.bench.plan import Item
    from semqa.bench.record import Record

__all__ = ["Judged", "judge_records"]

RESAMPLES = 1_000
SEED = 0


class Judged(NamedTuple):
    """What a judge says of a run.

    Attributes:
        summary: the figures, for ``results.json``.
        rows: one an example, with what was said of each sentence.
    """

    summary: dict[str, object]
    rows: list[dict[str, object]]


def judge_records(
    items: Sequence[Item], records: Sequence[Record], judge: EntailmentJudge
) -> Judged:
    """Judge the answers of a run; those that failed, or say nothing, count nowhere.

    Args:
        items: what was to be answered.
        records: what became of them, in the same order.
        judge: says what follows from what.
    """
    answers = [
        ToCheck(
            item.question.question, QuotedAnswer.parse(record.prediction, item.question.sources)
        )
        for item, record in zip(items, records, strict=True)
    ]
    checks = check_answers(answers, judge)
    patient = _Patient(judge)
    citations = score_citations(
        [CitedAnswer(cited_sentences(one.answer), one.answer.sources) for one in answers], patient
    )
    summary: dict[str, object] = {
        "judge": judge.name,
        "identity": judge.identity,
        "unparsed": getattr(judge, "unparsed", 0),
        "too_long": patient.too_long,
        "margin": MARGIN,
        "auto_ais": summarise_checks(checks, resamples=RESAMPLES, seed=SEED),
        "citation_recall": _mean([each.recall for each in citations]),
        "citation_precision": _mean([each.precision for each in citations]),
    }
    rows: list[dict[str, object]] = [
        {
            "id": record.id,
            "prediction": record.prediction,
            "checks": check.to_dict(),
            "citations": _citations(scores),
        }
        for record, check, scores in zip(records, checks, citations, strict=True)
    ]
    return Judged(summary, rows)


class _Patient:
    """A judge for which what is too long for it is not entailed, in place of the end of a run."""

    def __init__(self, judge: EntailmentJudge) -> None:
        self.name, self.identity = judge.name, judge.identity
        self.too_long = 0
        self._judge = judge

    def entailment(self, pairs: Sequence[Pair]) -> list[Entailment]:
        """Return what the judge says, and neutral for what is too long for it."""
        results = unless_too_long(self._judge.entailment, pairs)
        self.too_long += sum(isinstance(each, TooLongError) for each in results)
        neutral = Entailment(0.0, 1.0, 0.0)
        return [neutral if isinstance(each, TooLongError) else each for each in results]


def _mean(values: Sequence[float | None]) -> dict[str, object]:
    """Return the mean of what is scored, with a percentile interval over resamples of answers."""
    mean = mean_with_interval(
        [value for value in values if value is not None], resamples=RESAMPLES, seed=SEED
    )
    if mean.value is None:
        return {"value": None, "interval": None, "n": 0, "unscored": "no answer has any"}
    interval = None if mean.interval is None else list(mean.interval)
    return {"value": mean.value, "interval": interval, "n": mean.n}


def _citations(scores: CitationScores) -> dict[str, object]:
    return {
        "recall": scores.recall,
        "precision": scores.precision,
        "sentences": [each.to_dict() for each in scores.sentences],
    }
