"""What is said and offered where nothing answers, and how far an answer has to do with its question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.engines.base import AbstainingEngine
from semqa.quotes import ABSTENTION, QuotedAnswer

if TYPE_CHECKING:
    from semqa.engines.base import Engine, Request
    from semqa.quotes import Quote

NEAREST = 3
"""Quotes that are offered in place of an answer."""


def abstention() -> QuotedAnswer:
    """Return the answer that there is none."""
    return QuotedAnswer.parse(ABSTENTION, ())


def attempt(engine: Engine, request: Request) -> QuotedAnswer:
    """Answer a question; where the engine can tell that no source has to do with it, say so."""
    if isinstance(engine, AbstainingEngine):
        return engine.attempt(*request) or abstention()
    return engine.answer(*request)


def nearest(engine: Engine, request: Request) -> tuple[Quote, ...]:
    """Return what comes nearest to an answer, to be offered where there is none."""
    if not any(source.text.strip() for source in request.sources):
        return ()
    from semqa.engines.extractive import ExtractiveEngine

    offers = engine if isinstance(engine, AbstainingEngine) else ExtractiveEngine()
    found = offers.answer(*request).quotes
    telling = [quote for quote in found if quote.text != request.sources[quote.source - 1].title]
    return tuple(telling[:NEAREST])


def rated(engine: Engine, question: str, answer: QuotedAnswer) -> QuotedAnswer:
    """Return an answer with the relevance of its quotes, as the extractive engine estimates it."""
    if answer.relevance is not None:
        return answer
    from semqa.engines.extractive import ExtractiveEngine

    rater = engine if isinstance(engine, ExtractiveEngine) else ExtractiveEngine()
    return rater.rate(question, answer)
