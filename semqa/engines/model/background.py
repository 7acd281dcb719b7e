"""An event loop in a thread of its own, for callers that know nothing of asyncio."""

from __future__ import annotations

import asyncio
import threading
import weakref
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

__all__ = ["Background"]

_T = TypeVar("_T")


class _End:
    """What follows the last piece.

    Attributes:
        error: with which the work ended, kept here: where nobody listens any more, asyncio would log
            it when the garbage collector comes by.
    """

    error: Exception | None = None


class Background:
    """Runs coroutines for threads that wait for them; who is interrupted cancels what it began.

    The thread starts with the first coroutine, and ends when `close` is called or nobody holds the
    object any more.

    Args:
        name: of the thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._finalizer: weakref.finalize[..., Background] | None = None

    def run(self, coroutine: Coroutine[object, object, _T]) -> _T:
        """Run a coroutine to its end, and return or raise what it does."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(
        self, work: Callable[[Callable[[_T], None]], Coroutine[object, object, None]]
    ) -> Iterator[_T]:
        """Give what a coroutine hands out while it runs; closing the iterator cancels it.

        Args:
            work: is called with what takes the next piece.
        """
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
            while not isinstance(piece := queue.get(), _End):
                yield piece
            if piece.error is not None:
                raise piece.error
            future.result()  # raises where the work was cancelled: what came is not all of it
        finally:
            future.cancel()

    def close(self, last: Coroutine[object, object, object] | None = None) -> None:
        """Run a last coroutine, and end the thread."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is None:
            if last is not None:
                last.close()
            return
        if last is not None:
            asyncio.run_coroutine_threadsafe(last, loop).result()
        if self._finalizer is not None:
            self._finalizer()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(
                    target=_serve, args=(self._loop,), daemon=True, name=self._name
                )
                thread.start()
                self._finalizer = weakref.finalize(self, _stop, self._loop, thread)
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
    if thread is not threading.current_thread():
        thread.join(timeout=5)
