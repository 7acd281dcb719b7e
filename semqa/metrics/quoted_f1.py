"""Sem-F1 over the sources that somebody quotes: a stricter companion of Sem-F1, not the paper's.

Sem-F1 counts a source that prediction and some reference leave alone as full agreement, so an
answer that quotes nothing scores 39 points on QuoteSum's dev split. Here such a source counts
nowhere, and a source that somebody quotes and the prediction does not is a miss: what quotes nothing
scores 0.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from semqa.metrics.lcs import Vocabulary, shared_tokens
from semqa.metrics.marked_text import bags_of_quotes
from semqa.metrics.quote_bags import scored_sources

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from semqa.metrics.example import Example

__all__ = ["NOBODY_QUOTES", "QuotedScores", "quoted_f1", "quoted_leave_one_out"]

NOBODY_QUOTES = "nobody quotes a source"


class QuotedScores(NamedTuple):
    """Scores over the sources that prediction or references quote, 0-100; None without any.

    Attributes:
        f1: mean over these sources of the best F1 over the references that quote it.
        precision: mean of the best precisions over the sources that the prediction quotes; None
            where it quotes none.
        recall: mean of the best recalls over the sources that some reference quotes; None where
            none does.
    """

    f1: float | None
    precision: float | None
    recall: float | None


def quoted_f1(example: Example, *, all_sources: bool = False) -> QuotedScores:
    """Score one prediction over the sources that somebody quotes.

    Somebody is the prediction, or a reference that quotes a present source. A source that the
    question does not come with, and the prediction quotes, scores 0: no reference agrees. Marks,
    words and their comparison are those of Sem-F1, and so is the limit to sources 1 to 7.

    Args:
        example: the prediction and what it is compared with.
        all_sources: score the sources beyond 7 too.

    Example:
        >>> from semqa.metrics import Example
        >>> asked = Example("q1", "", ("By [ 1 Crosby ].",), ("",), (1, 2))
        >>> quoted_f1(asked).f1
        0.0
        >>> from dataclasses import replace
        >>> quoted_f1(replace(asked, prediction="By [ 1 Crosby ] [ 2 x ].")).f1
        50.0
    """
    vocabulary = Vocabulary()
    references = [
        bags_of_quotes(text, vocabulary, learn=True, all_sources=all_sources)
        for text in example.references
    ]
    predicted = bags_of_quotes(example.prediction, vocabulary, learn=True, all_sources=all_sources)
    return _scores(predicted, references, example.present, all_sources)


def quoted_leave_one_out(
    references: Sequence[str], present: Iterable[int], *, all_sources: bool = False
) -> list[QuotedScores]:
    """Score each reference of a question against the others, as the human row does.

    A question with a single reference gives one row without scores.
    """
    if len(references) < 2:
        return [QuotedScores(None, None, None) for _ in references]
    vocabulary = Vocabulary()
    present = tuple(present)
    bags = [
        bags_of_quotes(text, vocabulary, learn=True, all_sources=all_sources) for text in references
    ]
    return [
        _scores(own, [*bags[:k], *bags[k + 1 :]], present, all_sources)
        for k, own in enumerate(bags)
    ]


def _scores(
    predicted: Mapping[int, str],
    references: Sequence[Mapping[int, str]],
    present: Collection[int],
    all_sources: bool,
) -> QuotedScores:
    wanted = {source for bags in references for source, bag in bags.items() if bag}
    wanted &= set(present)
    given = {source for source, bag in predicted.items() if bag}
    sources = scored_sources(wanted | given, all_sources=all_sources)
    f1, precision, recall = [], [], []
    for source in sources:
        said = predicted.get(source, "")
        best = (0.0, 0.0, 0.0)
        if source in wanted:
            own = {bags[source] for bags in references if bags.get(source)}
            compared = [_overlap(bag, said) for bag in own]
            best = (
                max(each[0] for each in compared),
                max(each[1] for each in compared),
                max(each[2] for each in compared),
            )
            recall.append(best[2])
        if said:
            precision.append(best[1])
        f1.append(best[0])
    return QuotedScores(*(100 * fmean(part) if part else None for part in (f1, precision, recall)))


def _overlap(wanted: str, said: str) -> tuple[float, float, float]:
    """Return F1, precision and recall of two bags in sorted, encoded form; none of them empty."""
    shared = shared_tokens(wanted, said) if said else 0
    if not shared:
        return 0.0, 0.0, 0.0
    return 2 * shared / (len(wanted) + len(said)), shared / len(said), shared / len(wanted)
