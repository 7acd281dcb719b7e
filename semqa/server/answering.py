"""Answers one question as a sequence of events.

Each API serializes the events in its own format. A reply that is not streamed is built from the
same events.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from starlette.concurrency import run_in_threadpool

from semqa.engines import Engine, Request
from semqa.engines.outcome import Outcome, abstention, rated
from semqa.errors import InputError, MissingExtraError, UnavailableError
from semqa.history import Exchange, in_context
from semqa.quotes import Quote, QuotedAnswer, Segment, Source, Status
from semqa.quotes.marks import canonical_mark
from semqa.quotes.renumber import Renumbering, named_sources
from semqa.server.engines import EngineRegistry
from semqa.server.errors import EmptyAnswerError, EngineFailedError
from semqa.server.measures import Measures
from semqa.server.work import Workers

_log = logging.getLogger("semqa.server")


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """A source of a question.

    Attributes:
        origin: collection, document and place of a retrieved passage; else empty.
        label: the citation label of a chat app; empty to cite by number.
    """

    source: Source
    origin: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""

    def to_dict(self, number: int) -> dict[str, Any]:
        source = self.source
        return {
            "number": number,
            "title": source.title,
            "text": source.text,
            "url": source.url,
            **self.origin,
        }


@dataclass(frozen=True, slots=True)
class PreparedQuestion:
    """A validated question with its sources.

    Attributes:
        renumber: number the sources in the order in which the answer quotes them.
        max_tokens: maximum length of the answer in words and punctuation marks.
        unused: fields of the request that have no effect.
        fixed_reply: a reply that needs no engine, such as a title for the conversation.
    """

    question: str
    history: tuple[Exchange, ...]
    sources: tuple[AnswerSource, ...]
    engine: str
    renumber: bool = False
    max_tokens: int | None = None
    unused: tuple[str, ...] = ()
    fixed_reply: str | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def request(self) -> Request:
        return Request(self.question, tuple(each.source for each in self.sources), self.history)

    @property
    def understood(self) -> str:
        """The question with the earlier questions it refers to."""
        return in_context(self.question, self.history)


class Piece(NamedTuple):
    """A whole quote with its source, or free text, which the next piece may continue."""

    segment: Segment
    source: AnswerSource | None


@dataclass(frozen=True, slots=True)
class AnswerResult:
    """The whole answer.

    Attributes:
        sources: the sources that the answer mentions, with their numbers in it.
        finished: False if the token limit cut the answer off.
        nearest: quotes offered instead of an answer if the engine abstains.
    """

    prepared: PreparedQuestion
    answer: QuotedAnswer
    sources: tuple[tuple[int, AnswerSource], ...]
    finished: bool
    usage: Mapping[str, int | None]
    nearest: tuple[Quote, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        prepared = self.prepared
        return {
            "id": prepared.id,
            "created": prepared.created,
            "engine": prepared.engine,
            "question": prepared.question,
            "understood": prepared.understood,
            **self.answer.to_dict(prepared.understood),
            "finished": self.finished,
            "nearest": [quote.to_dict() for quote in self.nearest],
            "sources": [source.to_dict(number) for number, source in self.sources],
            "usage": dict(self.usage),
        }

    def details(self) -> dict[str, Any]:
        """Return the fields that other vendors' APIs lack."""
        elsewhere = ("id", "created", "engine", "question", "plain")
        fields = {name: value for name, value in self.to_dict().items() if name not in elsewhere}
        return {**fields, "unused": list(self.prepared.unused)}

    @property
    def tokens(self) -> tuple[int, int]:
        """The numbers of prompt and completion tokens, 0 if unknown."""
        return self.usage["prompt_tokens"] or 0, self.usage["completion_tokens"] or 0


class Answering:
    """Answers questions with the engines of the server."""

    def __init__(self, engines: EngineRegistry, workers: Workers, measures: Measures) -> None:
        self._engines = engines
        self._workers = workers
        self._measures = measures

    async def events(
        self,
        prepared: PreparedQuestion,
        on_disconnect: Callable[[AnswerResult], Awaitable[None]] | None = None,
    ) -> AsyncGenerator[Piece | AnswerResult, None]:
        """Yield the pieces of the answer as they arrive, and finally the whole answer.

        If the client disconnects, `on_disconnect` gets the partial answer.
        """
        sources = prepared.request.sources
        renumbering = Renumbering(sources) if prepared.renumber else None
        budget = _TokenBudget(prepared.max_tokens)
        with self._measures.answer(self._engines.kind(prepared.engine)) as timer:
            if prepared.fixed_reply is not None or not sources:
                reply = prepared.fixed_reply
                outcome = Outcome(abstention() if reply is None else QuotedAnswer.parse(reply, ()))
                for segment in outcome.answer.segments:
                    yield Piece(segment, None)
            else:
                events = self._ask(prepared, budget)
                try:
                    async for event in events:
                        if isinstance(event, Outcome):
                            outcome = event
                        else:
                            timer.note_segment()
                            segment = renumbering.add(event) if renumbering else event
                            yield Piece(segment, _source_of(prepared, event))
                except (GeneratorExit, asyncio.CancelledError):
                    if on_disconnect is not None and budget.marked.strip():
                        cut = QuotedAnswer.parse(budget.marked, sources)
                        partial = Outcome(cut, finished=False)
                        await on_disconnect(_result_of(prepared, partial, renumbering))
                    raise
                finally:
                    await events.aclose()
            result = _result_of(prepared, outcome, renumbering)
            read = result.answer
            timer.finish(read.verdict(prepared.understood).value, read.counts)
            yield result

    async def _ask(
        self, prepared: PreparedQuestion, budget: _TokenBudget
    ) -> AsyncGenerator[Segment | Outcome, None]:
        """Yield the segments of an engine's answer within the budget, and finally the outcome."""
        engine = await self.engine(prepared.engine)
        events = self._workers.answer(engine, prepared.request)
        try:
            async for event in events:
                if isinstance(event, Outcome):
                    answer, generation = event.answer, event.generation
                    if not (answer.plain.strip() or answer.quotes or answer.dropped):
                        warning = "the model returned an empty answer"
                        _log.warning(warning, extra={"engine": prepared.engine})
                        cut_off = generation is not None and not generation.finished
                        why = ": it reached its token limit." if cut_off else ". Ask again."
                        raise EmptyAnswerError(f"The model returned an empty answer{why}")
                    yield event
                    return
                if (kept := budget.take(event)) is not None:
                    yield kept
                if budget.spent:
                    break
        finally:
            await events.aclose()
        cut = QuotedAnswer.parse(budget.marked, prepared.request.sources)
        cut = await run_in_threadpool(rated, engine, prepared.understood, cut)
        yield Outcome(cut, finished=False)

    async def whole(self, prepared: PreparedQuestion) -> tuple[list[Piece], AnswerResult]:
        pieces: list[Piece] = []
        async for event in self.events(prepared):
            if isinstance(event, AnswerResult):
                return pieces, event
            pieces.append(event)
        raise AssertionError("the last event is the whole answer")

    async def engine(self, spec: str) -> Engine:
        """Return an engine, and load it if necessary."""
        loaded = self._engines.loaded(spec)
        if loaded is not None:
            return loaded
        try:
            return await run_in_threadpool(self._engines.get, spec)
        except (InputError, UnavailableError) as error:
            _log.error("the engine cannot be loaded", exc_info=error, extra={"engine": spec})
            refused = isinstance(error, (InputError, MissingExtraError))
            raise EngineFailedError(refused=refused) from error


_TOKEN = re.compile(r"\w+|[^\w\s]")


class _TokenBudget:
    """Limits the length of an answer. A quote that does not fit is left out as a whole."""

    def __init__(self, tokens: int | None) -> None:
        self._left = tokens
        self._written: list[str] = []
        self.spent = False

    @property
    def marked(self) -> str:
        """The accepted segments as one text, with marks."""
        return "".join(self._written)

    def take(self, segment: Segment) -> Segment | None:
        """Return the part of a segment that fits; None if nothing fits."""
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


def _source_of(prepared: PreparedQuestion, segment: Segment) -> AnswerSource | None:
    if isinstance(segment, Quote) and 0 < segment.source <= len(prepared.sources):
        return prepared.sources[segment.source - 1]
    return None


def _result_of(
    prepared: PreparedQuestion, outcome: Outcome, renumbering: Renumbering | None
) -> AnswerResult:
    answer, nearest = outcome.answer, outcome.nearest
    if renumbering is None:
        numbers = sorted({*named_sources(answer), *(quote.source for quote in nearest)})
        listed = tuple((number, prepared.sources[number - 1]) for number in numbers)
    else:
        answer = renumbering.answer(answer)
        nearest = tuple(replace(each, source=renumbering.number(each.source)) for each in nearest)
        listed = tuple(
            (new, prepared.sources[old - 1]) for new, old in enumerate(renumbering.numbers, 1)
        )
    generation = outcome.generation
    usage = {
        "prompt_tokens": generation.prompt_tokens if generation else None,
        "completion_tokens": generation.new_tokens if generation else None,
    }
    finished = outcome.finished and (generation is None or generation.finished)
    return AnswerResult(prepared, answer, listed, finished, usage, nearest)
