"""Answers off the event loop: in threads, a bounded number of them, given up when nobody waits."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from semqa.engines import PromptedEngine, StreamingEngine
from semqa.engines.abstention import attempt, nearest, rated
from semqa.engines.base import PromptTooLongError
from semqa.engines.wanted import UnwantedError, while_wanted
from semqa.errors import InputError, MissingExtraError, UnavailableError
from semqa.quotes.live import AnswerReader
from semqa.server.errors import BusyError, EngineFailedError, TooSlowError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from semqa.engines import Engine
    from semqa.engines.generation import Generation
    from semqa.quotes import Quote, QuotedAnswer, Segment, Source

__all__ = ["Outcome", "Workers"]


_log = logging.getLogger("semqa.server")


class Outcome(NamedTuple):
    """What an engine answered.

    Attributes:
        answer: read and checked.
        generation: how it came about, where a model was asked and tells.
        nearest: quotes that are offered where it abstains.
        finished: false if a limit cut it off.
    """

    answer: QuotedAnswer
    generation: Generation | None
    nearest: tuple[Quote, ...] = ()
    finished: bool = True


class Workers:
    """Runs engines in threads.

    Engines that stream mostly wait for a model, and get a thread each. The others compute, and get
    as many as there are processors: with more, each would only be slower.

    Args:
        at_once: most answers under way.
        waiting: most answers that wait for their turn.
        timeout: seconds until an answer must be there, waiting included.
    """

    def __init__(self, at_once: int, waiting: int, timeout: float) -> None:
        self._timeout = timeout
        self._most = at_once + waiting
        self._there = 0
        self._at_once = at_once
        self._pools: dict[bool, ThreadPoolExecutor] = {}

    @property
    def under_way(self) -> int:
        """How many answers are under way or wait."""
        return self._there

    async def answer(
        self, engine: Engine, question: str, sources: Sequence[Source]
    ) -> AsyncGenerator[Segment | Outcome, None]:
        """Give the segments of an answer as they come, and the outcome at the end.

        Closing the iterator gives the work up, and so does its time when it is over: an answer that
        waits is not begun, a stream ends at its next piece, and what is computed at the next source.

        Args:
            engine: the engine.
            question: the question.
            sources: the sources.

        Raises:
            BusyError: too many answers wait.
            TooSlowError: it took too long.
            InputError: as the engine.
            UnavailableError: as the engine.
        """
        if self._there >= self._most:
            raise BusyError(
                f"too many answers at once: got {self._there + 1}, expected at most {self._most}; "
                "try again"
            )
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Sequence[Segment] | Outcome | BaseException] = asyncio.Queue()
        gone = threading.Event()

        def put(item: Sequence[Segment] | Outcome | BaseException) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody listens
                loop.call_soon_threadsafe(queue.put_nowait, item)

        def work() -> None:
            try:
                if not gone.is_set():
                    with while_wanted(lambda: not gone.is_set()):
                        put(_answer(engine, question, sources, put, gone))
            except BaseException as error:  # noqa: BLE001  (raised again by who listens)
                put(told(engine, error))

        future = self._pool(isinstance(engine, StreamingEngine)).submit(work)
        self._there += 1
        future.add_done_callback(lambda _: _call(loop, self._left))
        until = loop.time() + self._timeout
        try:
            while True:
                try:
                    if queue.empty() or loop.time() >= until:
                        async with asyncio.timeout_at(until):
                            item = await queue.get()
                    else:
                        item = queue.get_nowait()
                except TimeoutError:
                    raise TooSlowError(
                        f"the answer took too long: got none in {self._timeout:g} seconds, expected "
                        "one; try again, or raise --request-timeout"
                    ) from None
                if isinstance(item, BaseException):
                    raise item
                if isinstance(item, Outcome):
                    yield item
                    return
                for segment in item:
                    yield segment
        finally:
            gone.set()
            future.cancel()

    def close(self) -> None:
        """End the threads; what is under way is given up, and what comes later has new ones."""
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            pool.shutdown(wait=False, cancel_futures=True)

    def _pool(self, streams: bool) -> ThreadPoolExecutor:
        if streams not in self._pools:
            threads = self._at_once if streams else min(self._at_once, os.cpu_count() or 1)
            self._pools[streams] = ThreadPoolExecutor(threads, "semqa-answer")
        return self._pools[streams]

    def _left(self) -> None:
        self._there -= 1


def told(engine: Engine, error: BaseException) -> BaseException:
    """Return an engine's error as clients may see it.

    What a model's server says may hold its address, its key or its own errors; a prompt that is too
    long is the client's to mend.
    """
    of_model = isinstance(engine, (StreamingEngine, PromptedEngine))
    if (
        not of_model
        or not isinstance(error, (InputError, UnavailableError))
        or isinstance(error, (PromptTooLongError, UnwantedError))
    ):
        return error
    status = getattr(error, "status", None)
    _log.error("the engine failed", exc_info=error, extra={"engine": engine.name, "http": status})
    failed = EngineFailedError(refused=isinstance(error, (InputError, MissingExtraError)))
    failed.__cause__ = error
    return failed


def _call(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Have a loop call something, unless it is closed."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(call)


def _answer(
    engine: Engine,
    question: str,
    sources: Sequence[Source],
    show: Callable[[Sequence[Segment]], None],
    gone: threading.Event,
) -> Outcome:
    if not isinstance(engine, StreamingEngine):
        answer = attempt(engine, question, sources)
        show(answer.segments)
        return _outcome(engine, question, sources, answer, None)
    reader = AnswerReader(sources)
    pieces = engine.stream(question, sources)
    generation: Generation | None = None
    try:
        while not gone.is_set():
            try:
                piece = next(pieces)
            except StopIteration as end:
                generation = end.value
                break
            if shown := reader.add(piece):
                show(shown)
    finally:
        pieces.close()
    if shown := reader.end():
        show(shown)
    answer = reader.answer if generation is None else generation.read(sources)
    return _outcome(engine, question, sources, answer, generation)


def _outcome(
    engine: Engine,
    question: str,
    sources: Sequence[Source],
    answer: QuotedAnswer,
    generation: Generation | None,
) -> Outcome:
    near = nearest(engine, question, sources) if answer.abstained else ()
    return Outcome(rated(engine, question, answer), generation, near)
