"""Bootstrap over questions: percentile intervals, and a paired test of two systems.

Predictions for the same question are not independent, so a resample draws questions with
replacement and takes all rows of each. The same input and seed give the same figures; global random
generators are not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semqa.checks import check_choice
from semqa.errors import InputError
from semqa.metrics.scores import METRICS, ExampleScores
from semqa.metrics.statistics import percentile_interval

MEANS = METRICS[:-1]
"""The metrics whose corpus score is a mean of rows: all but SEMQA."""

SEMQA_FACTORS = ("sem_f1", "rougeLsum")

FEWEST = 20
"""With fewer questions, p-values of `paired_bootstrap` are too small."""

DRAWN_AT_ONCE = 1 << 21
"""Maximum number of draws in memory at a time (16 MiB)."""

ROUNDING = 1e-9
"""Differences (in points) below this are equal: it is above the error of floating-point sums."""


class Mean(NamedTuple):
    """A mean of `n` values, None if n is 0; without resamples or two values it has no interval."""

    value: float | None
    n: int
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Difference between systems A and B on the `n` questions scored for both.

    The difference is A minus B in points (0-100), with its confidence interval; p is two-sided.
    """

    metric: str
    n: int
    difference: float
    low: float
    high: float
    p: float


def bootstrap_intervals(
    scores: Sequence[ExampleScores], *, resamples: int = 1000, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """Return the percentile interval of each corpus score of one system.

    For SEMQA, the corpus formula is computed on each resample. A resample without a scored row of a
    metric is ignored for that metric. A metric has no interval if it is NaN or if fewer than two
    questions have it.
    """
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
            intervals[metric] = percentile_interval(column[np.isfinite(column)])
    return intervals


def mean_interval(
    groups: Sequence[Sequence[float]], *, resamples: int = 1000, seed: int = 0
) -> tuple[float, float] | None:
    """Return the percentile interval of the mean of grouped values.

    Groups, such as the values of one question, are drawn whole; a group may be empty. There is no
    interval without resamples, or if fewer than two groups have a value.

    Example:
        >>> mean_interval([[1.0], [1.0, 1.0], []])
        (1.0, 1.0)
    """
    rows = [[(value,) for value in group] for group in groups]
    return geometric_interval(rows, resamples=resamples, seed=seed)


def mean_with_interval(values: Sequence[float], *, resamples: int = 1000, seed: int = 0) -> Mean:
    """Return the mean of independent values with its interval; 0 resamples give no interval.

    Example:
        >>> mean_with_interval([0.0, 1.0, 1.0, 0.0], resamples=0)
        Mean(value=0.5, n=4, interval=None)
    """
    return _mean([(value,) for value in values], resamples, seed)


def question_mean(
    rows: Iterable[tuple[str, float | None]], *, resamples: int = 1000, seed: int = 0
) -> Mean:
    """Return the mean of rows of question id and value, with an interval over questions.

    None is left out of the mean, but its question is still drawn.

    Example:
        >>> question_mean([("q1", 1.0), ("q1", 2.0), ("q2", None)])
        Mean(value=1.5, n=2, interval=None)
    """
    groups: dict[str, list[float]] = {}
    for qid, value in rows:
        groups.setdefault(qid, []).extend(() if value is None else (value,))
    return _mean(list(groups.values()), resamples, seed)


def _mean(groups: Sequence[Sequence[float]], resamples: int, seed: int) -> Mean:
    values = [value for group in groups for value in group]
    if not values:
        return Mean(None, 0, None)
    interval = mean_interval(groups, resamples=resamples, seed=seed)
    return Mean(fmean(values), len(values), interval)


def geometric_interval(
    groups: Sequence[Sequence[tuple[float, ...]]], *, resamples: int = 1000, seed: int = 0
) -> tuple[float, float] | None:
    """Return the percentile interval of the geometric mean of several means of grouped rows.

    A group has the rows of a question, each with one value per mean. It is drawn whole and may be
    empty. There is no interval without resamples, or if fewer than two groups have a row.

    Example:
        >>> geometric_interval([[(4.0, 9.0)], [(4.0, 9.0)]])
        (6.0, 6.0)
    """
    counts = np.array([len(group) for group in groups], dtype=np.float64)
    if not resamples or np.count_nonzero(counts) < 2:
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
    return percentile_interval(np.concatenate(drawn))


def paired_bootstrap(
    a: Sequence[ExampleScores],
    b: Sequence[ExampleScores],
    *,
    metric: str = "semqa",
    resamples: int = 10_000,
    seed: int = 0,
) -> PairedTest:
    """Test with a paired bootstrap over questions whether two systems differ.

    Each resample draws the same questions for both systems. Questions with an undefined or NaN
    score in either system are left out. The p-value is the share of resamples whose difference is
    at least as far from the observed difference as that is from zero. One is added to both counts,
    so it is never zero. Do not trust a bootstrap over fewer than about twenty questions.

    SEMQA is compared by its corpus formula.

    Source: Berg-Kirkpatrick, Burkett and Klein, "An Empirical Investigation of Statistical
    Significance in NLP" (2012), section 2, made two-sided; for the one added to both counts, see
    Davison and Hinkley, "Bootstrap Methods and their Application" (1997), chapter 4.
    """
    check_choice("metric", metric, METRICS)
    first, second = _rows_by_question(a), _rows_by_question(b)
    for qid in first.keys() ^ second.keys():
        side = "first" if qid in first else "second"
        raise InputError(f"Only the {side} system answers question {qid}.")
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
    return _paired_test(metric, n, observed, drawn)


def paired_means(
    pairs: Sequence[tuple[float, float]], *, resamples: int = 10_000, seed: int = 0
) -> PairedTest:
    """Test whether two means of paired values differ; see `paired_bootstrap`.

    Each pair belongs to one question. The difference is in the units of the values.

    Example:
        >>> paired_means([(2.0, 1.0), (3.0, 2.0)]).difference
        1.0
    """
    if len(pairs) < 2:
        raise InputError(f"A comparison needs at least two pairs, got {len(pairs)}.")
    gaps = np.array([first - second for first, second in pairs])
    n = len(gaps)
    observed = float(gaps.mean())
    drawn = np.concatenate([weights @ gaps / n for weights in _draws(n, resamples, seed)])
    return _paired_test("mean", n, observed, drawn)


def _paired_test(metric: str, n: int, observed: float, drawn: NDArray[np.float64]) -> PairedTest:
    extreme = int((np.abs(drawn - observed) >= abs(observed) - ROUNDING).sum())
    low, high = percentile_interval(drawn)
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
    """Return sums and counts of the scored rows, both of shape [questions, len(MEANS)]."""
    sums = np.zeros((len(rows), len(MEANS)))
    counts = np.zeros_like(sums)
    for q, group in enumerate(rows.values()):
        for m, metric in enumerate(MEANS):
            values = [value for row in group if (value := row.value(metric)) is not None]
            sums[q, m], counts[q, m] = sum(values), len(values)
    return sums, counts


def _draws(questions: int, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield the draw count of each question per resample, as parts of [resamples, questions]."""
    generator = np.random.default_rng(seed)
    while resamples:
        part = min(resamples, max(1, DRAWN_AT_ONCE // questions))
        indices = generator.integers(questions, size=(part, questions))
        indices += questions * np.arange(part)[:, np.newaxis]
        drawn = np.bincount(indices.ravel(), minlength=part * questions)
        yield drawn.reshape(part, questions).astype(np.float64)
        resamples -= part


def _corpus_scores(
    weights: NDArray[np.float64], sums: NDArray[np.float64], counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return corpus scores, [resamples, len(METRICS)]; NaN if a resample has no scored row."""
    scored = weights @ counts
    means = np.divide(weights @ sums, scored, out=np.full_like(scored, np.nan), where=scored > 0)
    f1, lsum = (means[:, MEANS.index(factor)] for factor in SEMQA_FACTORS)
    return np.column_stack([means, np.sqrt(f1 * lsum)])
