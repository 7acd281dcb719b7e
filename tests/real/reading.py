"""An answer as its reader sees it, and what may be wrong with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.quotes import ABSTENTION, FreeText
from semqa.quotes.words import function_words, language_of, leaks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semqa import QuotedAnswer
    from semqa.quotes import Quote

__all__ = ["Answered"]

LOOP = 4
"""Words of a run outside quotes that nobody writes twice."""


class Answered(NamedTuple):
    """An answer.

    Attributes:
        question: what was asked.
        answer: its marked text, read again with all sources.
        record: what was printed, written or sent.
    """

    question: str
    answer: QuotedAnswer
    record: dict[str, Any]

    @property
    def abstains(self) -> bool:
        return self.answer.marked.strip() == ABSTENTION

    @property
    def free(self) -> list[str]:
        """The texts outside quotes."""
        return [each.text for each in self.answer.segments if isinstance(each, FreeText)]

    @property
    def claims(self) -> list[str]:
        """Words outside quotes that claim something."""
        if self.abstains:
            return []
        return [text[a:b] for text in self.free for a, b in leaks(text, self.question)]

    @property
    def empty(self) -> list[str]:
        """Quotes that say nothing."""
        without = function_words(language_of(self.question))
        return [
            quote.text
            for quote in self.answer.quotes
            if not set(re.findall(r"[^\W_]+", quote.text)) - without
        ]

    @property
    def twice(self) -> list[str]:
        """Quotes of what was quoted before."""
        seen: set[tuple[int, str, int]] = set()
        found = []
        for quote in self.answer.quotes:
            places = set(_places(quote))
            if places & seen:
                found.append(quote.text)
            seen |= places
        return found

    @property
    def loops(self) -> list[str]:
        """Lines outside quotes that were written before."""
        lines = [line.split() for text in self.free for line in text.splitlines()]
        long = [" ".join(words) for words in lines if len(words) >= LOOP]
        return [line for number, line in enumerate(long) if line in long[:number]]

    @property
    def verdict(self) -> str:
        """What an honest verdict on it is."""
        if self.abstains:
            return "abstained"
        quotes = self.answer.quotes
        if self.record.get("dropped") or not all(quote.verified for quote in quotes):
            return "unverified"
        return "quoted" if quotes and not self.answer.claims(self.question) else "unquoted"


def _places(quote: Quote) -> Iterator[tuple[int, str, int]]:
    """Yield the characters of its source that a quote holds, if its place is certain."""
    if quote.verified and len(quote.occurrences) == 1:
        field, start, end = quote.occurrences[0]
        yield from ((quote.source, str(field), index) for index in range(start, end))
    else:
        yield (quote.source or 0, quote.text, -1)
