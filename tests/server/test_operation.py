"""Failures in operation: a full disk, an unavailable database, a failing model, and shutdown."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from semqa.errors import UnavailableError
from semqa.retrieval.passages import Library as Real
from semqa.retrieval.passages import collection as of_collection
from semqa.server.errors import as_error
from semqa.server.store import Store as RealStore
from tests.engines.openai import server as endpoint
from tests.server.serving import APIS, asking, client, serving
from tests.server.stand_ins import Conversation, Slow, Store, Written
from tests.server.test_gone import eventually
from tests.server.test_models import model

ASKED = {"question": "Who sang?", "sources": [{"text": "Bing Crosby sang it."}]}


class Away(Store):
    """A database that is unavailable."""

    def keys(self) -> list[str]:
        raise UnavailableError("postgresql://ann@db.internal/semqa: got 'refused', expected it")


def test_an_unavailable_database_is_reported() -> None:
    with client(Written("[ 1 Bing ]"), store=Away()) as server:
        assert server.get("/healthz").status_code == 200
        ready = server.get("/readyz")
        assert ready.status_code == 503
        assert "database" in ready.json()["reason"]
        for path in ("/", "/page/main.js"):
            assert server.get(path).status_code == 200
        reply = server.post("/v1/answers", json=ASKED)
        assert reply.status_code == 503
        assert reply.json()["error"]["type"] == "overloaded_error"
        assert reply.headers["retry-after"]
        assert "db.internal" not in reply.text + ready.text


@pytest.mark.parametrize(
    ("path", "failure", "status"),
    [
        ("/v1/answers", 401, 502),
        ("/v1/chat/completions", 403, 502),
        ("/v1/responses", 404, 502),
        ("/v1/responses", 503, 503),
    ],
)
def test_errors_of_a_model_server_are_not_shown(path: str, failure: int, status: int) -> None:
    body = asking(path, "Who sang?", "Bing Crosby sang it.")
    with (
        model(endpoint.error(failure, "body-of-upstream")) as (engine, _),
        client(engine) as server,
    ):
        reply = server.post(path, json=body)
        assert reply.status_code == status
        streamed = server.post(path, json={**body, "stream": True})
        for text in (reply.text, streamed.text):
            assert "error" in text
            for inside in ("body-of-upstream", "sk-secret", "127.0.0.1", "base-url", "http://"):
                assert inside not in text


def test_guessing_keys_is_rate_limited() -> None:
    good = "semqa_a_good_key_of_ann"
    with client(Written("[ 1 Bing ]"), store=Store(ann=good)) as server:
        asked = {"authorization": f"Bearer {good}"}
        assert server.get("/v1/models", headers=asked).status_code == 200
        statuses = [
            server.get("/v1/models", headers={"authorization": f"Bearer guess-{n}"}).status_code
            for n in range(40)
        ]
        assert statuses[0] == 401
        assert statuses[-1] == 429
        assert statuses.count(401) <= 21
        # A valid key still works from the same address.
        assert server.get("/v1/models", headers=asked).status_code == 200


@pytest.mark.parametrize("path", APIS)
def test_a_stream_cut_by_shutdown_says_so(path: str) -> None:
    slow = Slow()
    body = {**asking(path, "Who sang?", "Bing Crosby sang it."), "stream": True}

    def read(url: str) -> list[str]:
        with httpx.stream("POST", f"{url}{path}", json=body, timeout=60) as reply:
            return list(reply.iter_lines())

    with serving(slow, drain=0.3) as url, ThreadPoolExecutor(1) as pool:
        streamed = pool.submit(read, url)
        assert eventually(lambda: slow.begun > 0)
        url.running.stop()
        lines = streamed.result(30)
    last = json.loads([line for line in lines if line.startswith("data: ")][-1][6:])
    assert last["error"]["type"] == "overloaded_error"
    assert "shutting down" in last["error"]["message"]


def test_an_upload_is_either_stored_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Real(tmp_path, encoder=False)
    library.create("", "c")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with client(library=library) as server:
        for place in ("update_indexes", "delete_passages"):
            with monkeypatch.context() as patch:
                patch.setattr(of_collection, place, full)
                files = {"file": (f"{place}.txt", b"The bridge was opened.")}
                status = server.post("/v1/collections/c/documents", files=files).status_code
            listed = server.get("/v1/collections/c/documents").json()["documents"]
            kept = f"{place}.txt" in [each["name"] for each in listed]
            assert kept == (status == 201), (place, status)
            assert status in (201, 507)


def test_a_full_database_is_reported(tmp_path: Path) -> None:
    store = RealStore(f"sqlite:///{tmp_path / 'semqa.sqlite'}")
    store.migrate()
    talk = store.create_conversation("")
    store.add_message("", talk.id, "user", {"question": "Who?"})
    with store._database.writing() as connection:
        (pages,) = connection.exec_driver_sql("PRAGMA page_count").one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(UnavailableError) as caught:
        store.add_message("", talk.id, "assistant", {"plain": "x" * 100_000})
    assert as_error(caught.value)[0] == 507
    # Earlier data is unchanged.
    assert [each.role for each in store.conversation("", talk.id).messages] == ["user"]
    store.close()


def test_an_answer_that_cannot_be_stored_is_an_error() -> None:
    store = Store()
    conversation = store.kept["", "c"] = Conversation()

    def full() -> None:
        if conversation.messages:
            raise UnavailableError("the database: got 'database or disk is full', expected room")

    store.before_add = full
    body = {"question": "When?", "sources": [{"text": "In 1932."}], "conversation": "c"}
    with client(Written("[ 1 1932 ]"), store=store) as server:
        assert server.post("/v1/answers", json=body).status_code == 507
        streamed = server.post("/v1/answers", json={**body, "stream": True})
        assert streamed.status_code == 507
        conversation.messages.clear()
        streamed = server.post("/v1/answers", json={**body, "stream": True})
        assert "event: error" in streamed.text
        assert "event: done" not in streamed.text
        assert "disk is full" in streamed.text


STUCK = """
import time
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from semqa.server import running
from semqa.server.settings import ServerSettings

running.GRACE = 0.5

@asynccontextmanager
async def lifespan(_):
    yield
    await run_in_threadpool(time.sleep, 600)

settings = ServerSettings(port=0, drain=0.5, data=Path("/nonexistent"))
running.Running(FastAPI(lifespan=lifespan), settings, lambda: print("ready", flush=True)).run()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_the_server_exits_even_if_a_thread_hangs(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-P", "-c", STUCK], stdout=subprocess.PIPE, cwd=tmp_path, text=True
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        time.sleep(0.2)
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=30) == 1
    finally:
        server.kill()
        server.communicate()


def test_a_full_temporary_folder_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "write", full)
    with client() as server:
        reply = server.post("/v1/collections/c/documents", files={"file": ("a.txt", b"text")})
        assert reply.status_code == 507
        assert "disk is full" in reply.json()["error"]["message"]
