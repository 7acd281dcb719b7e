"""Find quotes in their sources, or the passages most similar to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from semqa.quotes.quote import FIELDS, Field, Occurrence, Source

MAX_OCCURRENCES = 1_000
"""Maximum number of occurrences listed for one quote."""

MAX_LISTED = 100_000
"""Maximum number of occurrences listed for all quotes of one answer."""


class Locator:
    """Finds the places of an answer's quotes in its sources.

    Args:
        spans: the quotes of the answer in order, each as (index of the source from 0, text).
            Every index must be valid and every text non-empty.
    """

    def __init__(self, spans: Sequence[tuple[int, str]], sources: Sequence[Source]) -> None:
        self._sources = sources
        self._spans = spans
        self._listed: dict[tuple[int, str], tuple[Occurrence, ...]] = {}
        self._firsts: dict[tuple[int, str], Occurrence | None] = {}
        self._budget = MAX_LISTED

    def places(self) -> list[Occurrence | None]:
        """Return the chosen place of each quote; None if its source does not contain it."""
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
        """Return the occurrences of a text in one source, body first; they may overlap."""
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
        """Return for each quote the next quote of the same source that occurs only once."""
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
    """Return the place nearest to an anchor; without anchors, the first one."""
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


MAX_TEXT = 300
"""Only this many characters of a text are aligned."""

BUDGET = 50_000_000
"""Work that one search may do, in source characters: about a second."""

MAX_WIDENING = 30
"""Maximum number of characters added at either end of a passage to complete a word."""


class Nearest(NamedTuple):
    """A passage similar to a text: ``sources[source - 1].field(field)[start:end]``.

    Attributes:
        similarity: from 0 (nothing in common) to 1 (equal), by insertions and deletions, before
            the passage was widened to whole words.
    """

    source: int
    field: Field
    start: int
    end: int
    similarity: float


class NearestSearch:
    """Finds the source passage most similar to a text.

    This helps readers see where a wrong quote comes from; it never makes a quote verified. Once the
    budget is used up, it finds nothing more and sets `exhausted`.

    Example:
        >>> from semqa import Source
        >>> source = Source("Sales rose by 5% in 2014.")
        >>> near = NearestSearch([source]).find("rose by 6% in 2014")
        >>> source.text[near.start : near.end], round(near.similarity, 2)
        ('rose by 5% in 2014', 0.94)
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._budget = BUDGET
        self._found: dict[str, Nearest | None] = {}
        self._size = sum(len(source.field(name)) for source in sources for name in FIELDS)
        self.exhausted = False

    def find(self, text: str) -> Nearest | None:
        """Return the passage most similar to a text; ties go to the first.

        Returns:
            None if they have no character in common, or the budget is used up.
        """
        needle = text[:MAX_TEXT]
        if needle not in self._found:
            # Alignment takes a step per source character and per 64 characters of the text.
            work = self._size * (1 + len(needle) // 64)
            if work > self._budget:
                self.exhausted = True
                return None
            self._budget -= work
            self._found[needle] = self._best(needle)
        return self._found[needle]

    def _best(self, needle: str) -> Nearest | None:
        from rapidfuzz.fuzz import partial_ratio_alignment, ratio

        best: Nearest | None = None
        for number, source in enumerate(self._sources, start=1):
            for name in FIELDS:
                haystack = source.field(name)
                cutoff = 0.0 if best is None else best.similarity * 100
                if len(haystack) < len(needle):
                    score, start, end = ratio(needle, haystack), 0, len(haystack)
                else:
                    found = partial_ratio_alignment(needle, haystack, score_cutoff=cutoff)
                    if found is None:
                        continue
                    score, start, end = found.score, found.dest_start, found.dest_end
                if score > cutoff:
                    best = Nearest(number, name, *_whole_words(haystack, start, end), score / 100)
        return best


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span to whole words, by at most `MAX_WIDENING` characters at either end."""
    for _ in range(MAX_WIDENING):
        if 0 < start < len(text) and text[start - 1].isalnum() and text[start].isalnum():
            start -= 1
        if 0 < end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
            end += 1
    return start, end
