"""Scores of a corpus: means with intervals, and the figures that QuoteSum's authors print.

SEMQA of a corpus is √(Sem-F1 · ROUGE-Lsum) of the two means, not the mean of the examples' SEMQA.

Source of the latter: google-research-datasets/QuoteSum, evals/scorers.py and
evals/semqa_metrics.ipynb. Unlike the original, this does not seed numpy's global generator.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from semqa.metrics.scores import HARMONIC_RAISES, METRICS, Example, ExampleScores, score_example
from semqa.metrics.statistics import CONFIDENCE

NO_EXAMPLES = "no examples"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A corpus score, 0-100, with its 95% interval.

    The value is None if no example is scored, and NaN only with ``official=True``. `n` is the number
    of scored examples; `unscored` has the number of others by reason.
    """

    value: float | None
    n: int
    interval: tuple[float, float] | None
    unscored: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Report:
    """The result of `score` and the settings needed to reproduce it."""

    examples: tuple[ExampleScores, ...]
    estimates: Mapping[str, Estimate]
    official: bool
    all_sources: bool
    resamples: int
    seed: int

    @property
    def n(self) -> int:
        """Number of predictions, including unscored ones."""
        return len(self.examples)

    def value(self, metric: str) -> float | None:
        """Return the corpus score of one metric."""
        return self.estimates[metric].value

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON, without its rows.

        With ``official=True``, ``nan`` lists metrics that are NaN in the official scorer and None
        here, and ``published`` has the figures printed by the authors' notebook.
        """
        values = {metric: self.estimates[metric].value for metric in METRICS}
        row: dict[str, Any] = {
            "n": self.n,
            "questions": len({example.qid for example in self.examples}),
            **{m: None if v is None or math.isnan(v) else v for m, v in values.items()},
            "scored": {m: estimate.n for m, estimate in self.estimates.items()},
            "intervals": {m: list(e.interval) for m, e in self.estimates.items() if e.interval},
            "unscored": {m: dict(e.unscored) for m, e in self.estimates.items() if e.unscored},
            "official": self.official,
            "all_sources": self.all_sources,
            "resamples": self.resamples,
            "seed": self.seed,
            "confidence": CONFIDENCE,
        }
        if self.official:
            row["nan"] = [m for m, v in values.items() if v is not None and math.isnan(v)]
        if self.official and not self.all_sources:
            row["published"] = {
                m: None if math.isnan(v) else v for m, v in published_figures(self.examples).items()
            }
        return row


def score(
    examples: Iterable[Example],
    *,
    official: bool = False,
    all_sources: bool = False,
    resamples: int = 1000,
    seed: int = 0,
) -> Report:
    """Score the predictions of one system.

    Args:
        official: reproduce the defects of the official scorer; see `docs/metrics.md`.
        all_sources: also score sources beyond 7; see `score_example`.
        resamples: number of bootstrap resamples; 0 gives no intervals.

    Example:
        >>> examples = [Example("q1", "By [ 1 Bing Crosby ].", ("[ 1 Bing Crosby ]",), ("",), (1,))]
        >>> report = score(examples)
        >>> round(report.value("semqa"), 1), report.estimates["sem_recall"].unscored
        (89.4, {'no reference has a short answer': 1})
    """
    rows = [
        score_example(example, official=official, all_sources=all_sources) for example in examples
    ]
    return summarise(
        rows, official=official, all_sources=all_sources, resamples=resamples, seed=seed
    )


def summarise(
    scores: Iterable[ExampleScores],
    *,
    official: bool = False,
    all_sources: bool = False,
    resamples: int = 1000,
    seed: int = 0,
) -> Report:
    """Return the report on rows that are already scored; see `score` for the other arguments.

    Rows with the same qid (several answers to one question) count separately in the means but are
    drawn together for the intervals.
    """
    rows = tuple(scores)
    intervals: Mapping[str, tuple[float, float]] = {}
    if resamples:
        from semqa.metrics.bootstrap import bootstrap_intervals

        intervals = bootstrap_intervals(rows, resamples=resamples, seed=seed)
    values = {metric: _mean(rows, metric, official=official) for metric in METRICS[:-1]}
    f1, lsum = values["sem_f1"], values["rougeLsum"]
    values["semqa"] = None if f1 is None or lsum is None else math.sqrt(f1 * lsum)
    return Report(
        examples=rows,
        estimates={
            metric: Estimate(
                value=values[metric],
                n=sum(row.value(metric) is not None for row in rows),
                interval=None if values[metric] is None else intervals.get(metric),
                unscored=_reasons(rows, metric),
            )
            for metric in METRICS
        },
        official=official,
        all_sources=all_sources,
        resamples=resamples,
        seed=seed,
    )


def _mean(rows: Sequence[ExampleScores], metric: str, *, official: bool) -> float | None:
    if official and HARMONIC_RAISES in (row.unscored.get(metric) for row in rows):
        return None
    values = [value for row in rows if (value := row.value(metric)) is not None]
    if values:
        return fmean(values)
    return math.nan if official else None


def _reasons(rows: Sequence[ExampleScores], metric: str) -> dict[str, int]:
    if not rows:
        return {NO_EXAMPLES: 0}
    return dict(Counter(row.unscored[metric] for row in rows if metric in row.unscored))


SEED = 1337
RESAMPLES = 1000


def rouge_percentiles(rows: Sequence[ExampleScores]) -> dict[str, tuple[float, float, float]]:
    """Return (mid, low, high) of each ROUGE score, as ``score_all_rouge(bootstrap=True)`` does.

    They are the 50th, 2.5th and 97.5th percentiles of 1,000 bootstrap means; the authors' notebook
    prints the first. All four scores share one random stream with seed 1337.
    """
    import numpy as np

    generator = np.random.RandomState(SEED)
    percentiles = {}
    for metric in ("rouge1", "rouge2", "rougeLsum", "rougeL"):
        values = np.array([row.value(metric) for row in rows])
        means = [
            values[generator.randint(0, len(values), size=len(values))].mean()
            for _ in range(RESAMPLES)
        ]
        low, mid, high = np.percentile(means, [2.5, 50, 97.5])
        percentiles[metric] = (float(mid), float(low), float(high))
    return percentiles


def published_figures(rows: Sequence[ExampleScores]) -> dict[str, float]:
    """Return the figures that the authors' notebook prints for rows scored with ``official=True``.

    ROUGE, also in SEMQA, is the median of the bootstrap means instead of the mean. Every figure is
    NaN if there are no rows.
    """
    scored = [row for row in rows if row.rougeLsum is not None]
    percentiles = rouge_percentiles(scored) if scored else {}
    figures = {
        metric: percentiles[metric][0] if scored else math.nan
        for metric in ("rouge1", "rouge2", "rougeLsum")
    }
    for metric in ("sem_f1", "sem_recall"):
        values = [value for row in rows if (value := row.value(metric)) is not None]
        figures[metric] = fmean(values) if values else math.nan
    figures["semqa"] = math.sqrt(figures["sem_f1"] * figures["rougeLsum"])
    return figures
