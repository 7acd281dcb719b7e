"""Work outside the event loop: answers and documents in bounded thread pools, and model loading.

Work is cancelled when its client disconnects.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Literal, ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Request

from semqa.engines import Engine, GeneratingEngine, StreamingEngine
from semqa.engines import Request as Question
from semqa.engines.base import Generation
from semqa.engines.cancellation import CancelledError, cancelled_when
from semqa.engines.outcome import Outcome, attempt, outcome_of
from semqa.errors import (
    InputError,
    MissingExtraError,
    PromptTooLongError,
    SemqaError,
    UnavailableError,
)
from semqa.quotes import Segment, Source
from semqa.quotes.live import AnswerReader
from semqa.server.errors import BusyError, EngineFailedError, TooSlowError
from semqa.server.sse import while_connected

_log = logging.getLogger("semqa.server")


class Workers:
    """Runs engines in threads.

    Streaming engines mostly wait for a model, so they share a pool of `at_once` threads. Other
    engines are CPU-bound, so their pool has at most one thread per CPU core. The timeout includes
    the time in the queue.
    """

    def __init__(self, at_once: int, waiting: int, timeout: float) -> None:
        self._timeout = timeout
        self._most = at_once + waiting
        self.under_way = 0
        self._at_once = at_once
        self._pools: dict[bool, ThreadPoolExecutor] = {}

    async def answer(
        self, engine: Engine, request: Question
    ) -> AsyncGenerator[Segment | Outcome, None]:
        """Yield the segments of an answer as they arrive, and finally the outcome.

        Closing the iterator cancels the work, and so does the timeout. A queued answer is not
        started, a stream stops at its next piece, and a computation stops at the next source.
        """
        if self.under_way >= self._most:
            raise BusyError(
                f"Too many requests: {self._most} answers are running or queued. Try again."
            )
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Sequence[Segment] | Outcome | BaseException] = asyncio.Queue()
        cancelled = threading.Event()

        def put(item: Sequence[Segment] | Outcome | BaseException) -> None:
            _call(loop, partial(queue.put_nowait, item))

        def work() -> None:
            try:
                if not cancelled.is_set():
                    with cancelled_when(cancelled.is_set):
                        put(_answer(engine, request, put, cancelled))
            except BaseException as error:  # noqa: BLE001  (raised again below)
                if not cancelled.is_set():  # closing a connection makes its reader fail
                    put(public_error(engine, error))

        future = self._pool(isinstance(engine, StreamingEngine)).submit(work)
        self.under_way += 1
        future.add_done_callback(lambda _: _call(loop, self._on_done))
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
                        f"The answer took longer than {self._timeout:g} seconds. Try again."
                    ) from None
                if isinstance(item, BaseException):
                    raise item
                if isinstance(item, Outcome):
                    yield item
                    return
                for segment in item:
                    yield segment
        finally:
            cancelled.set()
            future.cancel()

    def close(self) -> None:
        """Shut the pools down and cancel queued answers; later answers get new pools."""
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            pool.shutdown(wait=False, cancel_futures=True)

    def _pool(self, streams: bool) -> ThreadPoolExecutor:
        if streams not in self._pools:
            threads = self._at_once if streams else min(self._at_once, os.cpu_count() or 1)
            self._pools[streams] = ThreadPoolExecutor(threads, "semqa-answer")
        return self._pools[streams]

    def _on_done(self) -> None:
        self.under_way -= 1


def public_error(engine: Engine, error: BaseException) -> BaseException:
    """Return an engine's error in a form that clients may see.

    Errors of a model server may contain its address or key, so they are logged and replaced. An
    error about a prompt that is too long is kept, because the client can fix it.
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
    """Call a function in an event loop, unless the loop is closed."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(call)


def _answer(
    engine: Engine,
    request: Question,
    show: Callable[[Sequence[Segment]], None],
    cancelled: threading.Event,
) -> Outcome:
    if not isinstance(engine, StreamingEngine):
        outcome = outcome_of(engine, request, attempt(engine, request))
        show(outcome.answer.segments)
        return outcome
    reader = AnswerReader(request.sources)
    pieces = engine.stream(*request)
    generation: Generation | None = None
    try:
        while not cancelled.is_set():
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
    return outcome_of(engine, request, answer, generation)


AT_ONCE = 8
WAITING = 256

UPLOAD_WAIT = 60.0
"""Maximum seconds that a question waits for running uploads."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class DocumentWorkers:
    """A separate thread pool for requests that contain documents."""

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._turns = CapacityLimiter(at_once)
        self._waiting = waiting
        self._uploads: list[tuple[tuple[str, str], asyncio.Event]] = []

    @contextmanager
    def uploading(self, owner: str, collection: str) -> Iterator[None]:
        """Register an upload to a collection, for `wait_for_uploads`."""
        done = asyncio.Event()
        upload = (owner, collection), done
        self._uploads.append(upload)
        try:
            yield
        finally:
            self._uploads.remove(upload)
            done.set()

    async def wait_for_uploads(self, owner: str, collection: str | Sequence[str] | None) -> None:
        """Wait for running uploads to collections; raise `BusyError` after `UPLOAD_WAIT` seconds."""
        names = [collection] if isinstance(collection, str) else collection
        uploads = [
            done
            for (uploader, name), done in self._uploads
            if uploader == owner and (names is None or name in names)
        ]
        try:
            async with asyncio.timeout(UPLOAD_WAIT):
                for done in uploads:
                    await done.wait()
        except TimeoutError:
            raise BusyError(
                "Documents that were uploaded are still being processed. Ask again when they are "
                "done, or choose another collection."
            ) from None

    async def run(self, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run a blocking call in the pool. It continues if the client disconnects."""
        waiting = self._turns.statistics().tasks_waiting
        if waiting >= self._waiting:
            raise BusyError(
                f"Too many requests: {waiting} requests with documents are queued. Try again."
            )
        return await to_thread.run_sync(partial(call, *args, **kwargs), limiter=self._turns)

    async def run_cancellable(
        self,
        request: Request,
        seconds: float,
        call: Callable[_P, _T],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        """Run a blocking call that is cancelled if the client disconnects or the time is over."""
        started, cancelled = threading.Event(), threading.Event()

        def cancellable() -> _T:
            started.set()
            with cancelled_when(cancelled.is_set):
                return call(*args, **kwargs)

        # The call keeps its slot in the pool until its thread ends, even if the client disconnects.
        work = asyncio.ensure_future(self.run(cancellable))
        work.add_done_callback(_consume_exception)
        try:
            async with asyncio.timeout(seconds):
                return await while_connected(request, asyncio.shield(work))
        except TimeoutError:
            raise TooSlowError(
                f"Reading the documents took longer than {seconds:g} seconds. Send fewer."
            ) from None
        finally:
            cancelled.set()
            if not started.is_set():
                work.cancel()


def _consume_exception(work: asyncio.Future[_T]) -> None:
    if not work.cancelled():
        work.exception()  # so that asyncio does not log it


PAUSE = 1.0
"""Seconds before loading starts, so that short-lived servers do not load a model."""

State = Literal["none", "loading", "ready", "failed"]


class LibraryLoader:
    """Opens a library and loads its encoder in the background while requests are served.

    The state is ``none`` if there is no encoder or loading has not started. If it is ``failed``, the
    first search raises the load error.
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.state: State = "none"

    def begin(self) -> None:
        """Start loading in a separate thread."""
        if self._thread is not None:
            return
        if self._library.encoder is not None:
            self.state = "loading"
        # Not a daemon: some packages crash if the interpreter exits while they are imported.
        self._thread = threading.Thread(target=self._load, name="semqa-warming")
        self._thread.start()

    def end(self, leave: Callable[[], object]) -> None:
        """Stop loading, or call `leave` to kill the process if a model is being loaded."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(0.2)
            if self._thread.is_alive():
                leave()

    def _load(self) -> None:
        if self._stopped.wait(PAUSE):
            return
        ended: State = "ready"
        try:
            self._library.warm_up()
        except SemqaError as error:
            _log.warning(f"the collections cannot be prepared: {error}")
            ended = "failed"
        except Exception:  # noqa: BLE001  (the first search raises the error)
            _log.exception("the collections cannot be prepared")
            ended = "failed"
        if self.state == "loading":
            self.state = ended


def in_background(
    read: Callable[[Sequence[Source]], object],
) -> Callable[[Sequence[Source]], None]:
    """Return a function that processes passages in background threads, one call at a time."""
    lock = threading.Lock()

    def work(sources: Sequence[Source]) -> None:
        with lock:
            read(sources)

    def start(sources: Sequence[Source]) -> None:
        # If the server stops first, the next question processes the passages.
        threading.Thread(target=work, args=(sources,), name="semqa-ahead", daemon=True).start()

    return start
