"""Work outside the event loop: reading documents, and loading models in the background."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx
import pytest

from semqa import Source
from semqa.engines import Request
from semqa.errors import NotFoundError, UnavailableError
from semqa.server import work
from semqa.server.errors import BusyError, EngineFailedError
from semqa.server.work import DocumentWorkers, LibraryLoader, Workers
from tests.server.serving import client, serving
from tests.server.stand_ins import Library, Written
from tests.server.test_gone import eventually

MANY = 60
"""More than the number of threads for other requests."""


class Endless(Library):
    """Blocks until it is stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.stop = threading.Event()
        self.begun = threading.Semaphore(0)

    def collection(self, owner: str, name: str) -> Any:
        self.begun.release()
        assert self.stop.wait(60)
        raise NotFoundError(f"{owner} has no {name}")


class Cut(Written):
    """Streams a word, and fails once its connection is closed."""

    def __init__(self) -> None:
        super().__init__("By")
        self.closed = threading.Event()

    def stream(
        self, question: str, sources: Sequence[Source], history: Any = ()
    ) -> Generator[str, None, None]:
        yield self.text
        assert self.closed.wait(60)
        raise UnavailableError(f"no answer to {question!r}")


def test_an_error_of_a_cancelled_answer_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def logged(*, cancelled: bool) -> bool:
        engine, workers = Cut(), Workers(1, 1, 60.0)
        answer = workers.answer(engine, Request("Who?", [Source("By Ann.")]))
        await anext(answer)
        if cancelled:
            await answer.aclose()
        engine.closed.set()
        with suppress(EngineFailedError, StopAsyncIteration):
            while True:
                await anext(answer)
        while workers.under_way:
            await asyncio.sleep(0.01)
        return "the engine failed" in caplog.text

    assert not asyncio.run(logged(cancelled=True))
    assert asyncio.run(logged(cancelled=False))


def test_others_are_served_while_documents_are_read() -> None:
    library = Endless()
    with (
        serving(library=library) as url,
        httpx.Client(base_url=url, timeout=60) as http,  # one, because making it takes 30 ms
        ThreadPoolExecutor(MANY) as pool,
    ):

        def upload(number: int) -> int:
            files = {"file": (f"{number}.txt", b"text")}
            return http.post("/v1/collections/c/documents", files=files).status_code

        try:
            replies = [pool.submit(upload, number) for number in range(MANY)]
            assert library.begun.acquire(timeout=20)
            for path in ("/readyz", "/v1/models"):
                assert http.get(path, timeout=10).status_code == 200
        finally:
            library.stop.set()
        assert {reply.result() for reply in replies} == {404}


def test_an_upload_cut_by_shutdown_says_so() -> None:
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


def test_too_many_documents_are_refused() -> None:
    async def ask() -> None:
        workers, stop = DocumentWorkers(at_once=1, waiting=1), threading.Event()
        under_way = [asyncio.ensure_future(workers.run(stop.wait, 30)) for _ in range(2)]
        await asyncio.sleep(0.1)
        with pytest.raises(BusyError, match="Too many requests"):
            await workers.run(stop.wait, 30)
        stop.set()
        assert await asyncio.gather(*under_way) == [True, True]
        assert await workers.run(stop.wait, 30)

    asyncio.run(ask())


class Encoded(Library):
    """Collections with an encoder that finishes loading when a test allows it."""

    encoder: str | None = "letters"

    def __init__(self, fails: Exception | None = None) -> None:
        super().__init__()
        self.go, self.begun, self.fails = threading.Event(), threading.Event(), fails

    def warm_up(self) -> None:
        self.begun.set()
        assert self.go.wait(20)
        if self.fails is not None:
            raise self.fails


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "PAUSE", 0.0)


def test_readyz_shows_the_state_of_the_encoder() -> None:
    library = Encoded()
    with client(library=library) as server:

        def state() -> object:
            reply = server.get("/readyz")
            assert reply.status_code == 200
            return reply.json()["encoder"]

        assert state() == "none"
        begun: LibraryLoader = server.app.state.warming  # type: ignore[attr-defined]
        begun.begin()
        assert library.begun.wait(10)
        assert state() == "loading"
        library.go.set()
        assert eventually(lambda: state() == "ready")
        left: list[int] = []
        begun.end(lambda: left.append(1))
        assert left == []


def test_a_library_without_an_encoder_is_opened_as_well() -> None:
    library = Encoded()
    library.encoder = None
    library.go.set()
    begun = LibraryLoader(library)
    begun.begin()
    assert library.begun.wait(10)
    begun.end(lambda: None)
    assert begun.state == "none"


def test_shutdown_does_not_wait_for_the_encoder() -> None:
    library = Encoded()
    begun = LibraryLoader(library)
    begun.begin()
    assert library.begun.wait(10)
    left = threading.Event()
    begun.end(left.set)
    assert left.is_set()
    library.go.set()
