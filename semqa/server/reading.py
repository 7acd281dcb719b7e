"""Reading documents apart from all else: it takes long, and must not keep other requests waiting."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread

from semqa.engines.wanted import while_wanted
from semqa.server.errors import BusyError, TooSlowError
from semqa.server.sse import while_there

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fastapi import Request

__all__ = ["Reading"]

AT_ONCE = 8
WAITING = 256

PATIENCE = 60.0
"""Seconds that a question waits for documents that are still being read."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Reading:
    """Threads of their own for requests that bring documents.

    Args:
        at_once: most requests under way.
        waiting: most requests that wait for their turn.
    """

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._turns = CapacityLimiter(at_once)
        self._waiting = waiting
        self._under_way: list[tuple[tuple[str, str], asyncio.Event]] = []

    @contextmanager
    def into(self, owner: str, collection: str) -> Iterator[None]:
        """Say that a collection is being added to, for `settled`."""
        added, done = (owner, collection), asyncio.Event()
        self._under_way.append((added, done))
        try:
            yield
        finally:
            self._under_way.remove((added, done))
            done.set()

    async def settled(self, owner: str, collection: str | Sequence[str] | None) -> None:
        """Wait until what is being added to collections is there, at most `PATIENCE` seconds.

        Args:
            owner: whose.
            collection: name or names; None for all.
        """
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
        """Call something that blocks, when its turn comes; it goes on if the client leaves.

        Raises:
            BusyError: too many wait.
        """
        waiting = self._turns.statistics().tasks_waiting
        if waiting >= self._waiting:
            raise BusyError(
                f"too many documents at once: got {waiting + 1} requests that wait, expected at "
                f"most {self._waiting}; try again"
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

        Args:
            request: when its client leaves, it is not.
            seconds: nor when these are over, waiting included.
            call: what to call; it uses `check_wanted`.
            args: of it.
            kwargs: of it.

        Raises:
            BusyError: too many wait.
            TooSlowError: the time is over.
            GoneError: the client left.
        """
        begun, over = threading.Event(), threading.Event()

        def wanted() -> _T:
            begun.set()
            with while_wanted(lambda: not over.is_set()):
                return call(*args, **kwargs)

        # Its turn is taken until its thread ends, however soon nobody waits for it.
        work = asyncio.ensure_future(self.run(wanted))
        work.add_done_callback(_looked_at)
        try:
            async with asyncio.timeout(seconds):
                return await while_there(request, _end_of(work))
        except TimeoutError:
            raise TooSlowError(
                f"the documents took too long: got no end of them in {seconds:g} seconds, expected "
                "one; send fewer, or raise --request-timeout"
            ) from None
        finally:
            over.set()
            if not begun.is_set():
                work.cancel()


async def _end_of(work: asyncio.Future[_T]) -> _T:
    return await asyncio.shield(work)


def _looked_at(work: asyncio.Future[_T]) -> None:
    if not work.cancelled():
        work.exception()  # so that asyncio does not log what nobody waits for
