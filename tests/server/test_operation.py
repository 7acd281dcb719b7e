"""What an operator counts on: a database that is away, a model that fails, guessed keys, an end in order."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from semqa.engines.openai.engine import OpenAIEngine
from semqa.engines.openai.options import OpenAIOptions
from semqa.errors import UnavailableError
from semqa.retrieval.passages import Library as Real
from semqa.retrieval.passages import collection as of_collection
from semqa.server.store import Store as RealStore
from tests.engines.openai import server as endpoint
from tests.server.serving import client, serving
from tests.server.stand_ins import Slow, Store, Written

ASKED = {"question": "Who sang?", "sources": [{"text": "Bing Crosby sang it."}]}


class Away(Store):
    """A database that answers no more."""

    def keys(self) -> list[str]:
        raise UnavailableError("postgresql://ann@db.internal/semqa: got 'refused', expected it")


def test_a_database_that_is_away_is_told_by_type_and_reason() -> None:
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


def test_a_real_postgresql_that_is_not_there(tmp_path: Path) -> None:
    store = RealStore("postgresql://operator:secret@127.0.0.1:1/semqa")
    with client(Written("[ 1 Bing ]"), store=store) as server:
        assert server.get("/healthz").status_code == 200
        assert server.get("/readyz").status_code == 503
        reply = server.get("/v1/conversations")
        assert reply.status_code == 503
        assert "127.0.0.1" not in reply.text
        assert "operator" not in reply.json()["error"]["message"]


@contextmanager
def model(answer: endpoint.Answer) -> Iterator[OpenAIEngine]:
    with endpoint.serving(answer) as upstream:
        options = OpenAIOptions(constraint="repair", attempts=1)
        engine = OpenAIEngine("m", options, base_url=upstream.url, api_key="sk-secret")
        try:
            yield engine
        finally:
            engine.close()


@pytest.mark.parametrize(
    ("path", "failure", "status"),
    [
        ("/v1/answers", 401, 502),
        ("/v1/chat/completions", 403, 502),
        ("/v1/responses", 404, 502),
        ("/v1/responses", 503, 503),
    ],
)
def test_what_a_models_server_says_stays_inside(path: str, failure: int, status: int) -> None:
    body = {**ASKED, "messages": [{"role": "user", "content": "Who sang?"}], "input": "Who sang?"}
    if path == "/v1/answers":
        body = dict(ASKED)
    with model(endpoint.error(failure, "body-of-upstream")) as engine, client(engine) as server:
        reply = server.post(path, json=body)
        assert reply.status_code == status
        streamed = server.post(path, json={**body, "stream": True})
        for text in (reply.text, streamed.text):
            assert "error" in text
            for inside in ("body-of-upstream", "sk-secret", "127.0.0.1", "base-url", "http://"):
                assert inside not in text


def test_keys_that_are_guessed_have_to_wait() -> None:
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
        # A key that was good before goes on working from the same address.
        assert server.get("/v1/models", headers=asked).status_code == 200


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/v1/answers", {}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Who?"}]}),
        ("/v1/responses", {"input": "Who?"}),
        (
            "/v1/messages",
            {
                "sources": [],
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {"type": "document", "source": {"type": "text", "data": "It was."}},
                            {"type": "text", "text": "Who?"},
                        ],
                    }
                ],
            },
        ),
    ],
)
def test_a_stream_that_the_end_of_the_server_cuts_says_so(path: str, more: dict[str, Any]) -> None:
    slow = Slow()
    body = {**ASKED, **more, "stream": True}

    def read(url: str) -> list[str]:
        with httpx.stream("POST", f"{url}{path}", json=body, timeout=60) as reply:
            return list(reply.iter_lines())

    with serving(slow, drain=1.0) as url, ThreadPoolExecutor(1) as pool:
        streamed = pool.submit(read, url)
        assert slow.stopped.acquire(timeout=0) is False
        while not slow.begun:
            pass
        url.running.stop()
        lines = streamed.result(30)
    last = json.loads([line for line in lines if line.startswith("data: ")][-1][6:])
    assert last["error"]["type"] == "overloaded_error"
    assert "shutting down" in last["error"]["message"]


def test_an_upload_is_kept_or_refused_and_never_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Real(tmp_path, encoder=None)
    library.create("", "c")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with client(library=library) as server:
        for place in ("keep_indexed", "clear"):
            with monkeypatch.context() as patch:
                patch.setattr(of_collection, place, full)
                files = {"file": (f"{place}.txt", b"The bridge was opened.")}
                status = server.post("/v1/collections/c/documents", files=files).status_code
            listed = server.get("/v1/collections/c/documents").json()["documents"]
            kept = f"{place}.txt" in [each["name"] for each in listed]
            assert kept == (status == 201), (place, status)
            assert status in (201, 507)
