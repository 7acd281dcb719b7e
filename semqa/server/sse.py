"""Server-sent events, and work that is cancelled when the client disconnects."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, TypeVar

from fastapi import Request
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

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


class EventStream(StreamingResponse):
    """A response that sends events as they arrive, and stops when the client disconnects.

    `cut` returns the last event to send if the server shuts down first.
    """

    def __init__(self, events: AsyncGenerator[bytes, None], cut: Callable[[], bytes]) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(self._chunks(), headers=headers, media_type="text/event-stream")
        self._events = events
        self._cut = cut
        self._next: asyncio.Future[bytes] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = ended = False

        async def note(message: Message) -> None:
            nonlocal begun, ended
            begun = True
            ended = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        try:
            await super().__call__(scope, receive, note)
        except asyncio.CancelledError:
            # The server shuts down, and the time for open answers is over.
            if begun and not ended:
                await send({"type": "http.response.body", "body": self._cut(), "more_body": False})
            raise
        finally:
            # Not in `_chunks`: within its cancelled scope, nothing could be awaited.
            if self._next is not None:
                await _cancel(self._next)
            await self._events.aclose()

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        while True:
            if self._next is None:
                self._next = asyncio.ensure_future(anext(self._events))
            await asyncio.wait({self._next}, timeout=PING)
            if not self._next.done():
                yield b": still there\n\n"
                continue
            chunk, self._next = self._next, None
            try:
                yield chunk.result()
            except StopAsyncIteration:
                return


async def while_connected(request: Request, work: Awaitable[_T]) -> _T:
    """Await some work; cancel it and raise `DisconnectedError` if the client disconnects."""
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
