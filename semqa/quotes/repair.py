"""Repair inexact quotes in text that was generated without a constraint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from semqa.quotes.answer import QuotedAnswer, check_bounds, sources_in_words
from semqa.quotes.marks import (
    BrokenMark,
    FreePiece,
    Mark,
    MarkCutter,
    canonical_mark,
    may_be_mark,
    scan_marks,
)
from semqa.quotes.quote import FIELDS, Dropped, Field, Quote, Repair, Source
from semqa.quotes.words import Kind, Word, is_typo, read_words

MAX_DISTANCE = 0.15
"""Maximum share of the characters of both texts that are in added or removed words."""

MAX_WORDS = 300
"""Longer spans are not repaired."""

MAX_SOURCE_CHARACTERS = 4_000_000
"""If the sources are longer in total, they are not searched."""

BUDGET = 3_000_000
"""Pairs of words that one aligner may compare: seconds of work."""

_PAIRS = (("(", ")"), ("“", "”"), ("«", "»"), ("„", "“"), ('"', '"'))
_MAX_PLACES = 200
_IMPOSSIBLE = 1 << 30
_TYPO = 2


class Passage(NamedTuple):
    """The source text that a span was meant to be: ``source.field(field)[start:end]``.

    Attributes:
        distance: inserted and deleted characters, divided by the length of both texts: from 0
            (equal) to 1.
    """

    field: Field
    start: int
    end: int
    distance: float


class _Text:
    """The words of one field of a source."""

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
    """Finds the source passage that a span was meant to be.

    Attributes:
        exhausted: whether the budget ran out before every span was searched for.

    Example:
        >>> from semqa import Source
        >>> source = Source("Sales rose by 5% in the north, and then fell.")
        >>> place = Aligner([source]).find("sales  rose by 5% in north", 1)
        >>> source.text[place.start : place.end]
        'Sales rose by 5% in the north'
        >>> Aligner([source]).find("sales rose by 6% in the north", 1) is None
        True
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._texts = [
            [_Text(name, source.field(name)) for name in FIELDS if source.field(name)]
            for source in sources
        ]
        size = sum(len(text.text) for texts in self._texts for text in texts)
        self._budget = BUDGET if size <= MAX_SOURCE_CHARACTERS else 0
        self._found: dict[tuple[str, int], Passage | None] = {}
        self.exhausted = False

    def find(self, span: str, number: int) -> Passage | None:
        """Return the passage of a source that a span was meant to be.

        Returns:
            None if no passage is similar enough, if two different passages are equally similar, or
            if the budget is used up.
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
        if not words or len(words) > MAX_WORDS or all(w.kind is Kind.OPTIONAL for w in words):
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
        # The smallest change wins; among equals, the first.
        return min(found, key=lambda passage: passage.distance, default=None)

    def _matches(self, words: Sequence[Word], text: _Text) -> list[_Match]:
        """Return the best matches in one text, exact ones if there are any."""
        anchors = _anchors(words, text)
        if not anchors:
            return []
        at, places = anchors[0]
        self._budget -= len(places)
        whole = [
            _Match(0, place - at, place - at + len(words) - 1)
            for place in places
            if _matches_at(words, text.words, place - at)
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
        """Align all written words to a run of source words between two places."""
        width = high - low
        # Cost and first word of the cheapest alignment that ends at each word.
        row: list[tuple[int, int]] = [(0, low + at) for at in range(width + 1)]
        for word in written:
            extra = len(word.key) + 1 if word.kind is Kind.OPTIONAL else _IMPOSSIBLE
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
        """Return whether a word may be a typing error; a word that any source uses is not."""
        return word.kind is Kind.PLAIN and not any(
            word.key in text.places for texts in self._texts for text in texts
        )


def _is_near(cost: int, size: int, said: Sequence[Word]) -> bool:
    return cost <= MAX_DISTANCE * (size + sum(len(word.key) + 1 for word in said))


def _matches_at(words: Sequence[Word], said: Sequence[Word], first: int) -> bool:
    """Return whether a text has the same words from `first` on."""
    if first < 0 or first + len(words) > len(said):
        return False
    return all(word.key == said[first + at].key for at, word in enumerate(words))


def _anchors(words: Sequence[Word], text: _Text) -> list[tuple[int, list[int]]]:
    """Return the rarest words that a passage must contain: (place in the span, places in the text).

    Without a fixed word these are the two rarest plain words found in the text, because one of them
    may be mistyped.
    """
    listed = [
        (at, text.places.get(word.key, []), word.kind)
        for at, word in enumerate(words)
        if word.kind is not Kind.OPTIONAL
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
    """Return the ranges of words around the anchors that may contain a match, merged."""
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
    """Return the passage of a match, with surrounding punctuation that the span has too."""
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
    """Add one quotation mark or parenthesis at either end if its partner is in the passage."""
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


MOVED_WORDS = 5
"""Minimum number of words of a quote whose source number may be corrected. Of five-word quotes by humans, 3% also
occur in another source of the question by coincidence; of three-word quotes, 10%."""

_FRAME = re.compile(r"\[\s*+[0-9]*+\s*+")
_CITATION = re.compile(r"[\[\]0-9,;–\s-]*")
_STOPS = ".!?,;:…"


@dataclass(frozen=True, slots=True)
class Repairs:
    """The changes to the marks of one text.

    Attributes:
        quotes: for each quote of the repaired text its repair; None if it was verbatim.
    """

    quotes: tuple[Repair | None, ...] = ()
    dropped: tuple[Dropped, ...] = ()

    def __bool__(self) -> bool:
        """Return whether anything was changed."""
        return bool(self.dropped) or any(self.quotes)

    def read(self, text: str, sources: Iterable[Source]) -> QuotedAnswer:
        """Parse the repaired text and attach the changes."""
        answer = QuotedAnswer.parse(text, sources)
        if not self:
            return answer
        changes = iter(self.quotes)
        segments = tuple(
            replace(each, repaired=next(changes, None)) if isinstance(each, Quote) else each
            for each in answer.segments
        )
        return replace(answer, segments=segments, dropped=self.dropped)


def repair(text: str, sources: Iterable[Source]) -> QuotedAnswer:
    """Repair and parse a marked answer; all quotes that remain are verified.

    Example:
        >>> from semqa import Source
        >>> source = Source("Bing Crosby released it in 1942.")
        >>> answer = repair("By [1 bing crosby], not in [1 1943].", [source])
        >>> answer.marked, answer.verified
        ('By [ 1 Bing Crosby ], not in 1943.', False)
        >>> answer.quotes[0].repaired.text, answer.dropped[0].text
        ('bing crosby', '1943')
    """
    numbered = tuple(sources)
    repairer = Repairer(numbered)
    repaired = repairer.add(text) + repairer.end()
    return repairer.repairs.read(repaired, numbered)


class Repairer:
    """Repairs a text as it streams in.

    The joined results of `add` and `end` are the repaired text, however the text was split.

    Example:
        >>> from semqa import Source
        >>> repairer = Repairer([Source("Bing Crosby sang it in 1943.")])
        >>> [repairer.add(piece) for piece in ("By [ 1 bing ", "crosby ] in", " [ 1 1944 ]")]
        ['By ', '[ 1 Bing Crosby ] in', ' 1944']
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = tuple(sources)
        self._aligner = Aligner(self._sources)
        self._cutter = MarkCutter()
        self._pending = ""
        self._stop = ""
        self._marks = 0
        self._answer_at = self._plain_at = 0
        self._quotes: list[Repair | None] = []
        self._dropped: list[Dropped] = []
        self._out: list[str] = []

    @property
    def repairs(self) -> Repairs:
        """The changes so far."""
        return Repairs(tuple(self._quotes), tuple(self._dropped))

    def add(self, piece: str) -> str:
        """Add more text, and return the repaired text that is final."""
        return self._take(piece, final=False)

    def end(self) -> str:
        """Return the remaining text, after the last piece."""
        return self._take("", final=True)

    def _take(self, piece: str, *, final: bool) -> str:
        for part in self._cutter.cut(piece, final=final):
            if isinstance(part, str):
                self._write(part)
            else:
                self._decide(part.text, last=part.last)
        if final:
            self._flush_pending()
            self._write_stop("")
        written, self._out = "".join(self._out), []
        return written

    def _decide(self, candidate: str, *, last: bool) -> None:
        (piece,) = scan_marks(candidate)
        if isinstance(piece, FreePiece):
            if not last and candidate[-1] != "]" and may_be_mark(candidate):
                # This bracket could become a mark if the next one is dropped.
                self._pending += candidate
            else:
                self._flush_pending()
                self._write(candidate)
            return
        self._marks += 1
        check_bounds(self._marks, self._sources)
        if isinstance(piece, BrokenMark):
            words = _FRAME.sub("", piece.text, count=1)
            if words.endswith("]"):
                words = words[:-1].rstrip()
            if _CITATION.fullmatch(piece.text):
                words = ""
            self._drop(piece.source, words, piece.reason)
        else:
            self._check(piece, candidate)

    def _check(self, mark: Mark, raw: str) -> None:
        number, span = mark.source, mark.text
        if 0 < number <= len(self._sources):
            if _contains(self._sources[number - 1], span):
                self._quote(mark, None, raw)
                return
            passage = self._aligner.find(span, number)
            if passage is not None:
                field = self._sources[number - 1].field(passage.field)
                said = field[passage.start : passage.end]
                self._quote(Mark(number, said), Repair(number, span, passage.distance))
                stops = span[len(span.rstrip(_STOPS)) :]
                self._stop = "" if said.endswith(stops) else stops
                return
        elsewhere = [
            k for k, s in enumerate(self._sources, 1) if k != number and _contains(s, span)
        ]
        if len(elsewhere) == 1 and len(read_words(span)) >= MOVED_WORDS:
            self._quote(Mark(elsewhere[0], span), Repair(number, span, 0.0))
            return
        self._drop(number, span, self._reason(number, elsewhere))

    def _reason(self, number: int, elsewhere: list[int]) -> str:
        missing = (
            f"source {number} does not contain this text or anything similar enough"
            if 0 < number <= len(self._sources)
            else f"there is no source {number}"
        )
        if self._aligner.exhausted:
            missing = (
                f"source {number} does not contain this text; too much text to search for more"
            )
        if len(elsewhere) > 1:
            return f"{missing}; the text appears in {sources_in_words(elsewhere)}"
        if elsewhere:
            return f"{missing}; the text appears in source {elsewhere[0]}, perhaps by coincidence"
        return missing

    def _quote(self, mark: Mark, change: Repair | None, raw: str = "") -> None:
        self._flush_pending()
        self._write_stop("")
        canonical = canonical_mark(mark.source, mark.text)
        self._out.append(raw or canonical)
        self._answer_at += len(canonical)
        self._plain_at += len(mark.text)
        self._quotes.append(change)

    def _drop(self, number: int, words: str, reason: str) -> None:
        pending, self._pending = self._pending, ""
        # Without this bracket, the one before it could begin a new mark.
        self._write(pending.replace("[", "("))
        self._write_stop(words)
        answer, plain, size = self._answer_at, self._plain_at, len(words)
        self._dropped.append(
            Dropped(number, words, reason, answer, answer + size, plain, plain + size)
        )
        self._write(words)

    def _flush_pending(self) -> None:
        pending, self._pending = self._pending, ""
        self._write(pending)

    def _write(self, text: str) -> None:
        if text:
            self._write_stop(text)
            self._write_free(text)

    def _write_stop(self, following: str) -> None:
        """Write the final punctuation of a repaired quote, unless some follows."""
        stop, self._stop = self._stop, ""
        if stop and (not following or following[0] not in _STOPS):
            self._write_free(stop)

    def _write_free(self, text: str) -> None:
        self._out.append(text)
        self._answer_at += len(text)
        self._plain_at += len(text)


def _contains(source: Source, span: str) -> bool:
    return span in source.text or span in source.title
