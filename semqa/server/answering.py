"""Answering one question: the same events for every interface.

Each interface makes its own shape of these; a reply that is not streamed is made of the same events.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.concurrency import run_in_threadpool

from semqa.engines import Request
from semqa.engines.abstention import abstention, rated
from semqa.errors import InputError, MissingExtraError, UnavailableError
from semqa.history import in_context
from semqa.quotes import Quote, QuotedAnswer, Status
from semqa.quotes.marks import canonical_mark
from semqa.quotes.renumber import Renumbering, named_sources
from semqa.server.errors import EngineFailedError
from semqa.server.work import Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from semqa.engines import Engine
    from semqa.history import Exchange
    from semqa.quotes import Segment, Source
    from semqa.server.engines import EngineShelf
    from semqa.server.measures import Measures
    from semqa.server.work import Workers


_log = logging.getLogger("semqa.server")


@dataclass(frozen=True, slots=True)
class Given:
    """A source of a question, and where it is from.

    Attributes:
        origin: collection, document_id, name, start, end and page of one that was retrieved.
        label: what a chat app calls it, in place of its number.
    """

    source: Source
    origin: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""

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
        history: earlier questions of the conversation with their answers, the oldest first.
        given: the sources, numbered from 1.
        renumber: whether sources are numbered anew, in the order in which they come up.
        max_tokens: words and punctuation marks after which the answer is cut; None for no limit.
        unused: fields of the request that have no effect.
        told: what to answer without asking an engine; a title of the conversation, and the like.
        created: seconds since the epoch.
    """

    question: str
    history: tuple[Exchange, ...]
    given: tuple[Given, ...]
    engine: str
    renumber: bool = False
    max_tokens: int | None = None
    unused: tuple[str, ...] = ()
    told: str | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def request(self) -> Request:
        """What the engine is asked."""
        return Request(self.question, tuple(given.source for given in self.given), self.history)

    @property
    def understood(self) -> str:
        """The question with the earlier ones that it refers to."""
        return in_context(self.question, self.history)


class Piece(NamedTuple):
    """A segment of an answer.

    Attributes:
        segment: free text, which may go on in the next one, or a whole quote.
        given: the source that a quote names; None for free text and if there is no such source.
    """

    segment: Segment
    given: Given | None


@dataclass(frozen=True, slots=True)
class Answered:
    """The whole answer.

    Attributes:
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
        return {
            "id": asked.id,
            "created": asked.created,
            "engine": asked.engine,
            "question": asked.question,
            "understood": asked.understood,
            **self.answer.to_dict(asked.understood),
            "finished": self.finished,
            "nearest": [quote.to_dict() for quote in self.nearest],
            "sources": [given.to_dict(number) for number, given in self.listed],
            "usage": dict(self.usage),
        }

    def details(self) -> dict[str, Any]:
        """Return what the interfaces of others have no field for, as a JSON-ready object."""
        own = self.to_dict()
        return {**{name: own[name] for name in _DETAILS}, "unused": list(self.asked.unused)}


_DETAILS = (
    "verdict", "verified", "abstained", "relevance", "unanswered", "counts", "quotes", "dropped",
    "claims", "nearest", "sources",
)  # fmt: skip


class Answering:
    """Answers questions."""

    def __init__(self, shelf: EngineShelf, workers: Workers, measures: Measures) -> None:
        self._shelf = shelf
        self._workers = workers
        self._measures = measures

    async def events(
        self, asked: Asked, left: Callable[[Answered], Awaitable[None]] | None = None
    ) -> AsyncGenerator[Piece | Answered, None]:
        """Give the segments of the answer as they come, and the whole of it at the end.

        Args:
            left: is called with what there is of the answer if the client leaves before its end.
        """
        request = asked.request
        sources = request.sources
        renumbering = Renumbering(sources) if asked.renumber else None
        with self._measures.answer(self._shelf.kind(asked.engine)) as measured:
            if asked.told is not None or not sources:
                told = asked.told
                outcome = Outcome(
                    abstention() if told is None else QuotedAnswer.parse(told, ()), None
                )
                for segment in outcome.answer.segments:
                    yield Piece(segment, None)
            else:
                engine = await self.engine(asked.engine)
                events = self._workers.answer(engine, request)
                budget = _Budget(asked.max_tokens)
                try:
                    async for event in events:
                        if isinstance(event, Outcome):
                            outcome = event
                            break
                        measured.began()
                        kept = budget.take(event)
                        if kept is not None:
                            piece = renumbering.add(kept) if renumbering else kept
                            yield Piece(piece, _named(asked, kept))
                        if budget.spent:
                            break
                except (GeneratorExit, asyncio.CancelledError):
                    if left is not None and budget.marked.strip():
                        cut = QuotedAnswer.parse(budget.marked, sources)
                        outcome = Outcome(cut, None, finished=False)
                        await left(_answered(asked, outcome, renumbering))
                    raise
                finally:
                    await events.aclose()
                if budget.spent:
                    cut = QuotedAnswer.parse(budget.marked, sources)
                    cut = await run_in_threadpool(rated, engine, asked.understood, cut)
                    outcome = Outcome(cut, None, finished=False)
            answered = _answered(asked, outcome, renumbering)
            read = answered.answer
            measured.ended(read.verdict(asked.understood).value, read.counts)
            yield answered

    async def whole(self, asked: Asked) -> tuple[list[Piece], Answered]:
        """Return all pieces, and the whole answer."""
        pieces: list[Piece] = []
        async for event in self.events(asked):
            if isinstance(event, Answered):
                return pieces, event
            pieces.append(event)
        raise AssertionError("the events of an answer end with the whole of it")

    async def engine(self, spec: str) -> Engine:
        """Return the engine of a specification, made if need be.

        Raises:
            EngineFailedError: it cannot be made as it was set up, or a model was not reached.
        """
        made = self._shelf.made(spec)
        if made is not None:
            return made
        try:
            return await run_in_threadpool(self._shelf.get, spec)
        except (InputError, UnavailableError) as error:
            _log.error("the engine cannot be made", exc_info=error, extra={"engine": spec})
            refused = isinstance(error, (InputError, MissingExtraError))
            raise EngineFailedError(refused=refused) from error


_TOKEN = re.compile(r"\w+|[^\w\s]")


class _Budget:
    """Takes segments until so many tokens are written; a quote fits as a whole or not at all."""

    def __init__(self, tokens: int | None) -> None:
        self._left = tokens
        self._written: list[str] = []
        self.spent = False

    @property
    def marked(self) -> str:
        """What was taken, with marks."""
        return "".join(self._written)

    def take(self, segment: Segment) -> Segment | None:
        """Return what there is room for."""
        if self._left is None:
            self._write(segment)
            return segment
        ends = [match.end() for match in _TOKEN.finditer(segment.text)]
        if len(ends) > self._left:
            self.spent = True
            if isinstance(segment, Quote) or not self._left:
                return None
            segment = replace(segment, text=segment.text[: ends[self._left - 1]])
        self._left -= min(len(ends), self._left)
        self._write(segment)
        return segment

    def _write(self, segment: Segment) -> None:
        text = segment.text
        if isinstance(segment, Quote) and segment.status is not Status.MALFORMED:
            text = canonical_mark(segment.source, text)
        self._written.append(text)


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
    finished = outcome.finished and (made is None or made.finished)
    return Answered(asked, answer, listed, finished, usage, nearest)
