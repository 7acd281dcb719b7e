"""The corpus score that is no mean of its examples."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

from semqa.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MEANS", "corpus_semqa"]

MEANS = METRICS[:-1]
"""The scores whose corpus figure is the mean over the examples that have one."""


def corpus_semqa(pairs: Iterable[tuple[float | None, float | None]]) -> float:
    """Return SEMQA of a corpus: the geometric mean of its Sem-F1 and its ROUGE-Lsum.

    Args:
        pairs: Sem-F1 and ROUGE-Lsum of each example, 0-100; None or NaN for one that has none.

    Returns:
        SEMQA, or NaN where either has no example.

    Source: Schuster et al., SEMQA (NAACL 2024), section 4.

    Example:
        >>> corpus_semqa([(100.0, 40.0), (60.0, 60.0), (None, 50.0)])
        63.245553203367585
    """
    columns = zip(*pairs, strict=True)
    kept = [[x for x in column if x is not None and not math.isnan(x)] for column in columns]
    if not kept or not all(kept):
        return math.nan
    sem_f1, rouge = map(fmean, kept)
    return math.sqrt(sem_f1 * rouge)
