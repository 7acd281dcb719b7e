"""The "no answer" reply, quotes to offer instead of an answer, and relevance estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.engines.base import AbstainingEngine
from semqa.quotes import ABSTENTION, QuotedAnswer

if TYPE_CHECKING:
    from semqa.engines.base import Engine, Request
    from semqa.quotes import Quote

NEAREST = 3
"""Maximum number of quotes to offer instead of an answer."""


def abstention() -> QuotedAnswer:
    """Return the "no answer" reply."""
    return QuotedAnswer.parse(ABSTENTION, ())


def attempt(engine: Engine, request: Request) -> QuotedAnswer:
    """Answer a question, or abstain if the engine detects that no source is relevant."""
    if isinstance(engine, AbstainingEngine):
        return engine.attempt(*request) or abstention()
    return engine.answer(*request)


def nearest(engine: Engine, request: Request) -> tuple[Quote, ...]:
    """Return the quotes closest to an answer, to offer when the engine abstains."""
    if not any(source.text.strip() for source in request.sources):
        return ()
    from semqa.engines.extractive import ExtractiveEngine

    finder = engine if isinstance(engine, AbstainingEngine) else ExtractiveEngine()
    quotes = finder.answer(*request).quotes
    not_titles = [
        quote for quote in quotes if quote.text != request.sources[quote.source - 1].title
    ]
    return tuple(not_titles[:NEAREST])


def rated(engine: Engine, question: str, answer: QuotedAnswer) -> QuotedAnswer:
    """Add the extractive engine's estimate of the relevance of the quotes to an answer."""
    if answer.relevance is not None:
        return answer
    from semqa.engines.extractive import ExtractiveEngine

    rater = engine if isinstance(engine, ExtractiveEngine) else ExtractiveEngine()
    return rater.rate(question, answer)
