"""Ending an answer where it quotes the same text again, which no grammar can forbid."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from semqa.quotes.glue import leaks
from semqa.quotes.marks import canonical_mark
from semqa.quotes.pointing import UsedText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.quotes import Source

__all__ = ["QuotesOnce"]

_MARK = re.compile(r"\[ ([1-9][0-9]{0,8}) ([^\[\]]+) \]")
_OPEN = re.compile(r"\[ ([1-9][0-9]{0,8}) ([^\[\]]+)$")


class QuotesOnce:
    """Holds back of a text what may turn out to repeat a quote, or not to end in a quote.

    Args:
        sources: the numbered sources.

    Attributes:
        repeated: the mark that quotes a text again; the answer ends before it.

    Example:
        >>> from semqa import Source
        >>> text = QuotesOnce([Source("Bing Crosby sang it.")])
        >>> [text.add(piece) for piece in ("By [ 1 Bing ", "Crosby ]", " and", " [ 1 Crosby ], so")]
        ['By ', '[ 1 Bing Crosby ]', '', '.']
        >>> text.repeated
        '[ 1 Crosby ]'
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._used = UsedText(sources)
        self._held = ""
        self._quoted = False
        self.repeated: str | None = None

    def add(self, piece: str) -> str:
        """Take one more piece, and return the text that is sure now."""
        if self.repeated is not None:
            return ""
        text, sure = self._held + piece, ""
        at = 0
        for mark in _MARK.finditer(text):
            if not self._takes(int(mark[1]), mark[2]):
                self._held, self.repeated = "", mark[0]
                return sure + "."
            self._quoted = True
            sure += text[at : mark.end()]
            at = mark.end()
        if not self._quoted:  # the first quote repeats nothing
            opening = text.find("[", at)
            end = len(text) if opening < 0 else opening
            sure += text[at:end]
            at = end
        self._held = text[at:]
        return sure

    def end(self, *, whole: bool) -> str:
        """Return the rest: if the model did not end by itself, no half run and no half quote."""
        held, self._held = self._held, ""
        if whole or self.repeated is not None:
            return held
        opened = _OPEN.search(held)
        span = re.sub(r"\s+\S*$", "", opened[2]) if opened else ""
        if opened and span and leaks(span) and self._takes(int(opened[1]), span):
            return held[: opened.start()] + canonical_mark(int(opened[1]), span)
        return "." if self._quoted else held

    def _takes(self, number: int, span: str) -> bool:
        """Whether a quote repeats nothing; one that is not in its source is for others to judge."""
        if number > len(self._sources):
            return True
        source = self._sources[number - 1]
        if span not in source.title and span not in source.text:
            return True
        return self._used.add(number, span)
