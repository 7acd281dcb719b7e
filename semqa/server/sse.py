"""A stream of server-sent events, and work that ends when its client is gone."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.responses import Response

from semqa.server.errors import GoneError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

    from fastapi import Request
    from starlette.types import Receive, Scope, Send

PING = 15.0
"""Seconds of silence after which a comment is sent, so that nothing between gives the stream up."""

_T = TypeVar("_T")


def dumps(value: object) -> str:
    """Write JSON in ASCII: some clients split lines at other characters than LF."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def event(data: object, name: str | None = None) -> bytes:
    r"""Write one event.

    Example:
        >>> event({"text": "é"}, "text")
        b'event: text\ndata: {"text":"\\u00e9"}\n\n'
    """
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {dumps(data)}\n\n".encode()


class EventStream(Response):
    """Sends events while they come, and closes their source when the client leaves.

    Args:
        cut: what to send if the server ends before they do.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes, None], cut: Callable[[], bytes]) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._events = events
        self._cut = cut
        self._begun = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it all."""
        del scope
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        except asyncio.CancelledError:
            # The time that open answers get is over.
            await _end(sending)
            if self._begun and sending.cancelled():
                await send({"type": "http.response.body", "body": self._cut(), "more_body": False})
            raise
        finally:
            await _end(sending, leaving)
            await self._events.aclose()

    async def _send(self, send: Send) -> None:
        self._begun = True
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        ready: list[bytes] = []
        some = asyncio.Event()

        async def gather() -> None:
            async for each in self._events:
                ready.append(each)
                some.set()

        gathering = asyncio.ensure_future(gather())
        gathering.add_done_callback(lambda _: some.set())
        try:
            while not gathering.done() or ready:
                # Not wait_for, which may lose a cancellation (Python 3.11).
                with suppress(TimeoutError):
                    async with asyncio.timeout(PING):
                        await some.wait()
                some.clear()
                # What came at once goes out at once: an engine may give all of its answer together.
                body = b"".join(ready) or (b"" if gathering.done() else b": still there\n\n")
                ready.clear()
                if body:
                    await send({"type": "http.response.body", "body": body, "more_body": True})
            gathering.result()
        finally:
            await _end(gathering)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def while_there(request: Request, work: Coroutine[Any, Any, _T]) -> _T:
    """Do something for a client as long as it is there.

    Raises:
        GoneError: it left; the work was cancelled.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request.receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise GoneError
    finally:
        await _end(working, leaving)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks that are not done, and wait for all."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # looked at, so that asyncio does not log it


async def primed(events: AsyncGenerator[_T, None]) -> AsyncGenerator[_T, None]:
    """Wait for the first of some events, and give them all.

    So what fails at once is told by the status of the reply.
    """
    try:
        first = await anext(events)
    except BaseException:
        await events.aclose()
        raise
    return _after(first, events)


async def _after(first: _T, events: AsyncGenerator[_T, None]) -> AsyncGenerator[_T, None]:
    try:
        yield first
        async for each in events:
            yield each
    finally:
        await events.aclose()
