"""Whether sources have anything to do with a question, so that there is something to quote at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.engines.extractive import tuning
from semqa.engines.extractive.lexicon import related, stem
from semqa.engines.extractive.passage import split_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.engines.extractive.inquiry import Inquiry
    from semqa.engines.extractive.reading import Reading
    from semqa.quotes import Source

__all__ = ["bears_on"]

ENOUGH = 0.34
"""Share of the question's words that one source must hold in body or title, a related word counting
half: one word of three is too few. Of 45 questions of QuoteSum over their own sources 1 falls below,
of the same questions over sources of others 97% do."""


def bears_on(inquiry: Inquiry, readings: Sequence[Reading], sources: Sequence[Source]) -> bool:
    """Whether one of the sources holds enough of what the question asks about.

    True for a question without a word that says anything: there is nothing to judge by.
    """
    asked = {
        word: tuning.CONTEXT if word in inquiry.context else 1.0
        for word in inquiry.stems
        if any(map(str.isalnum, word))
    }
    if not asked:
        return True
    for reading, source in zip(readings, sources, strict=True):
        there = {*reading.passage.stems, *map(stem, split_words(source.title))}
        held = sum(
            weight * (word in there or 0.5 * any(other in there for other in related(word)))
            for word, weight in asked.items()
        )
        if held >= ENOUGH * sum(asked.values()):
            return True
    return False
