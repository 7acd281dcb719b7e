"""Documents that take long to read keep nobody waiting who does not bring any."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from semqa.errors import NotFoundError
from semqa.server.errors import BusyError
from semqa.server.work import Reading
from tests.server.serving import serving
from tests.server.stand_ins import Library

MANY = 60
"""More than there are threads for all other requests."""


class Endless(Library):
    """Reads until it is told to stop."""

    def __init__(self) -> None:
        super().__init__()
        self.stop = threading.Event()
        self.begun = threading.Semaphore(0)

    def collection(self, owner: str, name: str) -> Any:
        self.begun.release()
        assert self.stop.wait(60)
        raise NotFoundError(f"{owner} has no {name}")


def test_others_are_served_while_documents_are_read() -> None:
    library = Endless()
    with serving(library=library) as url, ThreadPoolExecutor(MANY) as pool:

        def upload(number: int) -> int:
            files = {"file": (f"{number}.txt", b"text")}
            path = f"{url}/v1/collections/c/documents"
            return httpx.post(path, files=files, timeout=60).status_code

        try:
            replies = [pool.submit(upload, number) for number in range(MANY)]
            assert library.begun.acquire(timeout=20)
            for path in ("/readyz", "/v1/models"):
                assert httpx.get(f"{url}{path}", timeout=10).status_code == 200
        finally:
            library.stop.set()
        assert {reply.result() for reply in replies} == {404}


def test_an_upload_that_a_server_has_no_time_for_is_told_that_it_ends() -> None:
    library = Endless()
    try:
        with serving(library=library, drain=0.5) as url, ThreadPoolExecutor(1) as pool:
            path, files = f"{url}/v1/collections/c/documents", {"file": ("a.txt", b"text")}
            reply = pool.submit(httpx.post, path, files=files, timeout=60)
            assert library.begun.acquire(timeout=20)
            url.running.stop()
            told = reply.result(30)
            assert told.status_code == 503
            assert "shutting down" in told.json()["error"]["message"]
            assert told.headers["retry-after"] == "5"
            library.stop.set()
    finally:
        library.stop.set()


def test_too_many_are_turned_away() -> None:
    async def ask() -> None:
        reading, stop = Reading(at_once=1, waiting=1), threading.Event()
        under_way = [asyncio.ensure_future(reading.run(stop.wait, 30)) for _ in range(2)]
        await asyncio.sleep(0.1)
        with pytest.raises(BusyError, match="wait"):
            await reading.run(stop.wait, 30)
        stop.set()
        assert await asyncio.gather(*under_way) == [True, True]
        assert await reading.run(stop.wait, 30)

    asyncio.run(ask())
