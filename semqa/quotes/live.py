"""Reading a marked answer while it is written: free text as it comes, a quote when it closes.

A quote is shown when its closing bracket is there and `QuotedAnswer.parse` has checked it, never
before; so what was shown is never taken back. Knows nothing of engines or HTTP.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from semqa.quotes.answer import QuotedAnswer, check_bounds
from semqa.quotes.marks import BrokenMark, FreePiece, MarkCutter, canonical_mark, scan_marks
from semqa.quotes.quote import FreeText, Quote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from semqa.quotes.quote import Segment
    from semqa.quotes.source import Source

_REMEMBERED = 100
"""Quotes of a source that are looked back at, all of which stand in several places."""


class AnswerReader:
    """Reads marked text piece by piece.

    What `add` and `end` return, joined, does not depend on how the text was cut, and agrees with
    `answer`, which is `QuotedAnswer.parse` of the whole: the same free text (perhaps in several
    pieces), and the same quotes. One thing may differ: where a quote's text stands more than once in
    its source, a later quote can show that another of these places is meant. Then `answer` has that
    place, and what was shown has the one that was meant as far as was known.

    Example:
        >>> from semqa import Source
        >>> reader = AnswerReader([Source("Bing Crosby sang it in 1943.")])
        >>> [[s.text for s in reader.add(piece)] for piece in ("By [ 1 Bing ", "Crosby", " ] in")]
        [['By '], [], ['Bing Crosby', ' in']]
        >>> reader.end(), reader.answer.quotes[0].status.value
        ([], 'verified')
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = tuple(sources)
        self._text: list[str] = []
        self._cutter = MarkCutter()
        self._marks = 0
        self._answer_at = self._plain_at = 0
        self._run: dict[int, list[str]] = {}
        self._shown: list[Segment] = []

    def add(self, piece: str) -> list[Segment]:
        """Take more of the text, and return the segments that are sure by now.

        Free text may come in several segments that follow each other.
        """
        self._text.append(piece)
        return self._take(piece, final=False)

    def end(self) -> list[Segment]:
        """Return the rest, after the last piece."""
        return self._take("", final=True)

    @property
    def text(self) -> str:
        """The marked text so far, as it was written."""
        return "".join(self._text)

    @property
    def sure(self) -> str:
        """The marked text up to where it may still become a quote."""
        text = self.text
        return text[: len(text) - len(self._cutter.held)]

    @property
    def answer(self) -> QuotedAnswer:
        """All that was added, read and checked as a whole."""
        return QuotedAnswer.parse(self.text, self._sources)

    def _take(self, piece: str, *, final: bool) -> list[Segment]:
        for part in self._cutter.cut(piece, final=final):
            if isinstance(part, str):
                self._free(part)
            else:
                self._decide(part.text)
        shown, self._shown = self._shown, []
        return shown

    def _decide(self, candidate: str) -> None:
        (piece,) = scan_marks(candidate)
        if isinstance(piece, FreePiece):
            self._free(candidate)
            return
        self._marks += 1
        check_bounds(self._marks, self._sources)
        if isinstance(piece, BrokenMark):
            self._show(QuotedAnswer.parse(piece.raw, self._sources).quotes[0], 0, len(piece.raw))
            return
        mark = canonical_mark(piece.source, piece.span)
        run = self._run.setdefault(piece.source, [])
        # Where a text stands twice, the quotes of its source before it say which place is meant.
        quote = QuotedAnswer.parse("".join([*run, mark]), self._sources).quotes[-1]
        if quote.verified:
            if len(quote.occurrences) == 1:
                run.clear()
            run.append(mark)
            del run[:-_REMEMBERED]
        self._show(quote, len(mark) - len(piece.span) - len(" ]"), len(mark))

    def _free(self, text: str) -> None:
        size = len(text)
        start, plain = self._answer_at, self._plain_at
        self._shown.append(FreeText(text, start, start + size, plain, plain + size))
        self._answer_at += size
        self._plain_at += size

    def _show(self, quote: Quote, inside: int, written: int) -> None:
        """Show a quote that begins so far inside of what was written for it."""
        size = len(quote.text)
        start, plain = self._answer_at + inside, self._plain_at
        self._shown.append(
            replace(
                quote,
                answer_start=start,
                answer_end=start + size,
                plain_start=plain,
                plain_end=plain + size,
            )
        )
        self._answer_at += written
        self._plain_at += size
