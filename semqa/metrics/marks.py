"""The marks as the QuoteSum scorer reads them: ``[ 1 span ]``, strictly.

A reader of answers (`semqa.quotes`) forgives ``[1 span]``; a scorer must not, or its figures would
not be those of the dataset's authors. So scoring has a pattern of its own: a bracket, a space, a
source number, a space, any text without a square bracket (it may be empty or hold newlines), a
space, a bracket. Of nested marks only the innermost is one, and any other bracket inside a span
voids it; what is no mark stays in the text.

Source: the released QuoteSum scorer. There a number is one digit, 1-9, and so it is here, unless
``all_sources=True`` asks for numbers of up to nine digits.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["non_quoted", "only_quoted", "quoted_sources", "quotes_by_source", "strip_marks"]

_ONE_DIGIT = re.compile(r"\[ ([1-9]) ([^\[\]]*) \]")
_ANY_NUMBER = re.compile(r"\[ ([1-9][0-9]{0,8}) ([^\[\]]*) \]")


def split_marks(text: str, *, all_sources: bool = False) -> list[str]:
    """Cut a text at its marks, in one pass.

    Returns:
        Free text, number, span, free text, number, span, …, free text: ``3 * marks + 1`` strings.
    """
    return (_ANY_NUMBER if all_sources else _ONE_DIGIT).split(text)


def strip_marks(text: str, *, all_sources: bool = False) -> str:
    """Return the text with every mark replaced by its span.

    Example:
        >>> strip_marks("Released in [ 1 May 1942 ], says [2 him].")
        'Released in May 1942, says [2 him].'
    """
    pieces = split_marks(text, all_sources=all_sources)
    del pieces[1::3]
    return "".join(pieces)


def non_quoted(text: str, *, all_sources: bool = False) -> str:
    """Return only what stands outside of the marks.

    Example:
        >>> non_quoted("Released in [ 1 May 1942 ].")
        'Released in .'
    """
    return "".join(split_marks(text, all_sources=all_sources)[::3])


def only_quoted(
    text: str,
    *,
    sources: Collection[int] | None = None,
    separator: str = " ",
    all_sources: bool = False,
) -> str:
    """Return the spans in their order, joined.

    Args:
        text: marked text.
        sources: the source numbers whose spans are wanted; None for all.
        separator: what stands between two spans.
        all_sources: read numbers of up to nine digits, not of one only.

    Example:
        >>> only_quoted("[ 1 a ] [ 2 b ] [ 1 c ]", sources=[1], separator="|")
        'a|c'
    """
    pieces = split_marks(text, all_sources=all_sources)
    return separator.join(
        span
        for number, span in zip(pieces[1::3], pieces[2::3], strict=True)
        if sources is None or int(number) in sources
    )


def quoted_sources(text: str, *, all_sources: bool = False) -> list[int]:
    """Return the numbers of the sources that are quoted, ascending.

    Example:
        >>> quoted_sources("[ 3 a ] [ 1 b ] [ 3 c ] [ 0 d ]")
        [1, 3]
    """
    return sorted(set(map(int, split_marks(text, all_sources=all_sources)[1::3])))


def quotes_by_source(text: str, *, all_sources: bool = False) -> dict[int, str]:
    """Return for each quoted source its spans, joined by a space.

    Example:
        >>> quotes_by_source("[ 2 b ] and [ 1 a ] [ 2 c ]")
        {2: 'b c', 1: 'a'}
    """
    pieces = split_marks(text, all_sources=all_sources)
    quotes: dict[int, str] = {}
    for number, span in zip(map(int, pieces[1::3]), pieces[2::3], strict=True):
        quotes[number] = f"{quotes[number]} {span}" if number in quotes else span
    return quotes
