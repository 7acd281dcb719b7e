"""Judge a run: AutoAIS, citation recall and precision, Disambig-F1 and DR.

The first three need an entailment judge, the others a judge that answers questions. Judgements are
not part of a run's identity: any judge can judge a finished run later, from its rows. They do not
affect other scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from semqa.attribution.ais.auto import MARGIN, CheckInput, check_answers, summarise_checks
from semqa.attribution.citations import CitedAnswer, cited_sentences, score_citations
from semqa.attribution.citations.examples import AnswerExample, ShortAnswers, sub_questions
from semqa.attribution.citations.reading import remove_citations
from semqa.attribution.citations.scores import (
    DisambigScores,
    disambig_scores,
    dr_score,
    score_pair,
)
from semqa.attribution.judges import Judge, TolerantJudge
from semqa.bench.plan import Item
from semqa.bench.record import Record
from semqa.bench.results import RESAMPLES, SEED, score_item
from semqa.errors import InputError
from semqa.metrics.bootstrap import geometric_interval, question_mean
from semqa.quotes import QuotedAnswer


class Judged(NamedTuple):
    """The judgements of a run."""

    summary: dict[str, object]
    rows: list[dict[str, object]]


def judge_records(items: Sequence[Item], records: Sequence[Record], judge: Judge) -> Judged:
    """Compute every judgement that the judge supports for the answers of a run.

    Failed and empty answers count only in Disambig-F1, where they score 0.
    """
    summary: dict[str, object] = {"judge": judge.name, "identity": judge.identity}
    rows: list[dict[str, object]] = [
        {"id": record.id, "prediction": record.prediction} for record in records
    ]
    tolerant = TolerantJudge(judge)
    if "entailment" in judge.abilities:
        _judge_support(items, records, judge, tolerant, summary, rows)
    if "answer" in judge.abilities:
        _judge_readings(items, records, tolerant, summary, rows)
    summary |= {"unparsed": judge.unparsed, "too_long": tolerant.too_long}
    return Judged(summary, rows)


def _judge_support(
    items: Sequence[Item],
    records: Sequence[Record],
    judge: Judge,
    tolerant: TolerantJudge,
    summary: dict[str, object],
    rows: list[dict[str, object]],
) -> None:
    """Add the entailment scores; AutoAIS counts texts that are too long for the judge itself."""
    answers = [
        CheckInput(
            item.question.question, QuotedAnswer.parse(record.prediction, item.question.sources)
        )
        for item, record in zip(items, records, strict=True)
    ]
    checks = check_answers(answers, judge)
    citations = score_citations(
        [CitedAnswer(cited_sentences(one.answer), one.answer.sources) for one in answers], tolerant
    )
    qids = [record.qid for record in records]
    summary |= {
        "margin": MARGIN,
        "auto_ais": summarise_checks(checks, qids=qids, resamples=RESAMPLES, seed=SEED),
        "citation_recall": _mean(qids, [each.recall for each in citations]),
        "citation_precision": _mean(qids, [each.precision for each in citations]),
    }
    for row, check, scores in zip(rows, checks, citations, strict=True):
        row["checks"] = check.to_dict()
        row["citations"] = {
            "recall": scores.recall,
            "precision": scores.precision,
            "sentences": [each.to_dict() for each in scores.sentences],
        }


def _mean(qids: Sequence[str], values: Sequence[float | None]) -> dict[str, object]:
    scored = [(qid, value) for qid, value in zip(qids, values, strict=True) if value is not None]
    mean = question_mean(scored, resamples=RESAMPLES, seed=SEED)
    found: dict[str, object] = {"value": mean.value, "interval": _listed(mean.interval)}
    found["n"] = mean.n
    return found if scored else {**found, "unscored": "no answer has any"}


def _judge_readings(
    items: Sequence[Item],
    records: Sequence[Record],
    judge: TolerantJudge,
    summary: dict[str, object],
    rows: list[dict[str, object]],
) -> None:
    """Add Disambig-F1 and DR."""
    read = _read_answers(items, records, judge)
    summary |= summarise_readings(items, records, read)
    for row, scores in zip(rows, read, strict=True):
        found = {"pairs": [pair._asdict() for pair in scores.pairs], "f1": scores.f1}
        row["disambig"] = found | ({"unscored": scores.unscored} if scores.unscored else {})


def _read_answers(
    items: Sequence[Item], records: Sequence[Record], judge: Judge
) -> list[DisambigScores]:
    """Have a judge extract the short answers from each answer, without marks and citations.

    Only questions with sub-questions are scored: in QuoteSum, those from AmbigQA.

    Source: Stelmakh et al. 2022, ASQA, section 4.
    """
    asked = [sub_questions(item.question) for item in items]
    examples = [
        AnswerExample(
            record.id,
            item.question.question,
            QuotedAnswer.parse(record.prediction, item.question.sources).plain,
            short_answers=wanted.pairs,
        )
        for item, record, wanted in zip(items, records, asked, strict=True)
    ]
    return [
        DisambigScores(scores.pairs, None if scores.pairs else wanted.unscored)
        for scores, wanted in zip(disambig_scores(examples, judge), asked, strict=True)
    ]


def rouge_of(item: Item, prediction: str) -> float | None:
    """Return ROUGE-L (ROUGE-Lsum) of an answer, ignoring its citation numbers."""
    return score_item(item, remove_citations(prediction)).rougeLsum


def summarise_readings(
    items: Sequence[Item], records: Sequence[Record], scores: Sequence[DisambigScores]
) -> dict[str, Any]:
    """Return Disambig-F1 and DR of a run, as in ``results.json``.

    Source: Stelmakh et al. 2022, ASQA, section 4.
    """
    f1: list[tuple[str, float]] = []
    exact: list[float] = []
    pairs: dict[str, list[tuple[float, float]]] = {}
    for item, record, each in zip(items, records, scores, strict=True):
        if each.f1 is None or each.exact is None:
            continue
        f1.append((record.qid, each.f1))
        exact.append(each.exact)
        if (rouge := rouge_of(item, record.prediction)) is not None:
            pairs.setdefault(record.qid, []).append((each.f1, rouge))
    mean = question_mean(f1, resamples=RESAMPLES, seed=SEED)
    both = [pair for group in pairs.values() for pair in group]
    means: list[float | None] = [fmean(column) for column in zip(*both, strict=True)]
    means = means or [None, None]
    interval = geometric_interval(list(pairs.values()), resamples=RESAMPLES, seed=SEED)
    return {
        "disambig_f1": {
            "value": mean.value,
            "interval": _listed(mean.interval),
            "n": mean.n,
            "unscored": dict(
                Counter(each.unscored for each in scores if each.unscored is not None)
            ),
        },
        "disambig_em": {"value": fmean(exact) if exact else None, "n": mean.n},
        "dr": {
            "value": dr_score(*means),
            "interval": _listed(interval),
            "rouge_l": means[1],
            "n": mean.n,
        },
    }


def _listed(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)


def disambig_again(row: Mapping[str, Any], where: str) -> DisambigScores | None:
    """Recompute the scores of a row of ``judged.jsonl`` from the short answers found.

    Returns:
        None if the run was not judged for Disambig-F1.
    """
    saved = row.get("disambig")
    if saved is None:
        return None
    try:
        return DisambigScores(
            tuple(
                score_pair(
                    ShortAnswers(str(pair["question"]), tuple(map(str, pair["short_answers"]))),
                    str(pair["found"]),
                )
                for pair in saved["pairs"]
            ),
            saved.get("unscored"),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"is invalid ({error!r}).",
            field="disambig",
            where=where,
            hint="Judge the run again.",
        ) from error
