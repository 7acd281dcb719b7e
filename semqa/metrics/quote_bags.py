"""Bags of quoted words, source by source: what Sem-F1 and Sem-Rec compare.

Sem-F1 compares the words that the prediction quotes from a source with those that each reference
quotes from it, and takes the best reference for each source and measure on its own. Sem-Rec asks
the same of the short answers, recall only. A source that prediction and reference both leave alone
is in full agreement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.metrics.lcs import shared_tokens
from semqa.metrics.tokens import Overlap

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

__all__ = [
    "SourceBags",
    "harmonic_f1",
    "mean_f1",
    "mean_recall",
    "named_sources",
    "scored_sources",
]

OFFICIAL_SOURCES = range(1, 8)
"""The only sources that the official Sem-F1 and Sem-Rec look at."""


class SourceBags:
    """For each source that is scored, the bags of words that some texts quote from it.

    Args:
        texts: for each text its bags by source.
        sources: the sources to score, in the order of the answers.
    """

    __slots__ = ("_bags",)

    def __init__(self, texts: Collection[Mapping[int, str]], sources: Iterable[int]) -> None:
        # Texts that quote the same words need comparing once.
        self._bags = [(source, {text.get(source, "") for text in texts}) for source in sources]

    def best(self, predicted: Mapping[int, str]) -> list[Overlap]:
        """Return for each source, in order, the best F1, recall and precision over the texts.

        Each of the three is a maximum of its own, so they may come from different texts.

        Args:
            predicted: the bags of the prediction, of the same vocabulary.
        """
        return [_best_overlap(bags, predicted.get(source, "")) for source, bags in self._bags]


def named_sources(texts: Iterable[Mapping[int, str]], *, all_sources: bool) -> list[int]:
    """Return the sources that count for Sem-Rec: those for which some text has a short answer."""
    named = [source for text in texts for source, bag in text.items() if bag]
    return scored_sources(named, all_sources=all_sources)


def scored_sources(sources: Iterable[int], *, all_sources: bool) -> list[int]:
    """Return the sources that Sem-F1 and Sem-Rec look at, ascending."""
    return sorted(set(sources) if all_sources else set(sources).intersection(OFFICIAL_SOURCES))


def mean_f1(overlaps: Sequence[Overlap]) -> float:
    """Return Sem-F1, 0-100, of the overlaps of all sources of a question."""
    return 100 * sum(overlap.f1 for overlap in overlaps) / len(overlaps)


def mean_recall(overlaps: Sequence[Overlap]) -> float:
    """Return Sem-Rec, 0-100, of the overlaps of all sources with a short answer."""
    return 100 * sum(overlap.recall for overlap in overlaps) / len(overlaps)


def harmonic_f1(overlaps: Sequence[Overlap]) -> float:
    """Return the harmonic mean, 0-100, of the recalls and precisions of all sources."""
    values = [value for overlap in overlaps for value in (overlap.recall, overlap.precision)]
    return 100 * len(values) / sum(1 / value for value in values) if all(values) else 0.0


def _best_overlap(bags: Collection[str], predicted: str) -> Overlap:
    """Return the maximum of each measure of `token_overlap` over bags in sorted, encoded form."""
    if not predicted:
        agrees = float("" in bags)
        return Overlap(f1=agrees, recall=agrees, precision=1.0)
    size = len(predicted)
    f1 = recall = 0.0
    most_shared = 0
    for bag in bags:
        wanted = len(bag)
        shared = shared_tokens(bag, predicted)
        if not wanted:
            recall = 1.0
        elif shared:
            # Conditions, as calls of max() would take most of the time here.
            if (bag_f1 := 2 * shared / (wanted + size)) > f1:
                f1 = bag_f1
            if (bag_recall := shared / wanted) > recall:
                recall = bag_recall
            most_shared = max(most_shared, shared)
    return Overlap(f1, recall, most_shared / size)
