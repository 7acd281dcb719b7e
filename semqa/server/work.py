"""Work off the event loop: answers and documents in bounded threads, and models that load meanwhile.

Work is cancelled when no client waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread

from semqa.engines import GeneratingEngine, StreamingEngine
from semqa.engines.abstention import attempt, nearest, rated
from semqa.engines.base import PromptTooLongError
from semqa.engines.cancellation import CancelledError, cancelled_when
from semqa.errors import InputError, MissingExtraError, SemqaError, UnavailableError
from semqa.quotes.live import AnswerReader
from semqa.server.errors import BusyError, EngineFailedError, TooSlowError
from semqa.server.sse import while_there

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Sequence

    from fastapi import Request

    from semqa.engines import Engine
    from semqa.engines import Request as Question
    from semqa.engines.generation import Generation
    from semqa.quotes import Quote, QuotedAnswer, Segment, Source


_log = logging.getLogger("semqa.server")


class Outcome(NamedTuple):
    """What an engine answered.

    Attributes:
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
        self, engine: Engine, request: Question
    ) -> AsyncGenerator[Segment | Outcome, None]:
        """Give the segments of an answer as they come, and the outcome at the end.

        Closing the iterator gives the work up, and so does its time when it is over: an answer that
        waits is not begun, a stream ends at its next piece, and what is computed at the next source.
        """
        if self._there >= self._most:
            raise BusyError(
                f"{self._most} answers are under way or wait, which is the limit. Try again."
            )
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Sequence[Segment] | Outcome | BaseException] = asyncio.Queue()
        gone = threading.Event()

        def put(item: Sequence[Segment] | Outcome | BaseException) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(queue.put_nowait, item)

        def work() -> None:
            try:
                if not gone.is_set():
                    with cancelled_when(gone.is_set):
                        put(_answer(engine, request, put, gone))
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
                        f"The answer took more than {self._timeout:g} seconds. Try again."
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
        """End the threads and cancel what is under way; later answers get new threads."""
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
    of_model = isinstance(engine, (StreamingEngine, GeneratingEngine))
    if (
        not of_model
        or not isinstance(error, (InputError, UnavailableError))
        or isinstance(error, (PromptTooLongError, CancelledError))
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
    request: Question,
    show: Callable[[Sequence[Segment]], None],
    gone: threading.Event,
) -> Outcome:
    if not isinstance(engine, StreamingEngine):
        answer = rated(engine, request.understood, attempt(engine, request))
        show(answer.segments)
        return _outcome(engine, request, answer, None)
    reader = AnswerReader(request.sources)
    pieces = engine.stream(*request)
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
    answer = reader.answer if generation is None else generation.read(request.sources)
    return _outcome(engine, request, answer, generation)


def _outcome(
    engine: Engine, request: Question, answer: QuotedAnswer, generation: Generation | None
) -> Outcome:
    near = nearest(engine, request) if answer.abstained else ()
    return Outcome(rated(engine, request.understood, answer), generation, near)


AT_ONCE = 8
WAITING = 256

PATIENCE = 60.0
"""Seconds that a question waits for documents that are still being read."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Reading:
    """Threads of their own for requests that bring documents."""

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._turns = CapacityLimiter(at_once)
        self._waiting = waiting
        self._under_way: list[tuple[tuple[str, str], asyncio.Event]] = []

    @contextmanager
    def into(self, owner: str, collection: str) -> Iterator[None]:
        """Register that a collection is being added to, for `settled`."""
        added, done = (owner, collection), asyncio.Event()
        self._under_way.append((added, done))
        try:
            yield
        finally:
            self._under_way.remove((added, done))
            done.set()

    async def settled(self, owner: str, collection: str | Sequence[str] | None) -> None:
        """Wait until running uploads into collections are finished, at most `PATIENCE` seconds."""
        names = [collection] if isinstance(collection, str) else collection
        waited = [
            done
            for (whose, name), done in self._under_way
            if whose == owner and (names is None or name in names)
        ]
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                for done in waited:
                    await done.wait()

    async def run(self, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call something that blocks, when its turn comes; it goes on if the client leaves."""
        waiting = self._turns.statistics().tasks_waiting
        if waiting >= self._waiting:
            raise BusyError(
                f"{waiting} requests with documents wait, which is the limit. Try again."
            )
        return await to_thread.run_sync(partial(call, *args, **kwargs), limiter=self._turns)

    async def run_wanted(
        self,
        request: Request,
        seconds: float,
        call: Callable[_P, _T],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        """Call something that blocks, and looks now and then whether it is wanted.

        Raises:
            GoneError: the client left.
        """
        begun, over = threading.Event(), threading.Event()

        def wanted() -> _T:
            begun.set()
            with cancelled_when(over.is_set):
                return call(*args, **kwargs)

        # It keeps its turn until its thread ends, even if the client disconnects.
        work = asyncio.ensure_future(self.run(wanted))
        work.add_done_callback(_looked_at)
        try:
            async with asyncio.timeout(seconds):
                return await while_there(request, _end_of(work))
        except TimeoutError:
            raise TooSlowError(
                f"Reading the documents took more than {seconds:g} seconds. Send fewer."
            ) from None
        finally:
            over.set()
            if not begun.is_set():
                work.cancel()


async def _end_of(work: asyncio.Future[_T]) -> _T:
    return await asyncio.shield(work)


def _looked_at(work: asyncio.Future[_T]) -> None:
    if not work.cancelled():
        work.exception()  # so that asyncio does not log it


PAUSE = 1.0
"""Seconds before it begins: a server that is only looked at, or tried out, need not load a model."""

State = Literal["none", "loading", "ready", "failed"]

_log = logging.getLogger("semqa.server")


class Warming:
    """Loads the encoder of a library, which takes seconds, while requests are served already.

    Attributes:
        state: ``none`` if there is no encoder or it was not needed yet, ``loading``, ``ready``,
            or ``failed``: then the first search raises the load error.
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self.state: State = "none"

    def begin(self) -> None:
        """Load it in a thread of its own."""
        if getattr(self._library, "encoder", None) is None or self._thread is not None:
            return
        self.state = "loading"
        # No daemon: packages that are being loaded do not bear that the interpreter ends.
        self._thread = threading.Thread(target=self._load, name="semqa-warming")
        self._thread.start()

    def end(self, leave: Callable[[], object]) -> None:
        """Stop; a model that is being loaded cannot be stopped, so the process ends."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(0.2)
            if self._thread.is_alive():
                leave()

    def _load(self) -> None:
        if self._over.wait(PAUSE):
            return
        try:
            self._library.warm()
            self.state = "ready"
        except SemqaError as error:
            _log.warning(f"the encoder cannot be loaded: {error}")
            self.state = "failed"
        except Exception:  # noqa: BLE001  (the first search raises it)
            _log.exception("the encoder cannot be loaded")
            self.state = "failed"


def one_after_the_other(
    read: Callable[[Sequence[Source]], object],
) -> Callable[[Sequence[Source]], None]:
    """Return a function that reads passages in the background, so that uploads do not wait."""
    turn = threading.Lock()

    def work(sources: Sequence[Source]) -> None:
        with turn:
            read(sources)

    def begin(sources: Sequence[Source]) -> None:
        # A question reads what was not read when the server ended.
        threading.Thread(target=work, args=(sources,), name="semqa-ahead", daemon=True).start()

    return begin
