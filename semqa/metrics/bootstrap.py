"""Bootstrap over questions: percentile intervals, and a paired test of two systems.

Predictions for one question stand or fall together, so a resample draws questions, with
replacement, and takes all rows of each. Every draw comes from a generator made here of the seed:
equal input and seed give equal figures, and nobody's global generator moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semqa.errors import InputError
from semqa.metrics.scores import METRICS
from semqa.metrics.statistics import check_resampling, percentile_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from semqa.metrics.scores import ExampleScores

MEANS = METRICS[:-1]
"""The metrics whose corpus score is a mean of rows: all but SEMQA."""

SEMQA_FACTORS = ("sem_f1", "rougeLsum")

DRAWN_AT_ONCE = 1 << 21
"""Draws held in memory at a time (16 MiB), whatever the number of questions."""

ROUNDING = 1e-9
"""Differences (in points) closer than this are equal: sums in another order differ by less."""


class Mean(NamedTuple):
    """A mean of `n` values, None of nothing; no interval without resamples or below two values."""

    value: float | None
    n: int
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class PairedTest:
    """How system A differs from system B on the `n` questions that both were scored on.

    The difference is A minus B, in points (0-100), with its confidence interval; p is two-sided.
    """

    metric: str
    n: int
    difference: float
    low: float
    high: float
    p: float


def bootstrap_intervals(
    scores: Sequence[ExampleScores],
    *,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> dict[str, tuple[float, float]]:
    """Return the percentile interval of each corpus score of one system.

    The interval of SEMQA comes from the corpus formula computed anew on each resample. A resample
    that holds no scored row of a metric is left out for that metric. Metrics that fewer than two
    questions have, which is no spread, and those that are NaN have no interval.

    Raises:
        InputError: resamples or confidence is out of range.
    """
    check_resampling(resamples, confidence)
    if not scores:
        return {}
    sums, counts = _tabulate(_rows_by_question(scores))
    drawn = [_corpus_scores(w, sums, counts) for w in _draws(len(sums), resamples, seed)]
    intervals = {}
    for metric, column in zip(METRICS, np.concatenate(drawn).T, strict=True):
        factors = [MEANS.index(factor) for factor in _factors(metric)]
        if (
            np.isfinite(sums[:, factors]).all()
            and (np.count_nonzero(counts[:, factors], axis=0) > 1).all()
        ):
            intervals[metric] = percentile_interval(column[np.isfinite(column)], confidence)
    return intervals


def mean_interval(
    groups: Sequence[Sequence[float]],
    *,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> tuple[float, float] | None:
    """Return the percentile interval of the mean of values that come in groups.

    The values of a question are drawn together; a group may be empty.

    Returns:
        None where fewer than two questions have a value: one shows no spread.

    Example:
        >>> mean_interval([[1.0], [1.0, 1.0], []])
        (1.0, 1.0)
    """
    alone = [[(value,) for value in group] for group in groups]
    return geometric_interval(alone, resamples=resamples, seed=seed, confidence=confidence)


def mean_with_interval(
    values: Sequence[float], *, resamples: int = 1000, seed: int = 0, confidence: float = 0.95
) -> Mean:
    """Return the mean of independent values with its interval; 0 resamples give none.

    Example:
        >>> mean_with_interval([0.0, 1.0, 1.0, 0.0], resamples=0)
        Mean(value=0.5, n=4, interval=None)
    """
    check_resampling(resamples, confidence, least=0)
    if not values:
        return Mean(None, 0, None)
    groups = [(value,) for value in values]
    interval = None
    if resamples:
        interval = mean_interval(groups, resamples=resamples, seed=seed, confidence=confidence)
    return Mean(fmean(values), len(values), interval)


def question_mean(
    rows: Iterable[tuple[str, float | None]], *, resamples: int = 1000, seed: int = 0
) -> Mean:
    """Return the mean of all values, with an interval that draws whole questions.

    `rows` are question and value of each answer. None counts nowhere, but its question is drawn.

    Example:
        >>> question_mean([("q1", 1.0), ("q1", 2.0), ("q2", None)])
        Mean(value=1.5, n=2, interval=None)
    """
    groups: dict[str, list[float]] = {}
    for qid, value in rows:
        groups.setdefault(qid, []).extend(() if value is None else (value,))
    values = [value for group in groups.values() for value in group]
    if not values:
        return Mean(None, 0, None)
    interval = mean_interval(list(groups.values()), resamples=resamples, seed=seed)
    return Mean(fmean(values), len(values), interval)


def geometric_interval(
    groups: Sequence[Sequence[tuple[float, ...]]],
    *,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> tuple[float, float] | None:
    """Return the percentile interval of the geometric mean of means, of values that come in groups.

    Args:
        groups: the rows of each question, which are drawn together; a group may be empty. Each row has
            a value for each of the means, none below zero unless there is but one.
        resamples: how many corpora to draw.
        seed: of the draws.
        confidence: the mass of the interval, in (0, 1).

    Returns:
        None where fewer than two questions have a row: one shows no spread.

    Example:
        >>> geometric_interval([[(4.0, 9.0)], [(4.0, 9.0)]])
        (6.0, 6.0)
    """
    check_resampling(resamples, confidence)
    counts = np.array([len(group) for group in groups], dtype=np.float64)
    if np.count_nonzero(counts) < 2:
        return None
    means = len(next(row for group in groups for row in group))
    sums = np.array(
        [[sum(column) for column in zip(*g, strict=True)] or [0.0] * means for g in groups]
    )
    drawn = []
    for weights in _draws(len(sums), resamples, seed):
        scored = weights @ counts
        kept = scored > 0
        each = (weights @ sums)[kept] / scored[kept, np.newaxis]
        drawn.append(each[:, 0] if means == 1 else each.prod(axis=1) ** (1 / means))
    return percentile_interval(np.concatenate(drawn), confidence)


def paired_bootstrap(
    a: Sequence[ExampleScores],
    b: Sequence[ExampleScores],
    *,
    metric: str = "semqa",
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> PairedTest:
    """Test whether two systems differ, on resamples of the questions that both answered.

    Each resample draws the same questions for both. Questions that either system is not scored on,
    or scored NaN, are left out. The p-value is the share of resamples whose difference is at least as
    far from the observed one as that is from zero (one added above and below, so it is never zero).
    With fewer than some twenty questions no bootstrap is to be trusted.

    Args:
        a: the rows of one system.
        b: the rows of the other, for the same questions in any order.
        metric: one of `METRICS`; SEMQA is compared by its corpus formula.
        resamples: how many corpora to draw.
        seed: of the draws.
        confidence: the mass of the interval, in (0, 1).

    Raises:
        InputError: the systems answer different questions, fewer than two questions are scored in
            both, or a setting is out of range.

    Source: Berg-Kirkpatrick, Burkett and Klein, "An Empirical Investigation of Statistical
    Significance in NLP" (2012), section 2; differs in being two-sided, and in the one that is added,
    for which see Davison and Hinkley, "Bootstrap Methods and their Application" (1997), chapter 4.
    """
    check_resampling(resamples, confidence)
    if metric not in METRICS:
        raise InputError(f"must be one of {', '.join(METRICS)}, got {metric!r}.", field="metric")
    first, second = _rows_by_question(a), _rows_by_question(b)
    for qid in first.keys() ^ second.keys():
        side = "first" if qid in first else "second"
        raise InputError(f"Only the {side} system has an answer to question {qid}.")
    tables = [_tabulate(first), _tabulate({qid: second[qid] for qid in first})]
    factors = [MEANS.index(factor) for factor in _factors(metric)]
    scored = np.ones(len(first), dtype=bool)
    for sums, counts in tables:
        scored &= (counts[:, factors] > 0).all(axis=1) & np.isfinite(sums[:, factors]).all(axis=1)
    n = int(scored.sum())
    if n < 2:
        raise InputError(f"Fewer than two questions have {metric} in both systems.")
    tables = [(sums[scored], counts[scored]) for sums, counts in tables]

    def differences(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        left, right = (_corpus_scores(weights, *table) for table in tables)
        column: NDArray[np.float64] = (left - right)[:, METRICS.index(metric)]
        return column

    observed = float(differences(np.ones((1, n)))[0])
    drawn = np.concatenate([differences(w) for w in _draws(n, resamples, seed)])
    return _tested(metric, n, observed, drawn, confidence)


def paired_means(
    pairs: Sequence[tuple[float, float]],
    *,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> PairedTest:
    """Test whether two means differ, of pairs of values for the same question; see `paired_bootstrap`.

    The difference is in the units of the values.

    Example:
        >>> paired_means([(2.0, 1.0), (3.0, 2.0)]).difference
        1.0
    """
    check_resampling(resamples, confidence)
    if len(pairs) < 2:
        raise InputError(f"A comparison needs two pairs at least, got {len(pairs)}.")
    gaps = np.array([first - second for first, second in pairs])
    n = len(gaps)
    observed = float(gaps.mean())
    drawn = np.concatenate([weights @ gaps / n for weights in _draws(n, resamples, seed)])
    return _tested("mean", n, observed, drawn, confidence)


def _tested(
    metric: str, n: int, observed: float, drawn: NDArray[np.float64], confidence: float
) -> PairedTest:
    extreme = int((np.abs(drawn - observed) >= abs(observed) - ROUNDING).sum())
    low, high = percentile_interval(drawn, confidence)
    return PairedTest(metric, n, observed, low, high, p=(1 + extreme) / (1 + len(drawn)))


def _factors(metric: str) -> tuple[str, ...]:
    return SEMQA_FACTORS if metric == "semqa" else (metric,)


def _rows_by_question(scores: Sequence[ExampleScores]) -> dict[str, list[ExampleScores]]:
    rows: dict[str, list[ExampleScores]] = {}
    for row in scores:
        rows.setdefault(row.qid, []).append(row)
    return rows


def _tabulate(
    rows: Mapping[str, Sequence[ExampleScores]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sums and numbers of the scored rows of each question, both [questions, MEANS]."""
    sums = np.zeros((len(rows), len(MEANS)))
    counts = np.zeros_like(sums)
    for q, group in enumerate(rows.values()):
        for m, metric in enumerate(MEANS):
            values = [value for row in group if (value := row.value(metric)) is not None]
            sums[q, m], counts[q, m] = sum(values), len(values)
    return sums, counts


def _draws(questions: int, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield how often each question is drawn in each resample: [resamples, questions], in parts."""
    generator = np.random.default_rng(seed)
    while resamples:
        part = min(resamples, max(1, DRAWN_AT_ONCE // questions))
        places = generator.integers(questions, size=(part, questions))
        places += questions * np.arange(part)[:, np.newaxis]
        drawn = np.bincount(places.ravel(), minlength=part * questions)
        yield drawn.reshape(part, questions).astype(np.float64)
        resamples -= part


def _corpus_scores(
    weights: NDArray[np.float64], sums: NDArray[np.float64], counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return all corpus scores, [resamples, METRICS]; NaN where a resample has no scored row."""
    scored = weights @ counts
    means = np.divide(weights @ sums, scored, out=np.full_like(scored, np.nan), where=scored > 0)
    f1, lsum = (means[:, MEANS.index(factor)] for factor in SEMQA_FACTORS)
    return np.column_stack([means, np.sqrt(f1 * lsum)])
