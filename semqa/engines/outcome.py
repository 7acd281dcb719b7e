"""The outcome of a question for users: an answer with relevance, or the quotes nearest to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from semqa.documents.structure import split_sentences
from semqa.engines.base import Engine, Generation, Request
from semqa.quotes import ABSTENTION, Quote, QuotedAnswer, Source
from semqa.quotes.quote import Occurrence

NEAREST = 3
"""Maximum number of quotes to offer instead of an answer."""


class Outcome(NamedTuple):
    """The result of an engine.

    Attributes:
        generation: the model's output; None without a language model.
        nearest: quotes to offer instead of an answer if the engine abstains.
        finished: False if a limit cut the answer off.
    """

    answer: QuotedAnswer
    generation: Generation | None = None
    nearest: tuple[Quote, ...] = ()
    finished: bool = True


def outcome_of(
    engine: Engine, request: Request, answer: QuotedAnswer, generation: Generation | None = None
) -> Outcome:
    """Return the outcome of an engine that gave this answer: rate it, or find the nearest quotes."""
    near = nearest(engine, request) if answer.abstained else ()
    return Outcome(rated(engine, request.understood, answer), generation, near)


def abstention(sources: Sequence[Source] = ()) -> QuotedAnswer:
    """Return the "no answer" reply; the sources are those that were searched."""
    return QuotedAnswer.parse(ABSTENTION, sources)


def attempt(engine: Engine, request: Request) -> QuotedAnswer:
    """Answer a question, or abstain if the engine detects that no source is relevant."""
    from semqa.engines.extractive import ExtractiveEngine

    if isinstance(engine, ExtractiveEngine):
        return engine.attempt(*request) or abstention(request.sources)
    return engine.answer(*request)


def nearest(engine: Engine, request: Request) -> tuple[Quote, ...]:
    """Return the sentences closest to an answer, to offer when the engine abstains."""
    if not any(source.text.strip() for source in request.sources):
        return ()
    from semqa.engines.extractive import ExtractiveEngine

    finder = engine if isinstance(engine, ExtractiveEngine) else ExtractiveEngine()
    found: dict[tuple[int, int | None], Quote] = {}
    for quote in finder.answer(*request).quotes:
        if quote.field == "body":
            whole = _whole_sentences(quote, request.sources[quote.source - 1].text)
            if _says_something(whole.text):
                found.setdefault((whole.source, whole.source_start), whole)
    return tuple(found.values())[:NEAREST]


def _says_something(text: str) -> bool:
    """Whether a text is more than a heading, a lead-in, a greeting or a name."""
    lead = text.startswith("#") or text.rstrip("*_ ").endswith((":", ","))
    return not lead and len(text.split()) > 1


def _whole_sentences(quote: Quote, text: str) -> Quote:
    """Extend a verified quote to whole sentences, but not beyond its lines."""
    start, end = quote.source_start or 0, quote.source_end or 0
    line_end = text.find("\n", end)
    line = text.rfind("\n", 0, start) + 1, line_end if line_end >= 0 else len(text)
    sentences = list(split_sentences(text, *line))
    start = max((first for first, _ in sentences if first <= start), default=start)
    end = min((last for _, last in sentences if last >= end), default=end)
    return replace(
        quote,
        text=text[start:end],
        source_start=start,
        source_end=end,
        occurrences=(Occurrence("body", start, end),),
    )


def rated(engine: Engine, question: str, answer: QuotedAnswer) -> QuotedAnswer:
    """Add the extractive engine's estimate of the relevance of the quotes to an answer."""
    if answer.relevance is not None:
        return answer
    from semqa.engines.extractive import ExtractiveEngine

    rater = engine if isinstance(engine, ExtractiveEngine) else ExtractiveEngine()
    return rater.rate(question, answer)
