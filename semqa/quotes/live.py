"""Parse a marked answer as it streams in: free text at once, a quote when it closes.

A quote is emitted only after its closing bracket has arrived and `QuotedAnswer.parse` has checked
it, so nothing is ever retracted. Independent of engines and HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from semqa.quotes.answer import QuotedAnswer, check_bounds
from semqa.quotes.marks import FreePiece, Mark, MarkCutter, canonical_mark, scan_marks
from semqa.quotes.quote import FreeText, Segment, Source

_REMEMBERED = 100
"""Maximum number of earlier quotes of the same source used to locate an ambiguous quote."""


class AnswerReader:
    """Parses marked text piece by piece.

    The joined results of `add` and `end` do not depend on how the text was split. They agree with
    `answer`, which parses the whole text, except that free text may come in several pieces. One thing
    may differ: if a quote occurs more than once in its source, a later quote may change which
    occurrence `answer` chooses.

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
        self._ready: list[Segment] = []

    def add(self, piece: str) -> list[Segment]:
        """Add more text, and return the segments that are complete.

        Free text may come in several consecutive segments.
        """
        self._text.append(piece)
        return self._take(piece, final=False)

    def end(self) -> list[Segment]:
        """Return the remaining segments, after the last piece."""
        return self._take("", final=True)

    @property
    def text(self) -> str:
        """The marked text so far, as written."""
        return "".join(self._text)

    @property
    def sure(self) -> str:
        """The marked text so far, without a tail that may still become a quote."""
        text = self.text
        return text[: len(text) - len(self._cutter.held)]

    @property
    def answer(self) -> QuotedAnswer:
        """The text so far, parsed and checked as a whole."""
        return QuotedAnswer.parse(self.text, self._sources)

    def _take(self, piece: str, *, final: bool) -> list[Segment]:
        for part in self._cutter.cut(piece, final=final):
            if isinstance(part, str):
                self._emit_text(part)
            else:
                self._resolve(part.text)
        ready, self._ready = self._ready, []
        return ready

    def _resolve(self, candidate: str) -> None:
        (piece,) = scan_marks(candidate)
        if isinstance(piece, FreePiece):
            self._emit_text(candidate)
            return
        self._marks += 1
        check_bounds(self._marks, self._sources)
        mark = canonical_mark(piece.source, piece.text) if isinstance(piece, Mark) else piece.text
        # Earlier quotes of the source decide which occurrence of an ambiguous quote is meant.
        run = self._run.setdefault(piece.source, [])
        before = "".join(run)
        quote = QuotedAnswer.parse(before + mark, self._sources).quotes[-1]
        if quote.verified:
            if len(quote.occurrences) == 1:
                run.clear()
            run.append(mark)
            del run[:-_REMEMBERED]
        start, plain = self._answer_at + quote.answer_start - len(before), self._plain_at
        self._ready.append(
            replace(
                quote,
                answer_start=start,
                answer_end=start + len(quote.text),
                plain_start=plain,
                plain_end=plain + len(quote.text),
            )
        )
        self._answer_at += len(mark)
        self._plain_at += len(quote.text)

    def _emit_text(self, text: str) -> None:
        size = len(text)
        start, plain = self._answer_at, self._plain_at
        self._ready.append(FreeText(text, start, start + size, plain, plain + size))
        self._answer_at += size
        self._plain_at += size
