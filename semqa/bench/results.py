"""The results of a run: scores with intervals, what quoting looked like, and what ran where."""

from __future__ import annotations

import importlib.metadata
import platform
from statistics import fmean, median, quantiles
from typing import TYPE_CHECKING

import semqa
from semqa.metrics import Example, ExampleScores, leave_one_out, score_example, summarise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.bench.plan import Item, Plan

__all__ = ["make_results", "score_item"]

RESAMPLES = 1_000
SEED = 0


def score_item(item: Item, prediction: str) -> ExampleScores:
    """Score one prediction against the references of its item."""
    question = item.question
    if item.left_out is not None:
        rows = leave_one_out(question.qid, question.texts, question.short_answers, question.numbers)
        return rows[item.left_out]
    return score_example(
        Example(
            qid=question.qid,
            prediction=prediction,
            references=question.texts,
            short_answers=question.short_answers,
            present=question.numbers,
        )
    )


def make_results(
    plan: Plan, items: Sequence[Item], rows: Sequence[Mapping[str, object]]
) -> dict[str, object]:
    """Sum up a finished run; scores are computed anew from the predictions.

    Args:
        plan: what was run.
        items: its items.
        rows: their journal rows, in the same order.
    """
    scores = [
        score_item(item, str(row["prediction"])) for item, row in zip(items, rows, strict=True)
    ]
    report = summarise(scores, resamples=RESAMPLES, seed=SEED)
    return {
        "results": report.to_dict(),
        "quoting": _quoting(rows),
        "failed": sum("error" in row for row in rows),
        "seconds": _seconds(rows),
        "config": plan.identity(),
        "versions": {"semqa": semqa.__version__, **_versions()},
        "machine": {"platform": platform.platform(), "python": platform.python_version()},
    }


def _quoting(rows: Sequence[Mapping[str, object]]) -> dict[str, object]:
    if not rows:
        return {}
    statuses: dict[str, int] = {}
    for row in rows:
        counts = row["quotes"]
        if isinstance(counts, dict):
            for status, count in counts.items():
                statuses[status] = statuses.get(status, 0) + count
    words = _column(rows, "words")
    free = _column(rows, "free_words")
    return {
        "statuses": statuses,
        "quotes_per_answer": sum(statuses.values()) / len(rows),
        "words_per_answer": fmean(words),
        "share_quoted": 1 - sum(free) / sum(words) if sum(words) else None,
        "sources_quoted_per_answer": fmean(_column(rows, "sources_quoted")),
    }


def _seconds(rows: Sequence[Mapping[str, object]]) -> dict[str, float]:
    seconds = _column(rows, "seconds")
    if not seconds:
        return {}
    p99 = quantiles(seconds, n=100, method="inclusive")[98] if len(seconds) > 1 else seconds[0]
    return {"total": sum(seconds), "p50": median(seconds), "p99": p99, "max": max(seconds)}


def _column(rows: Sequence[Mapping[str, object]], name: str) -> list[float]:
    return [float(value) for row in rows if isinstance(value := row[name], (int, float))]


def _versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in ("numpy", "rapidfuzz")}
