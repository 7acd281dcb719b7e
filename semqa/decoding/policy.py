"""The settings of the copy constraint.

The rules are defined on text, not on tokens (``docs/constraint.md``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from semqa.checks import check_choice, check_range
from semqa.errors import InputError

_MAX_BIAS = 60_000
"""Within the range of half precision, and larger than any score."""


@dataclass(frozen=True, slots=True)
class QuotePolicy:
    """Rules for quotes and for the free text around them.

    In every case, a quote contains a content word, no source text is quoted twice, and an answer has
    a quote or is the abstention sentence.

    Attributes:
        free: the text allowed outside quotes. ``glue`` allows short runs of words that make no
            claims (see `semqa.quotes.words`) and words of the question; ``any`` allows all text.
        boundary: where a span may begin and end. ``word`` allows no cut inside a word, a number or
            a character (`semqa.quotes.words.cuts_word`); ``char`` allows all cuts.
        sources: the numbers (from 1) of the quotable sources; None for all.
        quote_bias: added to the logit of every token that opens a quote; from -60,000 to 60,000.

    Example:
        >>> QuotePolicy(sources=(3, 1))
        QuotePolicy(free='glue', boundary='word', sources=(1, 3), quote_bias=0.0)
    """

    free: Literal["glue", "any"] = "glue"
    boundary: Literal["word", "char"] = "word"
    sources: tuple[int, ...] | None = None
    quote_bias: float = 0.0

    def __post_init__(self) -> None:
        check_choice("free", self.free, ("glue", "any"))
        check_choice("boundary", self.boundary, ("word", "char"))
        object.__setattr__(self, "sources", checked_numbers("sources", self.sources))
        check_range("quote_bias", self.quote_bias, -_MAX_BIAS, _MAX_BIAS)


def checked_numbers(name: str, given: Iterable[int] | None) -> tuple[int, ...] | None:
    """Return source numbers, sorted and without duplicates; None stays None.

    Example:
        >>> checked_numbers("sources", [3, 1, 3])
        (1, 3)
    """
    if given is None:
        return None
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InputError(
            f"must be numbers of sources, such as (1, 3), got {given!r}.", field=name, value=given
        )
    numbers = list(given)
    if not numbers:
        raise InputError("must name at least one source, got none.", field=name, value=given)
    for number in numbers:
        if type(number) is not int or not 1 <= number <= 1_000_000:
            raise InputError(
                f"must be whole numbers of at least 1, got {number!r}.", field=name, value=number
            )
    return tuple(sorted(set(numbers)))
