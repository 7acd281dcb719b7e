"""What an answer may do besides quoting verbatim: one record of settings.

Knows nothing of tokens: the rules are defined on text (``docs/constraint.md``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from semqa.errors import InputError

__all__ = ["QuotePolicy"]

_LARGEST = 1_000_000


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
        quote_bias: added to the logit of every token that opens a quote.

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
        if self.sources is not None:
            object.__setattr__(self, "sources", tuple(sorted(set(self.sources))))
            for number in self.sources:
                _check_count("sources", number, least=1)
        if not math.isfinite(self.quote_bias):
            raise InputError(
                f"quote_bias: got {self.quote_bias}, expected a finite number; 0 turns it off"
            )


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
