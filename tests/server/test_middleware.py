"""The middleware: keys, limits, headers, HEAD, and pages of other origins."""

from __future__ import annotations

import io
import json
import logging
import socket
import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from semqa import InputError
from semqa.server.running import Running, log_to
from semqa.server.settings import ServerSettings
from tests.server.serving import asking, client, serving
from tests.server.stand_ins import Library, Scripted, Store, Written

ASKED = {"question": "When?", "sources": [{"text": "It was in 1932."}]}
KEY, OTHER = "sk-first-key-0001", "sk-second-key-0002"


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.parametrize("headers", [{}, bearer("wrong-key"), bearer(""), {"Authorization": f"Basic {KEY}"}])  # fmt: skip
def test_user_data_needs_a_key(headers: dict[str, str]) -> None:
    with client(Written("a"), api_keys=(KEY,)) as server:
        paths = ("/v1/answers", "/v1/models", "/v1/none", "/metrics", "/docs")
        for method, path in product(("GET", "POST"), paths):
            reply = server.request(method, path, headers=headers)
            assert reply.status_code == 401, path
            assert reply.json()["error"]["type"] == "authentication_error"
            assert reply.headers["www-authenticate"] == "Bearer"
            for known in (bearer(KEY), {"x-api-key": KEY}):
                assert server.request(method, path, headers=known).status_code != 401, path


def test_each_key_sees_its_own() -> None:
    store = Store(ann=KEY, bob=OTHER)
    library = Library()
    library.add("ann", "hers", ["The bridge opened in 1932."])
    with client(library=library, store=store) as server:

        def ask(key: str, **more: Any) -> Any:
            body = {"question": "When did the bridge open?", **more}
            return server.post("/v1/answers", json=body, headers=bearer(key))

        assert ask(KEY, collection="hers").status_code == 200
        assert ask(KEY).status_code == 200
        assert ask(OTHER, collection="hers").status_code == 404
        assert ask(OTHER).status_code == 400
        names = [m["id"] for m in server.get("/v1/models", headers=bearer(OTHER)).json()["data"]]
        assert "semqa/hers" not in names


def test_a_first_key_closes_an_open_server_and_revoking_it_does_not_open_it() -> None:
    store = Store()
    with client(Written("a"), store=store) as server:
        assert server.get("/v1/models").status_code == 200
        store.secrets["ann"] = KEY
        assert server.get("/v1/models").status_code == 401
        assert server.get("/v1/models", headers=bearer(KEY)).status_code == 200
        store.secrets.clear()
        for headers in ({}, bearer(KEY)):
            assert server.get("/v1/models", headers=headers).status_code == 401


def test_headers_keep_browsers_in_check() -> None:
    with client(Written("a")) as server:
        for path in ("/healthz", "/v1/none", "/openapi.json"):
            headers = server.get(path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "script-src 'self'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"


def test_request_ids() -> None:
    with client(Written("a")) as server:
        given = server.get("/v1/none", headers={"x-request-id": "abc-1"})
        assert given.headers["x-request-id"] == given.json()["error"]["request_id"] == "abc-1"
        made = {server.get("/healthz").headers["x-request-id"] for _ in range(3)}
        assert len(made) == 3
        hostile = server.get("/healthz", headers={"x-request-id": "a b" * 99})
        assert len(hostile.headers["x-request-id"]) == 32


def test_dns_rebinding_is_refused() -> None:
    good = ("127.0.0.1:8000", "[::1]:8000", "localhost", "box", "qa.example.org")
    bad = ("evil.example.com", "127.0.0.1.evil.com:8000")

    def accepted(server: TestClient, **headers: str) -> list[str]:
        replies = {
            host: server.get("/v1/models", headers={"host": host, **headers})
            for host in (*good, *bad)
        }
        return [host for host, reply in replies.items() if reply.status_code == 200]

    with client(Written("a"), allowed_hosts=("qa.example.org",)) as server:
        assert accepted(server) == [*good]
    with client(Written("a"), api_keys=(KEY,)) as server:
        assert accepted(server, **bearer(KEY)) == [*good, *bad]


def test_a_page_elsewhere_cannot_post() -> None:
    with client(Written("a")) as server:

        def accepted(**headers: str) -> bool:
            return server.post("/v1/answers", json=ASKED, headers=headers).status_code == 200

        assert accepted()
        assert accepted(**{"origin": "http://testserver", "sec-fetch-site": "same-origin"})
        assert not accepted(origin="http://evil.example")
        assert not accepted(origin="null")
        assert not accepted(**{"sec-fetch-site": "cross-site"})
        # The reply to a GET has no header that lets a browser show it to the page.
        got = server.get("/v1/models", headers={"origin": "http://evil.example"})
        assert got.status_code == 200
        assert "access-control-allow-origin" not in got.headers


def test_rate_limit_is_per_key() -> None:
    with client(Written("a"), api_keys=(KEY, OTHER), rate_limit=3) as server:
        codes = [
            server.get("/v1/models", headers=bearer(key)).status_code
            for key in (KEY, KEY, KEY, KEY, OTHER)
        ]
        assert codes == [200, 200, 200, 429, 200]
        refused = server.get("/v1/models", headers=bearer(KEY))
        assert 1 <= int(refused.headers["retry-after"]) <= 21
        assert server.get("/healthz").status_code == 200


def test_large_requests_are_refused() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b" " * 500

    with serving(Written("a"), max_body=1000) as url:
        assert httpx.post(f"{url}/v1/answers", content=b"x" * 1001, timeout=60).status_code == 413
        reply = httpx.post(f"{url}/v1/answers", content=endless(), timeout=60)
        assert reply.status_code == 413
        assert "1,000 bytes" in reply.json()["error"]["message"]


def test_questions_and_sources_are_bounded() -> None:
    with client(Written("a"), max_question=10, max_sources=2, max_source_characters=100) as server:

        def refused(**more: Any) -> str:
            reply = server.post("/v1/answers", json={**ASKED, **more})
            assert reply.status_code == 400
            return str(reply.json()["error"]["message"])

        assert "at most 10" in refused(question="x" * 11)
        assert "at most 2" in refused(sources=[{"text": "a"}] * 3)
        assert "at most 100" in refused(sources=[{"text": "a" * 101}])
        half = json.dumps({**ASKED, "question": "\ud800"})
        reply = server.post(
            "/v1/answers", content=half, headers={"content-type": "application/json"}
        )
        assert reply.status_code == 400
        assert "surrogate" in reply.text


def test_too_many_answers_are_refused() -> None:
    slow = Scripted(["a"] * 50, delay=0.02)
    with (
        serving(slow, answers_at_once=1, answers_waiting=1) as url,
        httpx.Client(timeout=60) as http,
    ):
        body = {**ASKED, "stream": True}
        with (
            http.stream("POST", f"{url}/v1/answers", json=body) as one,
            http.stream("POST", f"{url}/v1/answers", json=body) as two,
        ):
            first, second = one.iter_lines(), two.iter_lines()
            next(first), next(second)
            time.sleep(0.1)
            reply = http.post(f"{url}/v1/answers", json=ASKED)
            assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
            assert "Too many requests" in reply.text
            assert any("event: done" in line for line in first)
            assert any("event: done" in line for line in second)


def test_answers_time_out() -> None:
    slow = Scripted(["a"] * 500, delay=0.02)
    with client(slow, request_timeout=0.2) as server:
        reply = server.post("/v1/answers", json=ASKED)
        assert reply.status_code == 504
        assert "took longer than" in reply.json()["error"]["message"]
        told = server.post("/v1/answers", json={**ASKED, "stream": True}).text
        assert "event: error" in told
        assert "timeout_error" in told


def test_engine_errors_are_not_shown_to_clients() -> None:
    broken = Scripted(["a", "b"], fails=RuntimeError("secret inside"))
    with client(broken) as server:
        for path in ("/v1/answers", "/v1/chat/completions"):
            body = asking(path, "Who?", "Bing.")
            whole = server.post(path, json=body)
            assert whole.status_code == 500
            assert "secret" not in whole.text
            streamed = server.post(path, json={**body, "stream": True})
            assert "api_error" in streamed.text
            assert "secret" not in streamed.text
            assert "DONE" not in streamed.text
            assert "done" not in streamed.text


def test_logs_are_lines_of_json_without_secrets() -> None:
    stream = io.StringIO()
    log_to(stream)
    try:
        broken = Scripted(["a"], fails=RuntimeError("secret inside"))
        with client(broken, api_keys=(KEY,)) as server:
            server.post(f"/v1/answers?key={KEY}", json=ASKED, headers=bearer(KEY))
            server.get("/v1/models", headers=bearer("sk-guessed-key"))
    finally:
        for name in ("semqa", "uvicorn"):
            logging.getLogger(name).handlers.clear()
            logging.getLogger(name).propagate = True
    text = stream.getvalue()
    for secret in (KEY, "sk-guessed-key", "secret inside", "1932", "When?"):
        assert secret not in text
    lines = [json.loads(line) for line in text.splitlines()]
    requests = [line for line in lines if line["message"] == "request"]
    assert [(r["route"], r["status"]) for r in requests] == [("/v1/answers", 500), ("(none)", 401)]
    assert all(r["request_id"] and r["milliseconds"] >= 0 for r in requests)
    (failure,) = [line for line in lines if line["level"] == "error"]
    assert failure["exception"] == "RuntimeError"


def test_a_body_without_json_content_type_is_refused() -> None:
    with client(Written("[ 1 1932 ]")) as server:
        for headers in ({"Content-Type": "application/x-www-form-urlencoded"}, {}):
            reply = server.post("/v1/answers", content=json.dumps(ASKED), headers=headers)
            assert reply.status_code == 400
            assert "Content-Type: application/json" in reply.json()["error"]["message"]
        none = server.post("/v1/answers", headers={"Content-Type": "application/json"})
        assert "Content-Type" not in none.json()["error"]["message"]


def test_metrics() -> None:
    with client(Written("[ 1 1932 ] [ 1 1999 ]"), Scripted(["No."])) as server:
        server.post("/v1/answers", json=ASKED)
        server.post("/v1/answers", json={**ASKED, "engine": "scripted:x"})
        server.get("/some/where")
        text = server.get("/metrics").text
    assert 'semqa_requests_total{method="POST",route="/v1/answers",status="200"} 2.0' in text
    assert 'semqa_requests_total{method="GET",route="(none)",status="404"} 1.0' in text
    assert 'semqa_answers_total{engine="written",outcome="unverified"} 1.0' in text
    assert 'semqa_answers_total{engine="scripted:x",outcome="unquoted"} 1.0' in text
    assert 'semqa_quotes_total{engine="written",status="fabricated"} 1.0' in text
    assert "semqa_answers_under_way 0.0" in text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("port", 70_000),
        ("engines", ()),
        ("api_keys", ("short",)),
        ("request_timeout", 0.0),
        ("public_url", "semqa.example.org"),
        ("trusted_proxies", ("proxy.example.org",)),
    ],
)
def test_settings_are_checked(field: str, value: object) -> None:
    with pytest.raises(InputError) as caught:
        ServerSettings(**{field: value})  # type: ignore[arg-type]
    assert caught.value.field is not None
    assert field.startswith(caught.value.field[:8])


def test_a_port_in_use_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"Cannot listen on 127.0.0.1 port {port}"):
            Running(None, ServerSettings(port=port), print)  # type: ignore[arg-type]


CHAT, ELSEWHERE = "https://chat.example.org", "https://other.example.org"


def test_head_is_get_without_a_body() -> None:
    known = {"/": 200, "/healthz": 200, "/v1/models": 200, "/none": 404, "/v1/answers": 405}
    with client(Written("a")) as server:
        for path, status in known.items():
            got, head = server.get(path), server.head(path)
            assert (head.status_code, head.content) == (status, b""), path
            for name in ("content-length", "content-type", "etag"):
                assert head.headers.get(name) == got.headers.get(name)


def test_head_needs_a_key_as_get_does_and_pages_may_ask() -> None:
    with client(Written("a"), api_keys=(KEY,), allowed_origins=(CHAT,)) as server:
        assert server.head("/v1/models").status_code == 401
        asking = {"origin": CHAT, "access-control-request-method": "HEAD"}
        assert server.options("/v1/models", headers=asking).status_code == 200


def from_page(origin: str, key: str = "") -> dict[str, str]:
    """Headers that a browser sends for a page of another origin."""
    headers = {"origin": origin, "sec-fetch-site": "cross-site"}
    return headers | ({"authorization": f"Bearer {key}"} if key else {})


@pytest.mark.parametrize(
    ("allowed", "key", "origin", "good"),
    [
        ((), "", CHAT, False),
        ((CHAT,), "", CHAT, True),
        ((CHAT,), "", ELSEWHERE, False),
        ((CHAT,), "", "null", False),
        ((CHAT,), KEY, CHAT, True),
        # With a key the request is answered, because not every client is a browser; a page cannot read it.
        ((CHAT,), KEY, ELSEWHERE, False),
        (("*",), KEY, ELSEWHERE, True),
        (("*",), "", ELSEWHERE, False),
        (("*", CHAT), "", CHAT, True),
    ],
)
def test_allowed_origins_can_read_replies(
    allowed: tuple[str, ...], key: str, origin: str, good: bool
) -> None:
    keys = (KEY,) if key else ()
    with client(Written("[ 1 1932 ]"), allowed_origins=allowed, api_keys=keys) as server:
        headers = from_page(origin, key)
        got = server.get("/v1/models", headers=headers)
        posted = server.post("/v1/answers", json=ASKED, headers=headers)
        for reply in (got, posted):
            readable = reply.headers.get("access-control-allow-origin") in (origin, "*")
            assert (reply.status_code == 200 and readable) == good
        if not key:
            assert (posted.status_code == 200) == good


def test_preflight_requests_need_no_key() -> None:
    asking = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-lang",
    }
    with client(Written("a"), allowed_origins=(CHAT,), api_keys=(KEY,)) as server:
        told = server.options("/v1/chat/completions", headers=from_page(CHAT) | asking)
        assert told.status_code == 200
        assert told.headers["access-control-allow-origin"] == CHAT
        allowed = told.headers["access-control-allow-headers"]
        assert all(name in allowed for name in ("authorization", "x-stainless-lang"))
        refused = server.options("/v1/chat/completions", headers=from_page(ELSEWHERE) | asking)
        assert "access-control-allow-origin" not in refused.headers


def test_a_page_can_read_refusals() -> None:
    with client(Written("a"), allowed_origins=(CHAT,), api_keys=(KEY,)) as server:
        refused = server.post("/v1/answers", json=ASKED, headers=from_page(CHAT))
        assert refused.status_code == 401
        assert refused.headers["access-control-allow-origin"] == CHAT
        assert "x-request-id" in refused.headers["access-control-expose-headers"].lower()


@pytest.mark.parametrize(
    "origin",
    ["chat.example.org", f"{CHAT}/", f"{CHAT}/app", "null", "", "https://A.org", "a b",
     f"{CHAT}:443", "http://[::1]:80"],
)  # fmt: skip
def test_invalid_origins_are_refused(origin: str) -> None:
    with pytest.raises(InputError, match="allowed_origin"):
        ServerSettings(allowed_origins=(origin,))
    ServerSettings(
        allowed_origins=(CHAT, "http://localhost:3000", "http://[::1]:443", "app://x", "*")
    )
