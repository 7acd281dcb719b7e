"""An event loop in a background thread, for synchronous callers."""

from __future__ import annotations

import asyncio
import threading
import weakref
from concurrent.futures import wait
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from semqa.engines.cancellation import POLL_INTERVAL, check_cancelled, take

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import TypeAlias

    _Cleanup: TypeAlias = Callable[[], Coroutine[object, object, object]]

_T = TypeVar("_T")

_GRACE_PERIOD = 1.0
"""Seconds that running tasks get to finish before they are cancelled at shutdown."""


class _EndMarker:
    """End marker of a queue, with the error if any; asyncio would log an unretrieved one."""

    error: Exception | None = None


class Background:
    """Runs coroutines for threads that wait for them; interrupting a wait cancels the coroutine.

    The thread starts with the first coroutine. It ends when `close` is called or the object is
    garbage-collected.

    Args:
        last: returns a coroutine to run before the thread ends. It must not reference this object.
    """

    def __init__(self, name: str, last: _Cleanup | None = None) -> None:
        self._name = name
        self._last = last
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._finalizer: weakref.finalize[..., Background] | None = None

    def run(self, coroutine: Coroutine[object, object, _T]) -> _T:
        """Run a coroutine and return its result or raise its exception."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        try:
            while not wait([future], timeout=POLL_INTERVAL).done:
                check_cancelled()
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(
        self, work: Callable[[Callable[[_T], None]], Coroutine[object, object, None]]
    ) -> Iterator[_T]:
        """Yield the items that a coroutine emits as it runs; closing the iterator cancels it."""
        queue: SimpleQueue[_T | _EndMarker] = SimpleQueue()

        async def watched() -> None:
            end = _EndMarker()
            try:
                await work(queue.put)
            except Exception as error:  # noqa: BLE001  (raised again by the consumer)
                end.error = error
            finally:
                queue.put(end)

        future = asyncio.run_coroutine_threadsafe(watched(), self._started())
        try:
            while not isinstance(piece := take(queue), _EndMarker):
                yield piece
            if piece.error is not None:
                raise piece.error
            future.result()  # raises if the work was cancelled, as the items are then incomplete
        finally:
            future.cancel()

    def close(self) -> None:
        """End the thread; a later coroutine starts a new one."""
        with self._lock:
            self._loop, finalizer, self._finalizer = None, self._finalizer, None
        if finalizer is not None:
            finalizer()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(
                    target=_run_loop, args=(self._loop, self._last), daemon=True, name=self._name
                )
                thread.start()
                self._finalizer = weakref.finalize(self, _stop, self._loop, thread)
            return self._loop


def _run_loop(loop: asyncio.AbstractEventLoop, last: _Cleanup | None) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        try:
            loop.run_until_complete(_shut_down(last))
        finally:
            loop.close()


async def _shut_down(last: _Cleanup | None) -> None:
    """Let running tasks finish or cancel them, and leave nothing open.

    A cancelled task may close its connection in a new task. That task must not be cancelled, or the
    connection would stay open.
    """
    this = asyncio.current_task()
    if last is not None:
        await asyncio.gather(last(), return_exceptions=True)
    if tasks := asyncio.all_tasks() - {this}:
        _, pending = await asyncio.wait(tasks, timeout=_GRACE_PERIOD)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
    while tasks := asyncio.all_tasks() - {
        this
    }:  # tasks that were started meanwhile by the garbage collector
        await asyncio.wait(tasks)
    await asyncio.sleep(0)  # transports close in the loop's next iteration


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
    if thread is not threading.current_thread():
        thread.join(timeout=5)
