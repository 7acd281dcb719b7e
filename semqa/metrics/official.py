"""The official scorer's own interface, list by list, with its defects.

For whoever needs exactly the released scorer's behaviour on parallel lists: lists of unequal length
are cut to the shorter without a word, an empty corpus is NaN, a question without references raises.
`semqa.metrics.score` is the interface for everyone else.

Source: google-research-datasets/QuoteSum, evals/scorers.py and evals/semqa_metrics.ipynb. Differs
in leaving numpy's global generator alone, which the original seeds on each call.
"""

from __future__ import annotations

import math
from statistics import StatisticsError, fmean
from typing import TYPE_CHECKING

from semqa.metrics.rouge import RougeScores, RougeText, Vocabulary, closest_rouge
from semqa.metrics.scores import (
    NoReferenceError,
    SourceBags,
    bags_of_quotes,
    harmonic_f1,
    mean_f1,
    mean_recall,
    named_sources,
    scored_sources,
)
from semqa.metrics.text import strip_marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.metrics.scores import ExampleScores

SEED = 1337
RESAMPLES = 1000


def official_rouge(
    references: Sequence[Sequence[str]], predictions: Sequence[str]
) -> list[RougeScores]:
    """Score each prediction by ROUGE, as ``score_all_rouge`` does without its bootstrap."""
    _check_references(references, predictions)
    rows = []
    for texts, prediction in zip(references, predictions, strict=False):
        vocabulary = Vocabulary()
        encoded = [RougeText.read(strip_marks(t), vocabulary.learn) for t in texts]
        stripped = strip_marks(prediction)
        rows.append(closest_rouge(encoded, RougeText.read(stripped, vocabulary.encode)))
    return rows


def rouge_percentiles(scores: Sequence[RougeScores]) -> dict[str, tuple[float, float, float]]:
    """Return (mid, low, high) of each ROUGE score, as ``score_all_rouge(bootstrap=True)`` does.

    They are the 50, 2.5 and 97.5 percentiles of 1,000 bootstrap means; the authors' notebook
    prints the first. All four come from one stream of draws with the seed 1337.
    """
    import numpy as np

    generator = np.random.RandomState(SEED)
    percentiles = {}
    for metric in ("rouge1", "rouge2", "rougeLsum", "rougeL"):
        values = np.array([getattr(row, metric) for row in scores])
        means = [
            values[generator.randint(0, len(values), size=len(values))].mean()
            for _ in range(RESAMPLES)
        ]
        low, mid, high = np.percentile(means, [2.5, 50, 97.5])
        percentiles[metric] = (float(mid), float(low), float(high))
    return percentiles


def official_sem_f1(
    references: Sequence[Sequence[str]],
    predictions: Sequence[str],
    present: Sequence[Sequence[int]],
    *,
    harmonic: bool = False,
) -> float:
    """Return the corpus Sem-F1, as ``score_semqa_f1`` does.

    `present` has the numbers of each question's sources; as many means are averaged. The harmonic mean
    is that of all precisions and recalls of a question.

    Returns:
        0-100, or NaN: of an empty corpus, and when a question has none of the sources 1-7.

    Raises:
        NoReferenceError: a question has no reference (a ValueError, as the original's).
        IndexError: there are more questions in `present` than pairs.
        StatisticsError: with `harmonic`, a question has none of the sources 1-7.
    """
    _check_references(references, predictions)
    pairs = list(zip(references, predictions, strict=False))
    values = []
    for place, numbers in enumerate(present):
        sources = scored_sources(numbers, all_sources=False)
        if not sources:
            if harmonic:
                raise StatisticsError("harmonic_mean requires at least one data point")
            return math.nan
        texts, prediction = pairs[place]
        vocabulary = Vocabulary()
        bags = SourceBags([_learn(text, vocabulary) for text in texts], sources)
        overlaps = bags.best(bags_of_quotes(prediction, vocabulary))
        values.append(harmonic_f1(overlaps) if harmonic else mean_f1(overlaps))
    return _mean_or_nan(values)


def official_sem_recall(
    short_answers: Sequence[Sequence[str]], predictions: Sequence[str]
) -> float:
    """Return the corpus Sem-Rec, as ``score_semqa_short_recall`` does.

    Returns:
        0-100 over the questions with a short answer, or NaN: when there is no such question, and
        when one of them has no short answer marked with a source 1-7.
    """
    values = []
    for shorts, prediction in zip(short_answers, predictions, strict=False):
        vocabulary = Vocabulary()
        texts = [_learn(text, vocabulary) for text in shorts]
        sources = named_sources(texts, all_sources=False)
        if sources:
            predicted = bags_of_quotes(prediction, vocabulary)
            values.append(mean_recall(SourceBags(texts, sources).best(predicted)))
        elif any(shorts):
            return math.nan
    return _mean_or_nan(values)


def published_figures(rows: Sequence[ExampleScores]) -> dict[str, float]:
    """Return the figures that the authors' notebook prints for rows scored with ``official=True``.

    ROUGE is the middle of the bootstrap means, not the mean; so is the ROUGE-Lsum in SEMQA. Every figure
    is NaN when there are no rows.
    """
    scored = [
        RougeScores(row.rouge1, row.rouge2, row.rougeL, row.rougeLsum)
        for row in rows
        if row.rouge1 is not None
        and row.rouge2 is not None
        and row.rougeL is not None
        and row.rougeLsum is not None
    ]
    percentiles = rouge_percentiles(scored) if scored else {}
    figures = {
        metric: percentiles[metric][0] if scored else math.nan
        for metric in ("rouge1", "rouge2", "rougeLsum")
    }
    for metric in ("sem_f1", "sem_recall"):
        figures[metric] = _mean_or_nan([v for row in rows if (v := row.value(metric)) is not None])
    figures["semqa"] = math.sqrt(figures["sem_f1"] * figures["rougeLsum"])
    return figures


def _check_references(references: Sequence[Sequence[str]], predictions: Sequence[str]) -> None:
    for place, (texts, _) in enumerate(zip(references, predictions, strict=False), start=1):
        if not texts:
            raise NoReferenceError(f"Question {place} has no reference.")


def _learn(text: str, vocabulary: Vocabulary) -> dict[int, str]:
    return bags_of_quotes(text, vocabulary, learn=True)


def _mean_or_nan(values: Sequence[float]) -> float:
    return fmean(values) if values else math.nan
