"""Server-sent events, and work that is cancelled when the client disconnects."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from fastapi import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from semqa.server.errors import DisconnectedError

PING = 15.0
"""Seconds without events after which a comment is sent, so that proxies do not time out."""

_T = TypeVar("_T")


def dumps(value: object) -> str:
    """Serialize to JSON in ASCII, because some clients split lines at more characters than LF."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def event(data: object, name: str | None = None) -> bytes:
    r"""Format one event.

    Example:
        >>> event({"text": "é"}, "text")
        b'event: text\ndata: {"text":"\\u00e9"}\n\n'
    """
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {dumps(data)}\n\n".encode()


class EventStream(Response):
    """A response that sends events as they arrive, and stops when the client disconnects.

    Args:
        events: the formatted events; closed when the response ends.
        cut: returns the last event to send if the server shuts down first.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes, None], cut: Callable[[], bytes]) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._events = events
        self._cut = cut
        self._begun = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        del scope
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_wait_for_disconnect(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        except asyncio.CancelledError:
            # The server shuts down, and the time for open answers is over.
            await _cancel(sending)
            if self._begun and sending.cancelled():
                await send({"type": "http.response.body", "body": self._cut(), "more_body": False})
            raise
        finally:
            await _cancel(sending, leaving)
            await self._events.aclose()

    async def _send(self, send: Send) -> None:
        self._begun = True
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        ready: list[bytes] = []
        available = asyncio.Event()

        async def gather() -> None:
            async for each in self._events:
                ready.append(each)
                available.set()

        gathering = asyncio.ensure_future(gather())
        gathering.add_done_callback(lambda _: available.set())
        try:
            while not gathering.done() or ready:
                # Not asyncio.wait_for, which may lose a cancellation in Python 3.11.
                with suppress(TimeoutError):
                    async with asyncio.timeout(PING):
                        await available.wait()
                available.clear()
                # Send all available events at once: some engines yield the whole answer together.
                body = b"".join(ready) or (b"" if gathering.done() else b": still there\n\n")
                ready.clear()
                if body:
                    await send({"type": "http.response.body", "body": body, "more_body": True})
            gathering.result()
        finally:
            await _cancel(gathering)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def while_connected(request: Request, work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine, and cancel it if the client disconnects.

    Raises:
        DisconnectedError: if the client disconnected.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_wait_for_disconnect(request.receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise DisconnectedError
    finally:
        await _cancel(working, leaving)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancel(*tasks: asyncio.Future[Any]) -> None:
    """Cancel unfinished tasks, and wait for all tasks."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log it


async def await_first(events: AsyncGenerator[_T, None]) -> AsyncGenerator[_T, None]:
    """Wait for the first event, then return an iterator over all events.

    So an early error can still set the status of the reply.
    """
    try:
        first = await anext(events)
    except BaseException:
        await events.aclose()
        raise
    return _prepend(first, events)


async def _prepend(first: _T, events: AsyncGenerator[_T, None]) -> AsyncGenerator[_T, None]:
    try:
        yield first
        async for each in events:
            yield each
    finally:
        await events.aclose()
