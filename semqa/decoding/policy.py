"""What an answer may do besides quoting verbatim: one record of settings.

Knows nothing of tokens: the rules are defined on text (``docs/constraint.md``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from semqa.errors import InputError

__all__ = ["QuotePolicy", "checked_numbers"]

_LARGEST = 1_000_000
_MOST_BIAS = 60_000
"""What half precision can hold, and more than any score."""


@dataclass(frozen=True, slots=True)
class QuotePolicy:
    """Rules for quotes and for the free text around them; each is off by default.

    Attributes:
        boundary: where a span may be cut: ``word``, never between two alphanumeric characters, or
            ``char``, between any two characters.
        numbers: ``quoted`` keeps numbers inside quotes, but for those of the question.
        names: ``quoted`` keeps capitalised words inside quotes, but for those at the start of a
            sentence and those of the question.
        max_words: most words of the whole answer, free text and spans together.
        max_free_words: most words of one run of free text.
        max_span_words: most words of one span.
        min_quotes: fewest quotes of an answer.
        sources: numbers of the sources that may be quoted (from 1); None for all.
        quote_bias: added to the logit of every token that opens a quote, at most 60,000.

    Raises:
        InputError: a setting is out of its range.

    Example:
        >>> QuotePolicy(numbers="quoted", max_words=80).boundary
        'word'
    """

    boundary: Literal["word", "char"] = "word"
    numbers: Literal["free", "quoted"] = "free"
    names: Literal["free", "quoted"] = "free"
    max_words: int | None = None
    max_free_words: int | None = None
    max_span_words: int | None = None
    min_quotes: int = 0
    sources: tuple[int, ...] | None = None
    quote_bias: float = 0.0

    def __post_init__(self) -> None:
        _check_choice("boundary", self.boundary, ("word", "char"))
        _check_choice("numbers", self.numbers, ("free", "quoted"))
        _check_choice("names", self.names, ("free", "quoted"))
        _check_count("max_words", self.max_words, least=1)
        _check_count("max_free_words", self.max_free_words, least=0)
        _check_count("max_span_words", self.max_span_words, least=1)
        _check_count("min_quotes", self.min_quotes, least=0)
        if self.max_words is not None and self.min_quotes > self.max_words:
            raise InputError(
                f"min_quotes: got {self.min_quotes} with max_words={self.max_words}, expected at "
                "most as many, for each quote holds a word; lower one or raise the other"
            )
        object.__setattr__(self, "sources", checked_numbers("sources", self.sources))
        bias: object = self.quote_bias
        number = isinstance(bias, (int, float)) and not isinstance(bias, bool)
        if not number or not abs(self.quote_bias) <= _MOST_BIAS:  # nor NaN
            raise InputError(
                f"quote_bias: got {bias!r}, expected a finite number from -{_MOST_BIAS:,} to "
                f"{_MOST_BIAS:,}; 0 turns it off"
            )


def checked_numbers(name: str, given: Iterable[int] | None) -> tuple[int, ...] | None:
    """Return numbers of sources in order, each once; None stays None.

    Raises:
        InputError: they are no numbers of sources.

    Example:
        >>> checked_numbers("sources", [3, 1, 3])
        (1, 3)
    """
    if given is None:
        return None
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InputError(
            f"{name}: got {given!r}, expected numbers of sources, such as (1, 3); give them in a "
            "tuple or leave it out"
        )
    numbers = list(given)
    for number in numbers:
        _check_count(name, number, least=1)
    return tuple(sorted(set(numbers)))


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(
            f"{name}: got {value!r}, expected {' or '.join(choices)}; choose one of them"
        )


def _check_count(name: str, value: int | None, *, least: int) -> None:
    if value is None:
        return
    if type(value) is not int or not least <= value <= _LARGEST:
        raise InputError(
            f"{name}: got {value!r}, expected a whole number from {least} to {_LARGEST:,}; "
            "change or leave it out"
        )
