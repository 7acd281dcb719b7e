"""The figures printed by the notebook of QuoteSum's authors.

Source: google-research-datasets/QuoteSum, evals/scorers.py and evals/semqa_metrics.ipynb. Unlike
the original, this does not seed numpy's global generator.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.metrics.scores import ExampleScores

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
