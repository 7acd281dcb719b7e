"""Meta-evaluation: compare a measure with human labels, for responses and for systems.

*Response level*: a score above a threshold predicts a consistent response; a score at or below it
predicts an inconsistent one. *System level*, after Graham and Liu 2016: systems are simulated on
the same sampled contexts, each with a known share of inconsistent responses. A good measure ranks
them by that share.

Source: Honovich et al. 2021.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semqa.attribution.q2.measure import KIND
from semqa.attribution.q2.responses import Response
from semqa.attribution.records import kind_of, read_record
from semqa.data.jsonl import read_as
from semqa.extras import require
from semqa.metrics.agreement import confusion
from semqa.metrics.statistics import correlation, percentile_interval


@dataclass(frozen=True, slots=True)
class _Row:
    id: str
    response: str
    knowledge: str
    inconsistent: bool | None = None
    system: str | None = None
    context: str | None = None
    rating: float | None = None
    q2: float | None = None
    q2_no_nli: float | None = None
    baselines: dict[str, float | None] = field(default_factory=dict)


def read_judged(path: Path) -> list[Response] | None:
    """Read the responses of a record with their scores; None for other files and standard input."""
    if kind_of(path) != KIND:
        return None
    found = []
    for row in read_record(path, KIND).rows:
        each = read_as(_Row, row)
        found.append(
            Response(
                each.id,
                each.response,
                each.knowledge,
                each.inconsistent,
                each.system,
                each.context,
                row.where,
                {"q2": each.q2, "q2_no_nli": each.q2_no_nli, **each.baselines},
                each.rating,
            )
        )
    return found


_DECIMALS = 9


def response_level(
    judged: Iterable[Response], measure: str, *thresholds: float
) -> dict[str, Any] | None:
    """Compare one measure with the labels of responses.

    As in the paper, BLEU is divided by 100, and BERTScore is rescaled to [0, 1] by its minimum and
    maximum, before the threshold applies. The default threshold is 0.5.

    The result, None if no response has both a label and a score, has the figures at the first
    threshold (and at all ``thresholds``, if there are several), the areas under the curves, and
    precision-recall ``curves`` for detecting consistent responses by high scores and inconsistent
    ones by low scores (with thresholds on ``1 - score``).
    """
    labelled = [each for each in judged if each.inconsistent is not None]
    pairs = [
        (score, not each.inconsistent)
        for each in labelled
        if (score := each.scores.get(measure)) is not None
    ]
    if not pairs:
        return None
    scores = _to_unit_interval(np.array([score for score, _ in pairs], dtype=np.float64), measure)
    consistent = np.array([label for _, label in pairs])
    metrics: Any = require("sklearn.metrics", extra="eval", purpose="the meta-evaluation")
    # Round, so that scores with only floating-point differences tie.
    high, low = np.round(scores, _DECIMALS), np.round(1 - scores, _DECIMALS)
    areas: tuple[float | None, ...] = (None, None, None)
    if consistent.any() and not consistent.all():
        areas = (
            float(metrics.roc_auc_score(consistent, high)),
            float(metrics.average_precision_score(consistent, high)),
            float(metrics.average_precision_score(~consistent, low)),
        )
    curves: dict[str, Any] = {"consistent": None, "inconsistent": None}
    for name, truth, ranked in (
        ("consistent", consistent, high),
        ("inconsistent", ~consistent, low),
    ):
        if truth.any():
            points = metrics.precision_recall_curve(truth, ranked)
            names = ("precision", "recall", "thresholds")
            curves[name] = {part: p.tolist() for part, p in zip(names, points, strict=True)}
    decided = [_at_threshold(scores, consistent, each) for each in thresholds or (0.5,)]
    return {
        "n": len(pairs),
        "unscored": len(labelled) - len(pairs),
        **decided[0],
        "roc_auc": areas[0],
        "average_precision_consistent": areas[1],
        "average_precision_inconsistent": areas[2],
        **({"thresholds": decided} if len(decided) > 1 else {}),
        "curves": curves,
    }


def _to_unit_interval(scores: NDArray[np.float64], measure: str) -> NDArray[np.float64]:
    if measure == "bleu":
        return scores / 100
    if measure == "bertscore":
        spread = float(np.ptp(scores))
        return (scores - float(scores.min())) / (spread or 1.0)
    return scores


def _at_threshold(
    scores: NDArray[np.float64], consistent: NDArray[np.bool_], threshold: float
) -> dict[str, Any]:
    """Return the results at a threshold; a score equal to it counts as inconsistent."""
    right, missed, kept, found = confusion(consistent.tolist(), (scores > threshold).tolist())
    return {
        "threshold": threshold,
        "accuracy": (right + found) / len(scores),
        "consistent": detection(right, kept, missed),
        "inconsistent": detection(found, missed, kept),
        "confusion": {
            "inconsistent_as_inconsistent": found,
            "inconsistent_as_consistent": kept,
            "consistent_as_inconsistent": missed,
            "consistent_as_consistent": right,
        },
    }


def detection(hits: int, false: int, missed: int) -> dict[str, float | None]:
    """Return precision, recall and F1 of one class; None if undefined."""
    predicted, present = hits + false, hits + missed
    return {
        "precision": hits / predicted if predicted else None,
        "recall": hits / present if present else None,
        "f1": 2 * hits / (predicted + present) if predicted and present else None,
    }


RATES = (0.05, 0.1, 0.15, 0.2, 0.25)
"""The share of inconsistent responses of each simulated system, as in the paper."""
SIZE = 350
"""Contexts per system, sampled with replacement; all systems get the same contexts."""
INCONSISTENT = tuple(round(rate * SIZE) for rate in RATES)
"""Inconsistent responses of each system; halves are rounded to even."""


def contexts_of(judged: Iterable[Response], measure: str) -> list[tuple[float, float]]:
    """Return the (consistent, inconsistent) scores of contexts that have both, in file order.

    If a context has several scored responses of one kind, the first one is used.
    """
    found: dict[str, dict[bool, float]] = {}
    for each in judged:
        score = each.scores.get(measure)
        if each.context is not None and each.inconsistent is not None and score is not None:
            found.setdefault(each.context, {}).setdefault(each.inconsistent, score)
    return [(scores[False], scores[True]) for scores in found.values() if len(scores) == 2]


def system_level(
    contexts: Sequence[tuple[float, float]],
    *,
    iterations: int = 1000,
    seed: int = 0,
    official: bool = False,
) -> dict[str, Any] | None:
    """Rank simulated systems by a measure, in many iterations; `contexts_of` gives the contexts.

    `official` samples as the released code does (pandas and numpy's global generator), which
    reproduces its results for a seed.

    The result, None without a context, has the mean correlation (``spearman``) of the systems'
    scores with their true order; ``unscored``, the number of iterations in which all systems have
    the same score; and ``gap``, the mean score of consistent responses minus that of inconsistent
    ones.
    """
    if not contexts:
        return None
    scores = np.asarray(contexts, dtype=np.float64)  # [contexts, 2]
    worse = scores[:, 0] - scores[:, 1]
    means = np.empty((iterations, len(RATES)))
    for row, (drawn, replaced) in enumerate(_draws(len(scores), iterations, seed, official)):
        whole, loss = scores[drawn, 0].sum(), worse[drawn]
        for column, places in enumerate(replaced):
            means[row, column] = (whole - loss[places].sum()) / SIZE
    known = spearman_rows(means, [-rate for rate in RATES])
    return {
        "contexts": len(scores),
        "spearman": float(np.mean(known)) if known else None,
        "interval": list(percentile_interval(known)) if known else None,
        "unscored": iterations - len(known),
        "gap": float(scores[:, 0].mean() - scores[:, 1].mean()),
    }


def _draws(
    contexts: int, iterations: int, seed: int, official: bool
) -> Iterator[tuple[NDArray[np.int64], list[NDArray[np.int64]]]]:
    """Yield the contexts of each iteration, and the inconsistent positions of each system."""
    # The legacy generator, seeded like numpy's global one but independent of it.
    generator: Any = np.random.RandomState(seed) if official else np.random.default_rng(seed)
    for _ in range(iterations):
        if official:
            drawn = generator.choice(contexts, size=SIZE, replace=True)
        else:
            drawn = generator.integers(contexts, size=SIZE)
        yield drawn, [generator.choice(SIZE, size=count, replace=False) for count in INCONSISTENT]


def spearman_rows(rows: NDArray[np.float64], reference: Sequence[float]) -> list[float]:
    """Return Spearman's correlation of each row with a reference; omit rows of equal values.

    Unlike scipy's function, it handles many rows at once, and equal correlations are exactly equal.
    """
    stats = require("scipy.stats", extra="eval", purpose="Spearman's correlation")
    # Doubled ranks and their mean, n + 1, are whole numbers, so products are exact.
    left = 2 * stats.rankdata(rows, axis=1) - (rows.shape[1] + 1)
    right = 2 * stats.rankdata(reference) - (rows.shape[1] + 1)
    spread = np.sqrt((left**2).sum(axis=1) * (right**2).sum())
    found = (left @ right)[spread > 0] / spread[spread > 0]
    return [float(each) for each in np.clip(found, -1.0, 1.0)]


def rating_level(judged: Iterable[Response], measure: str) -> dict[str, Any] | None:
    """Correlate one measure with the ratings of responses; None if none has both."""
    pairs = [
        (score, each.rating)
        for each in judged
        if each.rating is not None and (score := each.scores.get(measure)) is not None
    ]
    if not pairs:
        return None
    scores, ratings = zip(*pairs, strict=True)
    return {
        "n": len(pairs),
        "pearson": correlation(scores, ratings).value,
        "spearman": correlation(scores, ratings, ranks=True).value,
    }


def three_way(
    judged: Iterable[Response], measure: str, *thresholds: float
) -> dict[str, Any] | None:
    """Sort responses into contradicted, neutral and entailed ones by one measure, as for DNLI.

    A score up to the first threshold means contradicted, a score above the second one entailed.
    Unless there are two thresholds, those with the highest accuracy on these responses are
    ``chosen``. None unless the ratings are 0 (contradicted), 0.5 (neutral) and 1 (entailed).
    """
    pairs = [
        (each.rating, score)
        for each in judged
        if each.rating is not None and (score := each.scores.get(measure)) is not None
    ]
    if not {0.5} <= {rating for rating, _ in pairs} <= {0.0, 0.5, 1.0}:
        return None
    ratings = np.array([rating for rating, _ in pairs])
    scores = np.round(_to_unit_interval(np.array([s for _, s in pairs]), measure), _DECIMALS)
    given = len(thresholds) == 2
    at = np.sort(thresholds) if given else np.concatenate([[-1.0], np.unique(scores)])
    sizes = [int((ratings == rating).sum()) for rating in (0.0, 0.5, 1.0)]
    no, neutral, yes = (
        np.searchsorted(np.sort(scores[ratings == rating]), at, side="right")
        for rating in (0.0, 0.5, 1.0)
    )
    lower, upper = no - neutral, neutral - yes  # what each threshold adds to the right ones
    low, high = 0, 1
    if not given:
        high = int(np.argmax(np.maximum.accumulate(lower) + upper))
        low = int(np.argmax(lower[: high + 1]))
    right = (no[low], neutral[high] - neutral[low], sizes[2] - yes[high])
    names = ("contradicted", "neutral", "entailed")
    return {
        "n": len(pairs),
        "thresholds": [float(at[low]), float(at[high])],
        "chosen": not given,
        "accuracy": int(sum(right)) / len(pairs),
        "recall": {
            name: int(hits) / size if size else None
            for name, hits, size in zip(names, right, sizes, strict=True)
        },
    }


def annotation_counts(judged: Iterable[Response]) -> dict[str, Any]:
    """Count contexts with responses from several systems, and inconsistent responses by system.

    In ``both`` contexts, all responses are inconsistent.
    """
    labels: dict[str, list[bool]] = {}
    systems: dict[str, int] = {}
    for each in judged:
        if each.context is not None and each.inconsistent is not None:
            labels.setdefault(each.context, []).append(each.inconsistent)
            name = each.system or ""
            systems[name] = systems.get(name, 0) + each.inconsistent
    return {
        "contexts": len(labels),
        "inconsistent": systems,
        "exactly_one": sum(found.count(True) == 1 for found in labels.values()),
        "both": sum(all(found) for found in labels.values()),
        "none": sum(not any(found) for found in labels.values()),
    }
