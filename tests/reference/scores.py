"""A plain implementation of the QuoteSum scores, in loops over rouge-score.

The tests hold `semqa.metrics` equal to this, and the benchmark times it. The loops are those of the
released scorer: each of the sources 1-7 and each measure is a pass of its own over all pairs of
texts, and a pass prepares both texts anew. A mean is taken of the sources that count.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import TYPE_CHECKING

from rouge_score.rouge_scorer import RougeScorer

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

SOURCES = range(1, 8)
ROUGE = RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"])


def strip_marks(text: str) -> str:
    return re.sub(r"\[ [1-9] ([^\[\]]*) \]", lambda mark: mark.group(1), text)


def normalise(text: str) -> str:
    spaced = "".join(" " if c in string.punctuation else c for c in text.lower())
    return " ".join(re.sub(r"\b(the|an|a)\b", " ", spaced).split())


def quoted_words(text: str, source: int) -> list[str]:
    spans = re.findall(rf"\[ {source} ([^\[\]]*) \]", text)
    return normalise(" ".join(spans)).split()


def token_overlap(target: Sequence[str], prediction: Sequence[str]) -> tuple[float, float, float]:
    """Return F1, recall and precision of two bags of words."""
    shared = 0
    left = Counter(target)
    for word in prediction:
        if left[word] > 0:
            left[word] -= 1
            shared += 1
    if not target and not prediction:
        return 1.0, 1.0, 1.0
    if not target:
        return 0.0, 1.0, 0.0
    if not prediction:
        return 0.0, 0.0, 1.0
    recall, precision = shared / len(target), shared / len(prediction)
    f1 = 2 * precision * recall / (precision + recall) if shared else 0.0
    return f1, recall, precision


def rouge_scores(references: Sequence[str], prediction: str) -> dict[str, float]:
    """Return the four F-measures, 0-100, against the reference of the highest ROUGE-Lsum."""
    stripped = strip_marks(prediction)
    scored = [ROUGE.score(strip_marks(text), stripped) for text in references]
    closest = max(scored, key=lambda row: row["rougeLsum"].fmeasure)
    return {metric: 100 * result.fmeasure for metric, result in closest.items()}


def best_overlap(targets: Sequence[str], prediction: str, source: int, measure: int) -> float:
    """Return the highest F1, recall or precision (0, 1, 2) over the targets, for one source."""
    return max(
        token_overlap(quoted_words(target, source), quoted_words(prediction, source))[measure]
        for target in targets
    )


def sem_f1(references: Sequence[str], prediction: str, present: Collection[int]) -> float:
    best = {
        source: [best_overlap(references, prediction, source, measure) for measure in (0, 1, 2)]
        for source in SOURCES
    }
    return 100 * sum(best[source][0] for source in present) / len(present)


def sem_recall(short_answers: Sequence[str], prediction: str) -> float | None:
    if not any(short_answers):
        return None
    best = {source: best_overlap(short_answers, prediction, source, 1) for source in SOURCES}
    named = [k for k in SOURCES if any(quoted_words(text, k) for text in short_answers)]
    return 100 * sum(best[source] for source in named) / len(named) if named else None


def scores(
    prediction: str,
    references: Sequence[str],
    short_answers: Sequence[str],
    present: Sequence[int],
) -> dict[str, float | None]:
    """Score one prediction; every source in `present` is below 8."""
    return {
        **rouge_scores(references, prediction),
        "sem_f1": sem_f1(references, prediction, present),
        "sem_recall": sem_recall(short_answers, prediction),
    }
