"""Finding quotes in their sources: all occurrences, and the one that is meant.

A human span stands more than once in its source in about one case of seven, so "the first one" is
often the wrong one. The rule here:

1. A quote is looked for in the body; in the title only when the body does not hold it.
2. Where the text stands more than once, the place nearest to a neighbouring quote of the same
   source and field is taken. The neighbours are the quote before it in the answer (already
   placed) and the next one after it that stands in one place only. Distance is the number of
   characters between the two spans (0 where they overlap); ties go to the place whose beginning is
   nearer to the neighbour's, then to the earlier one.
3. Without a neighbour, the first place is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.quotes.quote import Occurrence
from semqa.quotes.source import FIELDS, Field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.quotes.source import Source

__all__ = ["MAX_OCCURRENCES", "Locator"]

MAX_OCCURRENCES = 1_000
"""At most this many places are listed for one quote, the first ones in order."""

MAX_LISTED = 100_000
"""At most this many places are listed for all quotes of one answer together."""


class Locator:
    """Places the quotes of one answer in its sources.

    Args:
        spans: the quotes of the answer in order, each as (index of the source from 0, text).
            Every index must be valid and every text non-empty.
        sources: the sources of the answer.
    """

    def __init__(self, spans: Sequence[tuple[int, str]], sources: Sequence[Source]) -> None:
        self._sources = sources
        self._spans = spans
        self._listed: dict[tuple[int, str], tuple[Occurrence, ...]] = {}
        self._firsts: dict[tuple[int, str], Occurrence | None] = {}
        self._budget = MAX_LISTED

    def places(self) -> list[Occurrence | None]:
        """Return the chosen place of each quote; None where its source does not hold it."""
        first = [self._first(index, text) for index, text in self._spans]
        following = self._next_anchors(first)
        placed: list[Occurrence | None] = []
        previous: dict[int, Occurrence] = {}
        for at, (index, text) in enumerate(self._spans):
            place = first[at]
            if place is not None:
                anchors = [
                    anchor
                    for anchor in (previous.get(index), following[at])
                    if anchor is not None and anchor.field == place.field
                ]
                haystack = self._sources[index].field(place.field)
                place = _nearest(haystack, text, place, anchors)
                previous[index] = place
            placed.append(place)
        return placed

    def occurrences(self, index: int, text: str) -> tuple[Occurrence, ...]:
        """List the places of a text in one source, body first, overlapping ones included."""
        key = (index, text)
        if key not in self._listed:
            limit = min(MAX_OCCURRENCES, self._budget)
            found: list[Occurrence] = []
            for name in FIELDS:
                found += _find_all(self._sources[index].field(name), text, name, limit - len(found))
            self._budget -= len(found)
            self._listed[key] = tuple(found)
        return self._listed[key]

    def _first(self, index: int, text: str) -> Occurrence | None:
        key = (index, text)
        if key not in self._firsts:
            found = (_find_all(self._sources[index].field(n), text, n, 1) for n in FIELDS)
            self._firsts[key] = next((places[0] for places in found if places), None)
        return self._firsts[key]

    def _next_anchors(self, first: Sequence[Occurrence | None]) -> list[Occurrence | None]:
        """For each quote, the next quote of the same source that stands in one place only."""
        anchors: list[Occurrence | None] = [None] * len(first)
        ahead: dict[int, Occurrence] = {}
        for at in range(len(first) - 1, -1, -1):
            index, text = self._spans[at]
            anchors[at] = ahead.get(index)
            place = first[at]
            if place is not None:
                haystack = self._sources[index].field(place.field)
                if haystack.find(text, place.start + 1) < 0:
                    ahead[index] = place
        return anchors


def _find_all(haystack: str, text: str, field: Field, limit: int) -> list[Occurrence]:
    found: list[Occurrence] = []
    start = haystack.find(text)
    while start >= 0 and len(found) < limit:
        found.append(Occurrence(field, start, start + len(text)))
        start = haystack.find(text, start + 1)
    return found


def _nearest(
    haystack: str, text: str, first: Occurrence, anchors: Sequence[Occurrence]
) -> Occurrence:
    """Choose by rule 2; searching outwards from the anchors, so that no list is needed."""
    size = len(text)
    best: tuple[int, int, int] | None = None
    for anchor in anchors:
        before = haystack.rfind(text, 0, anchor.start + size)
        after = haystack.find(text, anchor.start)
        for start in (before, after):
            if start >= 0:
                gap = max(0, anchor.start - (start + size), start - anchor.end)
                distance = (gap, abs(start - anchor.start), start)
                best = distance if best is None else min(best, distance)
    start = first.start if best is None else best[-1]
    return Occurrence(first.field, start, start + size)
