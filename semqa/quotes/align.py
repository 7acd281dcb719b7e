"""Finding what a source really says where a quote is nearly, but not quite, verbatim.

A written span and a passage are compared word by word (`semqa.quotes.words`). Words that differ in
case, form of Unicode or the punctuation around them are the same. Besides,

- little words (articles, “and”, “that”) may be added or left out;
- other words of the passage may be left out, but for numbers, names, negations and the like;
- a plain word may have one typing error, unless what is written is a word of the sources.

Nothing else may differ, so that “6%” never becomes “5%”, nor “Anna” “Anne”, and no “not” comes or goes.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from semqa.quotes.source import FIELDS, Field
from semqa.quotes.words import Kind, Word, is_typo, read_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.quotes.source import Source

__all__ = ["MAX_DISTANCE", "Aligner", "Passage"]

MAX_DISTANCE = 0.15
"""Characters added or left out with whole words, to those of both texts: above it, no repair."""

MAX_WORDS = 300
"""Longer spans are not repaired."""

MAX_SOURCE_CHARACTERS = 4_000_000
"""Sources that are longer together are not searched."""

BUDGET = 3_000_000
"""Pairs of words that one aligner compares, all spans together: seconds of work."""

_PAIRS = (("(", ")"), ("“", "”"), ("«", "»"), ("„", "“"), ('"', '"'))
_MAX_PLACES = 200
_IMPOSSIBLE = 1 << 30
_TYPO = 2


class Passage(NamedTuple):
    """What a source says where a span was written: ``source.field(field)[start:end]``.

    Attributes:
        distance: insertions and deletions of characters from what was written to the passage, to
            the characters of both: from 0 (the same) to 1.
    """

    field: Field
    start: int
    end: int
    distance: float


class _Text:
    """One field of a source, in words."""

    def __init__(self, name: Field, text: str) -> None:
        self.name = name
        self.text = text

    @cached_property
    def words(self) -> list[Word]:
        return read_words(self.text)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for place, word in enumerate(self.words):
            found.setdefault(word.key, []).append(place)
        return found


class _Match(NamedTuple):
    cost: int
    first: int
    last: int


class Aligner:
    """Finds, for one span after the other, the passage of a source that it was meant to be.

    Its work is bounded: when `BUDGET` is used up it finds nothing more, and says so.

    Args:
        sources: the numbered sources.

    Attributes:
        exhausted: whether a span was not looked for, because that would have been too much work.

    Example:
        >>> from semqa import Source
        >>> source = Source("Sales rose by 5% in the north, and then fell.")
        >>> place = Aligner([source]).find("sales  rose by 5% in north", 1)
        >>> source.text[place.start : place.end]
        'Sales rose by 5% in the north'
        >>> Aligner([source]).find("sales rose by 6% in the north", 1) is None
        True
    """

    def __init__(self, sources: Sequence[Source], budget: int = BUDGET) -> None:
        self._texts = [
            [_Text(name, source.field(name)) for name in FIELDS if source.field(name)]
            for source in sources
        ]
        size = sum(len(text.text) for texts in self._texts for text in texts)
        self._budget = budget if size <= MAX_SOURCE_CHARACTERS else 0
        self._found: dict[tuple[str, int], Passage | None] = {}
        self.exhausted = False

    def find(self, span: str, number: int) -> Passage | None:
        """Return the passage of a source that a span was meant to be.

        Args:
            span: the span as written.
            number: of the source, from 1.

        Returns:
            None where the source says nothing like it, where it says two different things that are
            equally like it, or where looking for it would be too much work.
        """
        key = (span, number)
        if key not in self._found:
            self._found[key] = self._find(span, self._texts[number - 1])
        return self._found[key]

    def _find(self, span: str, texts: Sequence[_Text]) -> Passage | None:
        if self._budget <= 0:
            self.exhausted = True
            return None
        words = read_words(span)
        if not words or len(words) > MAX_WORDS or all(w.kind is Kind.LITTLE for w in words):
            return None
        best: tuple[int, str] | None = None
        found: list[Passage] = []
        for text in texts:
            for match in self._matches(words, text):
                said = " ".join(word.key for word in text.words[match.first : match.last + 1])
                if best is None or match.cost < best[0]:
                    best, found = (match.cost, said), []
                if (match.cost, said) == best:
                    found.extend(_passage(span, words, text, match))
                elif match.cost == best[0]:
                    return None
        # The least is changed; then the first.
        return min(found, key=lambda passage: passage.distance, default=None)

    def _matches(self, words: Sequence[Word], text: _Text) -> list[_Match]:
        """Return the best matches in one text: of equal words, if there are any."""
        anchors = _anchors(words, text)
        if not anchors:
            return []
        at, places = anchors[0]
        self._budget -= len(places)
        whole = [
            _Match(0, place - at, place - at + len(words) - 1)
            for place in places
            if _stands(words, text.words, place - at)
        ]
        if whole or len(places) > _MAX_PLACES:
            return whole
        size = sum(len(word.key) + 1 for word in words)
        most = int(2 * MAX_DISTANCE / (1 - MAX_DISTANCE) * size)
        matches: list[_Match] = []
        near = [(at, places[:_MAX_PLACES]) for at, places in anchors]
        for low, high in _windows(near, len(words), most // 2, len(text.words)):
            work = (high - low) * len(words)
            if work > self._budget:
                self.exhausted = True
                return []
            self._budget -= work
            matches += self._align(words, text.words, low, high, most)
        least = min((match.cost for match in matches), default=0)
        return [match for match in matches if match.cost == least]

    def _align(
        self, written: Sequence[Word], said: Sequence[Word], low: int, high: int, most: int
    ) -> list[_Match]:
        """Align all of what is written to a part of what is said between two places."""
        width = high - low
        # cost and first word of the cheapest way that ends with this word of the passage.
        row: list[tuple[int, int]] = [(0, low + at) for at in range(width + 1)]
        for word in written:
            extra = len(word.key) + 1 if word.kind is Kind.LITTLE else _IMPOSSIBLE
            mistyped = self._may_be_mistyped(word)
            before, row = row, [(row[0][0] + extra, low)]
            left = row[0]
            for at in range(width):
                other = said[low + at]
                cost, first = before[at]
                if word.key != other.key:
                    cost += _TYPO if mistyped and is_typo(word, other) else _IMPOSSIBLE
                best = (cost, first)
                above = before[at + 1]
                if above[0] + extra < best[0]:
                    best = (above[0] + extra, above[1])
                if other.kind is not Kind.FIXED and left[0] + len(other.key) + 1 < best[0]:
                    best = (left[0] + len(other.key) + 1, left[1])
                row.append(best)
                left = best
        least = min(cost for cost, _ in row)
        if least > most:
            return []
        size = sum(len(word.key) + 1 for word in written)
        return [
            _Match(cost, first, low + at - 1)
            for at, (cost, first) in enumerate(row)
            if cost == least and low + at > first and _is_near(cost, size, said[first : low + at])
        ]

    def _may_be_mistyped(self, word: Word) -> bool:
        """Whether a word may be mistyped: what the sources say somewhere is a word of its own."""
        return word.kind is Kind.PLAIN and not any(
            word.key in text.places for texts in self._texts for text in texts
        )


def _is_near(cost: int, size: int, said: Sequence[Word]) -> bool:
    return cost <= MAX_DISTANCE * (size + sum(len(word.key) + 1 for word in said))


def _stands(words: Sequence[Word], said: Sequence[Word], first: int) -> bool:
    """Whether the same words stand at a place of a text."""
    if first < 0 or first + len(words) > len(said):
        return False
    return all(word.key == said[first + at].key for at, word in enumerate(words))


def _anchors(words: Sequence[Word], text: _Text) -> list[tuple[int, list[int]]]:
    """Return words that a passage must hold, rarest first: (place in the span, places in the text).

    Without a fixed word, the two rarest plain ones that the text has: at most one may be mistyped
    without another that is right.
    """
    listed = [
        (at, text.places.get(word.key, []), word.kind)
        for at, word in enumerate(words)
        if word.kind is not Kind.LITTLE
    ]
    fixed = sorted(
        ((at, places) for at, places, kind in listed if kind is Kind.FIXED),
        key=lambda each: len(each[1]),
    )
    if fixed:
        return [fixed[0]] if fixed[0][1] else []
    plain = sorted(
        ((at, places) for at, places, _ in listed if places), key=lambda each: len(each[1])
    )
    return plain[:2]


def _windows(
    anchors: Iterable[tuple[int, list[int]]], length: int, slack: int, most: int
) -> list[tuple[int, int]]:
    """Return where a passage may stand around the anchors, as places of words, without overlap."""
    windows: list[tuple[int, int]] = []
    around = sorted(
        (max(0, place - at - slack), min(most, place - at + length + slack))
        for at, places in anchors
        for place in places
    )
    for low, high in around:
        if windows and low <= windows[-1][1]:
            windows[-1] = (windows[-1][0], max(high, windows[-1][1]))
        else:
            windows.append((low, high))
    return windows


def _passage(span: str, words: Sequence[Word], text: _Text, match: _Match) -> list[Passage]:
    """Return the passage of a match, with the punctuation around it that was written as well."""
    from rapidfuzz.distance import Indel

    start, end = text.words[match.first].start, text.words[match.last].end
    before, after = span[: words[0].start], span[words[-1].end :]
    for char in reversed(before):
        if start == 0 or text.text[start - 1] != char:
            break
        start -= 1
    for char in after:
        if text.text[end : end + 1] != char:
            break
        end += 1
    while start < end and text.text[start].isspace():
        start += 1
    while start < end and text.text[end - 1].isspace():
        end -= 1
    start, end = _balanced(text.text, start, end)
    passage = text.text[start:end]
    if not passage or "[" in passage or "]" in passage:
        return []
    return [Passage(text.name, start, end, Indel.normalized_distance(span, passage))]


def _balanced(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a passage by one quotation mark or parenthesis on either side that pairs one in it."""
    opening, closing = text[start - 1 : start], text[end : end + 1]
    inside = text[start:end]
    for left, right in _PAIRS:
        more = inside.count(left) - inside.count(right)
        if left == right:
            more = inside.count(left) % 2
        if more > 0 and closing == right:
            return start, end + 1
        if (more < 0 or (left == right and more)) and opening == left:
            return start - 1, end
    return start, end
