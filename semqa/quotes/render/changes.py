"""What repairs changed in an answer, in sentences for a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semqa.quotes.answer import QuotedAnswer

__all__ = ["change_summary"]


def change_summary(answer: QuotedAnswer) -> list[str]:
    """Return what was changed, a sentence each; nothing where nothing was.

    Example:
        >>> from semqa import Source
        >>> from semqa.quotes.repair import repair
        >>> change_summary(repair("[ 1 bing ] [ 1 bong ]", [Source("Bing sang.")]))
        ['1 was repaired.', '1 more was no quote and lost its brackets.']
    """
    repaired = sum(quote.repaired is not None for quote in answer.quotes)
    said = []
    if repaired:
        said.append(f"{repaired} {'was' if repaired == 1 else 'were'} repaired.")
    if dropped := len(answer.dropped):
        no_quote = "was no quote and lost its" if dropped == 1 else "were no quotes and lost their"
        said.append(f"{dropped} more {no_quote} brackets.")
    return said
