"""Renumber the sources of an answer by first mention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from semqa.quotes.answer import QuotedAnswer
from semqa.quotes.marks import canonical_mark
from semqa.quotes.quote import Dropped, Quote, Segment, Source, Status


def named_sources(answer: QuotedAnswer) -> tuple[int, ...]:
    """Return the numbers of the sources that an answer mentions, in order of first mention.

    These are the sources that its quotes name, and those that contain a misattributed quote.

    Example:
        >>> from semqa import Source
        >>> sources = [Source("a"), Source("b"), Source("c")]
        >>> named_sources(QuotedAnswer.parse("[ 3 c ] [ 1 a ] [ 3 b ]", sources))
        (3, 1, 2)
    """
    named = (
        number
        for quote in answer.quotes
        if quote.status is not Status.MALFORMED
        for number in (quote.source, *quote.found_in)
    )
    return tuple(dict.fromkeys(n for n in named if 0 < n <= len(answer.sources)))


class Renumbering:
    """Numbers sources from 1, in order of first mention.

    Numbers never change once assigned, so an answer can be renumbered while it streams. The number of
    a source that does not exist stays as it is.

    Example:
        >>> from semqa import QuotedAnswer, Source
        >>> sources = [Source("a"), Source("b"), Source("c")]
        >>> renumbering = Renumbering(sources)
        >>> renumbering.answer(QuotedAnswer.parse("[ 3 c ] and [ 2 b ]", sources)).marked
        '[ 1 c ] and [ 2 b ]'
        >>> renumbering.numbers
        (3, 2)
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = tuple(sources)
        self._new: dict[int, int] = {}
        self._shift = 0

    @property
    def numbers(self) -> tuple[int, ...]:
        """The old numbers of the mentioned sources, in the order of their new numbers."""
        return tuple(self._new)

    def add(self, segment: Segment) -> Segment:
        """Return the next segment of an answer with the new numbers."""
        if not isinstance(segment, Quote) or segment.status is Status.MALFORMED:
            return self._moved(segment)
        new = self.number(segment.source)
        for number in segment.found_in:
            self.number(number)
        repaired = segment.repaired
        if repaired is not None:
            repaired = repaired._replace(source=self._new.get(repaired.source, repaired.source))
        self._shift += len(str(new)) - len(str(segment.source))
        quote = replace(segment, source=new, repaired=repaired)
        if not segment.verified:
            # Parse it again to get the reason with the new numbers.
            listed = [self._sources[number - 1] for number in self._new]
            read = QuotedAnswer.parse(canonical_mark(new, segment.text), listed).quotes[0]
            quote = replace(quote, found_in=read.found_in, reason=read.reason)
        return self._moved(quote)

    def answer(self, answer: QuotedAnswer) -> QuotedAnswer:
        """Return a whole answer with the new numbers, and only the mentioned sources.

        Args:
            answer: an answer over the same sources. Call this once, or after adding its segments.
        """
        again = Renumbering(self._sources)
        segments = tuple(again.add(segment) for segment in answer.segments)
        dropped = tuple(again._placed(mark, answer, segments) for mark in answer.dropped)
        self._new, self._shift = again._new, again._shift
        listed = tuple(self._sources[number - 1] for number in self._new)
        return QuotedAnswer(segments, listed, dropped, answer.unanswered, answer.answerable)

    def number(self, old: int) -> int:
        """Return the new number of a source, assigning the next one if it has none."""
        if not 0 < old <= len(self._sources):
            return old
        return self._new.setdefault(old, len(self._new) + 1)

    def _moved(self, segment: Segment) -> Segment:
        if not self._shift:
            return segment
        return replace(
            segment,
            answer_start=segment.answer_start + self._shift,
            answer_end=segment.answer_end + self._shift,
        )

    def _placed(self, mark: Dropped, answer: QuotedAnswer, segments: Sequence[Segment]) -> Dropped:
        shift = 0
        for old, new in zip(answer.segments, segments, strict=True):
            if old.answer_start > mark.answer_start:
                break
            shift = new.answer_start - old.answer_start
        return mark._replace(
            source=self._new.get(mark.source, mark.source),
            answer_start=mark.answer_start + shift,
            answer_end=mark.answer_end + shift,
        )
