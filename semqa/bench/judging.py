"""A run under the eyes of a judge: AutoAIS, citation recall and precision, Disambig-F1 and DR.

A judge of entailment gives the first three, one that answers questions the others.

Judgements are no part of a run's identity: a finished run can be judged later, by one judge and then
by another, from the rows that it left. They change no other score.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple, cast

from semqa.attribution.ais.auto import MARGIN, ToCheck, check_answers, summarise_checks
from semqa.attribution.citations import CitedAnswer, cited_sentences, score_citations
from semqa.attribution.judges import (
    AnsweringJudge,
    EntailmentJudge,
    PatientJudge,
)
from semqa.attribution.judges.base import abilities_of, able
from semqa.bench.disambig import disambig_to_dict, read_answers, rouge_of, sum_up
from semqa.bench.results import RESAMPLES, SEED
from semqa.metrics.bootstrap import mean_interval
from semqa.quotes import QuotedAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.citations import CitationScores
    from semqa.attribution.judges import Judge
    from semqa.bench.plan import Item
    from semqa.bench.record import Record

__all__ = ["Judged", "judge_records"]


class Judged(NamedTuple):
    """What a judge says of a run.

    Attributes:
        summary: the figures, for ``results.json``.
        rows: one an example, with what was said of each sentence.
    """

    summary: dict[str, object]
    rows: list[dict[str, object]]


def judge_records(items: Sequence[Item], records: Sequence[Record], judge: Judge) -> Judged:
    """Judge the answers of a run by all that a judge can do.

    Answers that failed, or say nothing, count nowhere but in Disambig-F1, where they score 0.

    Args:
        items: what was to be answered.
        records: what became of them, in the same order.
        judge: says what follows from what, or reads answers off a text, or both.
    """
    summary: dict[str, object] = {"judge": judge.name, "identity": judge.identity}
    rows: list[dict[str, object]] = [
        {"id": record.id, "prediction": record.prediction} for record in records
    ]
    too_long = 0
    known = abilities_of(judge)
    if "entailment" in known:
        too_long += _judge_support(items, records, able(judge, "entailment"), summary, rows)
    if "answer" in known:
        too_long += _judge_readings(items, records, able(judge, "answer"), summary, rows)
    summary |= {"unparsed": getattr(judge, "unparsed", 0), "too_long": too_long}
    return Judged(summary, rows)


def _judge_support(
    items: Sequence[Item],
    records: Sequence[Record],
    judge: EntailmentJudge,
    summary: dict[str, object],
    rows: list[dict[str, object]],
) -> int:
    """Add what follows from what; return how much was too long for the judge."""
    answers = [
        ToCheck(
            item.question.question, QuotedAnswer.parse(record.prediction, item.question.sources)
        )
        for item, record in zip(items, records, strict=True)
    ]
    checks = check_answers(answers, judge)
    patient = PatientJudge(judge)
    citations = score_citations(
        [CitedAnswer(cited_sentences(one.answer), one.answer.sources) for one in answers],
        cast("EntailmentJudge", patient),
    )
    summary |= {
        "margin": MARGIN,
        "auto_ais": summarise_checks(
            checks, qids=[record.qid for record in records], resamples=RESAMPLES, seed=SEED
        ),
        "citation_recall": _mean(records, [each.recall for each in citations]),
        "citation_precision": _mean(records, [each.precision for each in citations]),
    }
    for row, check, scores in zip(rows, checks, citations, strict=True):
        row |= {"checks": check.to_dict(), "citations": _citations(scores)}
    return patient.too_long


def _judge_readings(
    items: Sequence[Item],
    records: Sequence[Record],
    judge: AnsweringJudge,
    summary: dict[str, object],
    rows: list[dict[str, object]],
) -> int:
    """Add what can be read off the answers; return how much was too long for the judge."""
    reader = PatientJudge(judge)
    read = read_answers(items, records, cast("AnsweringJudge", reader))
    rouge = [
        rouge_of(item, record.prediction) if scores.pairs else None
        for item, record, scores in zip(items, records, read, strict=True)
    ]
    summary |= disambig_to_dict(sum_up([each.qid for each in records], read, rouge), read)
    for row, scores in zip(rows, read, strict=True):
        told = {"pairs": [pair.to_dict() for pair in scores.pairs], "f1": scores.f1}
        row["disambig"] = told | ({"unscored": scores.unscored} if scores.unscored else {})
    return reader.too_long


def _mean(records: Sequence[Record], values: Sequence[float | None]) -> dict[str, object]:
    """Return the mean of what is scored, with a percentile interval over resamples of questions."""
    groups: dict[str, list[float]] = {}
    for record, value in zip(records, values, strict=True):
        if value is not None:
            groups.setdefault(record.qid, []).append(value)
    scored = [value for group in groups.values() for value in group]
    if not scored:
        return {"value": None, "interval": None, "n": 0, "unscored": "no answer has any"}
    around = mean_interval(list(groups.values()), resamples=RESAMPLES, seed=SEED)
    interval = None if around is None else list(around)
    return {"value": fmean(scored), "interval": interval, "n": len(scored)}


def _citations(scores: CitationScores) -> dict[str, object]:
    return {
        "recall": scores.recall,
        "precision": scores.precision,
        "sentences": [each.to_dict() for each in scores.sentences],
    }
