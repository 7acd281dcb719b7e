"""What an answer may do besides quoting verbatim: one record of settings.

Knows nothing of tokens: the rules are defined on text (``docs/constraint.md``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from semqa.checks import check_choice, check_range
from semqa.errors import InputError

_MOST_BIAS = 60_000
"""What half precision can hold, and more than any score."""


@dataclass(frozen=True, slots=True)
class QuotePolicy:
    """Rules for quotes and for the free text around them.

    Whatever the settings, a quote holds a content word, no text of a source is quoted twice, and an
    answer has a quote or is the abstention sentence.

    Attributes:
        free: what may stand outside of quotes: ``glue``, only words that claim nothing (the list of
            the language, `semqa.quotes.words`, and words of the question) in short runs, so that
            every claim is quoted; or ``any`` text.
        boundary: where a span may be cut: ``word``, never between two alphanumeric characters, or
            ``char``, between any two characters.
        sources: numbers of the sources that may be quoted (from 1); None for all.
        quote_bias: added to the logit of every token that opens a quote, at most 60,000.

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
        check_range("quote_bias", self.quote_bias, -_MOST_BIAS, _MOST_BIAS)


def checked_numbers(name: str, given: Iterable[int] | None) -> tuple[int, ...] | None:
    """Return the numbers of sources in order, each once; None stays None.

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
                f"must be whole numbers from 1 on, got {number!r}.", field=name, value=number
            )
    return tuple(sorted(set(numbers)))
