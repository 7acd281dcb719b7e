"""An event loop in a background thread leaves nothing open when it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from typing import cast

import pytest

from semqa.engines.model.background import Background


def threads(name: str) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == name]


def test_cleanup_runs_once_even_without_close() -> None:
    ended: list[str] = []

    async def last() -> None:
        ended.append(threading.current_thread().name)

    for name in ("closed", "abandoned"):
        background = Background(name, last)
        background.run(asyncio.sleep(0))
        if name == "closed":
            background.close()
            background.close()
        del background
        assert not threads(name)
    assert ended == ["closed", "abandoned"]


@pytest.mark.parametrize("interruption", ["by its caller", "when the loop ends"])
def test_started_cleanup_is_finished(interruption: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A closing task is not cancelled together with the task that started it."""
    monkeypatch.setattr("semqa.engines.model.background._GRACE_PERIOD", 0.1)
    closed, cancelled = threading.Event(), threading.Event()

    async def close() -> None:
        await asyncio.sleep(0.05)
        closed.set()

    async def work(put: Callable[[int], None]) -> None:
        put(1)
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()
            await asyncio.shield(close())

    background = Background("closing")
    pieces = cast("Generator[int]", background.iterate(work))
    assert next(pieces) == 1
    if interruption == "by its caller":
        pieces.close()
    background.close()
    assert cancelled.is_set()
    assert closed.is_set()
    assert not threads("closing")


def test_an_abandoned_generator_is_closed_too() -> None:
    closed = threading.Event()

    async def connection() -> AsyncGenerator[int]:
        try:
            yield 1
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            closed.set()

    async def work() -> None:
        open_ones.append(connection())
        assert await anext(open_ones[0]) == 1

    open_ones: list[AsyncGenerator[int]] = []
    background = Background("generator")
    background.run(work())
    background.close()
    assert closed.is_set()
