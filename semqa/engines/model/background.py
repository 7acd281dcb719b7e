"""An event loop in a thread of its own, for callers that know nothing of asyncio."""

from __future__ import annotations

import asyncio
import threading
import weakref
from concurrent.futures import wait
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from semqa.engines.cancellation import BETWEEN_LOOKS, check_cancelled, take

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import TypeAlias

    _Last: TypeAlias = Callable[[], Coroutine[object, object, object]]

_T = TypeVar("_T")

_PATIENCE = 1.0
"""Seconds in which what runs when the loop is to end may end by itself."""


class _End:
    """Follows the last piece, with the error: asyncio would log one that nobody listens for."""

    error: Exception | None = None


class Background:
    """Runs coroutines for threads that wait for them; who is interrupted cancels what it began.

    The thread starts with the first coroutine, and ends when `close` is called or nobody holds the
    object any more.

    Args:
        last: makes the coroutine that runs before the thread ends. It must not hold this object.
    """

    def __init__(self, name: str, last: _Last | None = None) -> None:
        self._name = name
        self._last = last
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._finalizer: weakref.finalize[..., Background] | None = None

    def run(self, coroutine: Coroutine[object, object, _T]) -> _T:
        """Run a coroutine to its end, and return or raise what it does."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        try:
            while not wait([future], timeout=BETWEEN_LOOKS).done:
                check_cancelled()
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(
        self, work: Callable[[Callable[[_T], None]], Coroutine[object, object, None]]
    ) -> Iterator[_T]:
        """Give what a coroutine hands out while it runs; closing the iterator cancels it."""
        queue: SimpleQueue[_T | _End] = SimpleQueue()

        async def watched() -> None:
            end = _End()
            try:
                await work(queue.put)
            except Exception as error:  # noqa: BLE001  (raised again by who listens)
                end.error = error
            finally:
                queue.put(end)

        future = asyncio.run_coroutine_threadsafe(watched(), self._started())
        try:
            while not isinstance(piece := take(queue), _End):
                yield piece
            if piece.error is not None:
                raise piece.error
            future.result()  # raises where the work was cancelled: what came is not all of it
        finally:
            future.cancel()

    def close(self) -> None:
        """End the thread; a coroutine begun afterwards starts another."""
        with self._lock:
            self._loop, finalizer, self._finalizer = None, self._finalizer, None
        if finalizer is not None:
            finalizer()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(
                    target=_serve, args=(self._loop, self._last), daemon=True, name=self._name
                )
                thread.start()
                self._finalizer = weakref.finalize(self, _stop, self._loop, thread)
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop, last: _Last | None) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        try:
            loop.run_until_complete(_end(last))
        finally:
            loop.close()


async def _end(last: _Last | None) -> None:
    """End what runs, and leave nothing open.

    What was cancelled may still close its connection, in a task of its own: were that one cancelled
    too, the connection would stay open.
    """
    this = asyncio.current_task()
    if last is not None:
        await asyncio.gather(last(), return_exceptions=True)
    if tasks := asyncio.all_tasks() - {this}:
        _, pending = await asyncio.wait(tasks, timeout=_PATIENCE)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
    while tasks := asyncio.all_tasks() - {this}:  # what the garbage collector began meanwhile
        await asyncio.wait(tasks)
    await asyncio.sleep(0)  # a transport closes in the loop's next round


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
    if thread is not threading.current_thread():
        thread.join(timeout=5)
