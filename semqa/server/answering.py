"""Answering one question for the server: the same events, whoever asked and in whatever form.

Each interface makes its own shape of these; a reply that is not streamed is made of the same events.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.concurrency import run_in_threadpool

from semqa.engines.abstention import abstention
from semqa.quotes import Quote
from semqa.quotes.renumber import Renumbering, named_sources
from semqa.server.work import Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from semqa.engines import Engine
    from semqa.quotes import QuotedAnswer, Segment, Source
    from semqa.server.engines import EngineShelf
    from semqa.server.measures import Measures
    from semqa.server.work import Workers

__all__ = ["Answered", "Answering", "Asked", "Given", "Piece"]


@dataclass(frozen=True, slots=True)
class Given:
    """A source of a question, and where it is from.

    Attributes:
        source: the source.
        origin: collection, document_id, name, start, end and page of one that was retrieved.
    """

    source: Source
    origin: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self, number: int) -> dict[str, Any]:
        """Return it as a JSON-ready object."""
        source = self.source
        return {
            "number": number,
            "title": source.title,
            "text": source.text,
            "url": source.url,
            **self.origin,
        }


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, ready to be answered.

    Attributes:
        question: as it was asked.
        understood: the same in the context of the conversation; what the engine is asked.
        given: the sources, numbered from 1.
        engine: the specification of the engine.
        renumber: whether sources are numbered anew, in the order in which they come up.
        id: of the answer.
        created: seconds since the epoch.
    """

    question: str
    understood: str
    given: tuple[Given, ...]
    engine: str
    renumber: bool = False
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))


class Piece(NamedTuple):
    """A segment of an answer.

    Attributes:
        segment: free text, which may go on in the next one, or a whole quote.
        given: the source that a quote names; None for free text, and where there is none such.
    """

    segment: Segment
    given: Given | None


@dataclass(frozen=True, slots=True)
class Answered:
    """The whole answer.

    Attributes:
        asked: the question.
        answer: read and checked.
        listed: the sources that it speaks of, by their number in it.
        finished: whether it ended by itself; else its budget of tokens cut it off.
        usage: tokens read and written, None where no model tells.
        nearest: quotes that are offered where it abstains.
    """

    asked: Asked
    answer: QuotedAnswer
    listed: tuple[tuple[int, Given], ...]
    finished: bool
    usage: Mapping[str, int | None]
    nearest: tuple[Quote, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON-ready object."""
        asked = self.asked
        read = self.answer.to_dict(asked.understood)
        return {
            "id": asked.id,
            "created": asked.created,
            "engine": asked.engine,
            "question": asked.question,
            "understood": asked.understood,
            "answer": read["answer"],
            "plain": read["plain"],
            "verdict": read["verdict"],
            "verified": read["verified"],
            "abstained": self.answer.abstained,
            "relevance": read["relevance"],
            "unanswered": read["unanswered"],
            "finished": self.finished,
            "counts": read["counts"],
            "quotes": read["quotes"],
            "dropped": read["dropped"],
            "claims": read["claims"],
            "nearest": [quote.to_dict() for quote in self.nearest],
            "sources": [given.to_dict(number) for number, given in self.listed],
            "usage": dict(self.usage),
        }

    def details(self) -> dict[str, Any]:
        """Return what the interfaces of others have no field for, as a JSON-ready object."""
        own = self.to_dict()
        return {name: own[name] for name in _DETAILS}


_DETAILS = (
    "verdict", "verified", "abstained", "relevance", "unanswered", "counts", "quotes", "dropped",
    "claims", "nearest", "sources",
)  # fmt: skip


class Answering:
    """Answers questions.

    Args:
        shelf: the engines.
        workers: the threads that they run in.
        measures: counts what happens.
    """

    def __init__(self, shelf: EngineShelf, workers: Workers, measures: Measures) -> None:
        self._shelf = shelf
        self._workers = workers
        self._measures = measures

    async def events(self, asked: Asked) -> AsyncGenerator[Piece | Answered, None]:
        """Give the segments of the answer as they come, and the whole of it at the end.

        Raises:
            InputError: as the engine.
            UnavailableError: as the engine, or there is too much to do.
        """
        sources = [given.source for given in asked.given]
        renumbering = Renumbering(sources) if asked.renumber else None
        with self._measures.answer(self._shelf.kind(asked.engine)) as measured:
            if not sources:
                outcome = Outcome(abstention(), None)
                for segment in outcome.answer.segments:
                    yield Piece(segment, None)
            else:
                events = self._workers.answer(
                    await self.engine(asked.engine), asked.understood, sources
                )
                try:
                    async for event in events:
                        if isinstance(event, Outcome):
                            outcome = event
                            break
                        measured.began()
                        given = _named(asked, event)
                        yield Piece(renumbering.add(event) if renumbering else event, given)
                finally:
                    await events.aclose()
            answered = _answered(asked, outcome, renumbering)
            measured.ended(answered)
            yield answered

    async def whole(self, asked: Asked) -> tuple[list[Piece], Answered]:
        """Return all pieces, and the whole answer.

        Raises:
            InputError: as `events`.
            UnavailableError: as `events`.
        """
        pieces: list[Piece] = []
        async for event in self.events(asked):
            if isinstance(event, Answered):
                return pieces, event
            pieces.append(event)
        raise AssertionError("the events of an answer end with the whole of it")

    async def engine(self, spec: str) -> Engine:
        """Return the engine of a specification, made if need be.

        Raises:
            InputError: it cannot be made as it was set up.
            UnavailableError: a model was not reached, or a package is missing.
        """
        made = self._shelf.made(spec)
        return made if made is not None else await run_in_threadpool(self._shelf.get, spec)


def _named(asked: Asked, segment: Segment) -> Given | None:
    if isinstance(segment, Quote) and 0 < segment.source <= len(asked.given):
        return asked.given[segment.source - 1]
    return None


def _answered(asked: Asked, outcome: Outcome, renumbering: Renumbering | None) -> Answered:
    answer, nearest = outcome.answer, outcome.nearest
    if renumbering is None:
        numbers = sorted({*named_sources(answer), *(quote.source for quote in nearest)})
        listed = tuple((number, asked.given[number - 1]) for number in numbers)
    else:
        answer = renumbering.answer(answer)
        nearest = tuple(replace(each, source=renumbering.number(each.source)) for each in nearest)
        listed = tuple(
            (new, asked.given[old - 1]) for new, old in enumerate(renumbering.numbers, 1)
        )
    made = outcome.generation
    usage = {
        "prompt_tokens": made.prompt_tokens if made else None,
        "completion_tokens": made.new_tokens if made else None,
    }
    finished = made is None or made.finished
    return Answered(asked, answer, listed, finished, usage, nearest)
