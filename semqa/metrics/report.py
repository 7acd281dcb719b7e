"""The scores of one system on a corpus: means, how many they rest on, intervals.

SEMQA is √(Sem-F1 · ROUGE-Lsum) of the two corpus means, not the mean of the examples' SEMQA.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from semqa.metrics.example import METRICS, Example, ExampleScores
from semqa.metrics.target import HARMONIC_RAISES, score_example

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Estimate", "Report", "score", "summarise"]

NO_EXAMPLES = "no examples"


@dataclass(frozen=True, slots=True)
class Estimate:
    """One corpus score.

    Attributes:
        value: 0-100; None where no example is scored, NaN only with ``official=True``.
        n: examples that it rests on; for SEMQA, those with a Sem-F1.
        interval: (low, high), or None without resamples or without a value.
        unscored: reasons for the examples left out, with their number.
    """

    value: float | None
    n: int
    interval: tuple[float, float] | None
    unscored: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Report:
    """What `score` found, with the settings that make it repeatable.

    Attributes:
        examples: one row a prediction, in the order given.
        estimates: an `Estimate` for each of `METRICS`.
        official: whether the defects of the official scorer were reproduced.
        all_sources: whether sources beyond 7 were scored too.
        resamples: of the bootstrap; 0 for no intervals.
        seed: of the bootstrap.
        confidence: mass of the intervals.
    """

    examples: tuple[ExampleScores, ...]
    estimates: Mapping[str, Estimate]
    official: bool
    all_sources: bool
    resamples: int
    seed: int
    confidence: float

    @property
    def n(self) -> int:
        """Number of predictions, scored or not."""
        return len(self.examples)

    def value(self, metric: str) -> float | None:
        """Return one corpus score by its name."""
        return self.estimates[metric].value

    def to_dict(self) -> dict[str, Any]:
        """Return the report without its rows, ready for JSON.

        Keys: ``n``, ``questions``, each of `METRICS` (0-100 or None), ``scored`` (metric to number
        of examples), ``intervals`` (metric to [low, high]), ``unscored`` (metric to reason to
        number), ``official``, ``all_sources``, ``resamples``, ``seed``, ``confidence``. With
        ``official=True`` also ``nan`` (the metrics that are NaN in the official scorer, None here)
        and, without ``all_sources``, ``published`` (the figures as the authors' notebook prints
        them).
        """
        values = {metric: self.estimates[metric].value for metric in METRICS}
        row: dict[str, Any] = {
            "n": self.n,
            "questions": len({example.qid for example in self.examples}),
            **{m: None if v is None or math.isnan(v) else v for m, v in values.items()},
            "scored": {m: estimate.n for m, estimate in self.estimates.items()},
            "intervals": {
                m: list(estimate.interval)
                for m, estimate in self.estimates.items()
                if estimate.interval
            },
            "unscored": {
                m: dict(estimate.unscored)
                for m, estimate in self.estimates.items()
                if estimate.unscored
            },
            "official": self.official,
            "all_sources": self.all_sources,
            "resamples": self.resamples,
            "seed": self.seed,
            "confidence": self.confidence,
        }
        if self.official:
            row["nan"] = [m for m, v in values.items() if v is not None and math.isnan(v)]
        if self.official and not self.all_sources:
            from semqa.metrics.official import published_figures

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
    confidence: float = 0.95,
) -> Report:
    """Score one system.

    Args:
        examples: one prediction each.
        official: reproduce the defects of the official scorer; see `docs/metrics.md`.
        all_sources: score the sources beyond 7 too; see `score_example`.
        resamples: corpora to draw for the intervals; 0 for none.
        seed: of the draws.
        confidence: mass of the intervals, in (0, 1).

    Raises:
        NoReferenceError: an example has no reference.
        InputError: a setting is out of range.

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
        rows,
        official=official,
        all_sources=all_sources,
        resamples=resamples,
        seed=seed,
        confidence=confidence,
    )


def summarise(
    scores: Iterable[ExampleScores],
    *,
    official: bool = False,
    all_sources: bool = False,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Report:
    """Make the report of rows scored before; the other arguments are those of `score`.

    Rows with the same qid (several answers to one question) count one by one in the means, and are
    drawn together for the intervals.
    """
    rows = tuple(scores)
    intervals: Mapping[str, tuple[float, float]] = {}
    if resamples:
        from semqa.metrics.bootstrap import bootstrap_intervals

        intervals = bootstrap_intervals(rows, resamples=resamples, seed=seed, confidence=confidence)
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
        confidence=confidence,
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
