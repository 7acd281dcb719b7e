"""Disambig-F1 and DR of a run: can the answers to all readings of a question be read off its answer?

Only questions that come with sub-questions are scored: of QuoteSum, those from AmbigQA. An answer that
failed or says nothing scores 0, as an empty answer does elsewhere.
"""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.attribution.citations.examples import AnswerExample, ShortAnswers, sub_questions
from semqa.attribution.citations.reading import remove_citations
from semqa.attribution.citations.scores import (
    DisambigScores,
    disambig_scores,
    dr_score,
    score_pair,
)
from semqa.bench.results import RESAMPLES, SEED, score_item
from semqa.errors import InputError
from semqa.metrics.bootstrap import geometric_interval, mean_interval
from semqa.quotes import QuotedAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.judges import AnsweringJudge
    from semqa.bench.plan import Item
    from semqa.bench.record import Record

__all__ = ["Disambig", "disambig_again", "disambig_to_dict", "read_answers", "rouge_of", "sum_up"]


class Disambig(NamedTuple):
    """Disambig-F1 and DR of a run.

    Attributes:
        f1: 0-100; None where no answer is scored.
        interval: of it, over resamples of questions.
        exact: sub-questions answered exactly, 0-100.
        rouge: ROUGE-L of the same answers, as far as they have it.
        dr: the geometric mean of `f1` and `rouge`.
        dr_interval: of it, over resamples of questions.
        n: answers scored.
    """

    f1: float | None
    interval: tuple[float, float] | None
    exact: float | None
    rouge: float | None
    dr: float | None
    dr_interval: tuple[float, float] | None
    n: int


def read_answers(
    items: Sequence[Item], records: Sequence[Record], judge: AnsweringJudge
) -> list[DisambigScores]:
    """Have a judge read the short answers off each answer, without its marks and citations.

    Args:
        items: what was to be answered.
        records: what became of them, in the same order.
        judge: is asked each sub-question, with the answer as its passage.

    Returns:
        One an answer; without pairs, and with the reason, where the question has no sub-questions.

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
    """Return ROUGE-L (ROUGE-Lsum) of an answer without its citations, whose numbers are no words."""
    return score_item(item, remove_citations(prediction)).rougeLsum


def sum_up(
    qids: Sequence[str], scores: Sequence[DisambigScores], rouge: Sequence[float | None]
) -> Disambig:
    """Sum up the scores of answers.

    Source: Stelmakh et al. 2022, ASQA, section 4.

    Args:
        qids: the question of each answer; an interval draws questions.
        scores: one an answer.
        rouge: ROUGE-L of each answer, 0-100.
    """
    groups: dict[str, list[float]] = {}
    exact: list[float] = []
    pairs: dict[str, list[tuple[float, float]]] = {}
    for qid, each, one in zip(qids, scores, rouge, strict=True):
        f1, exactly = each.f1, each.exact
        if f1 is None or exactly is None:
            continue
        groups.setdefault(qid, []).append(f1)
        exact.append(exactly)
        if one is not None:
            pairs.setdefault(qid, []).append((f1, one))
    values = [value for group in groups.values() for value in group]
    if not values:
        return Disambig(None, None, None, None, None, None, 0)
    around = mean_interval(list(groups.values()), resamples=RESAMPLES, seed=SEED)
    around_dr = geometric_interval(list(pairs.values()), resamples=RESAMPLES, seed=SEED)
    both = [pair for group in pairs.values() for pair in group]
    found = fmean(one for _, one in both) if both else None
    of_both = fmean(f1 for f1, _ in both) if both else None
    return Disambig(
        fmean(values),
        around if len(groups) > 1 else None,
        fmean(exact),
        found,
        dr_score(of_both, found),
        around_dr if len(pairs) > 1 else None,
        len(values),
    )


def disambig_to_dict(summary: Disambig, scores: Sequence[DisambigScores]) -> dict[str, Any]:
    """Return what ``results.json`` says of it."""
    unscored = dict(Counter(each.unscored for each in scores if each.unscored is not None))
    return {
        "disambig_f1": {
            "value": summary.f1,
            "interval": _listed(summary.interval),
            "n": summary.n,
            "unscored": unscored,
        },
        "disambig_em": {"value": summary.exact, "n": summary.n},
        "dr": {
            "value": summary.dr,
            "interval": _listed(summary.dr_interval),
            "rouge_l": summary.rouge,
            "n": summary.n,
        },
    }


def _listed(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)


def disambig_again(row: Mapping[str, Any], where: str) -> DisambigScores | None:
    """Return the scores of a row that was judged, computed anew from what the judge read.

    Args:
        row: of ``judged.jsonl``.
        where: names the row in messages.

    Returns:
        None where the judge read nothing in this run.

    Raises:
        InputError: the row is not as it was written.
    """
    told = row.get("disambig")
    if told is None:
        return None
    try:
        return DisambigScores(
            tuple(
                score_pair(
                    ShortAnswers(str(pair["question"]), tuple(map(str, pair["short_answers"]))),
                    str(pair["found"]),
                )
                for pair in told["pairs"]
            ),
            told.get("unscored"),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{where}: not a judged row: got {type(error).__name__} ({error}) in 'disambig', "
            "expected what semqa bench --judge wrote; judge the run again"
        ) from error
