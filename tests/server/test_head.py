"""HEAD, as monitors send it: what GET replies, without the body."""

from __future__ import annotations

import http.client

import pytest

from tests.server.serving import client, serving
from tests.server.stand_ins import Written

KEY = "sk-first-key-0001"
CHAT = "https://chat.example.org"


@pytest.mark.parametrize(
    ("path", "status"),
    [("/", 200), ("/healthz", 200), ("/v1/models", 200), ("/none", 404), ("/v1/answers", 405)],
)
def test_head_is_get_without_a_body(path: str, status: int) -> None:
    with client(Written("a")) as server:
        got, head = server.get(path), server.head(path)
        assert (head.status_code, head.content) == (status, b"")
        for name in ("content-length", "content-type", "etag"):
            assert head.headers.get(name) == got.headers.get(name)


def test_a_connection_goes_on_behind_it_and_it_is_counted_by_its_route() -> None:
    with serving(Written("a")) as address:
        connection = http.client.HTTPConnection(*address.at, timeout=10)
        for method in ("HEAD", "GET", "HEAD"):
            connection.request(method, "/v1/models")
            reply = connection.getresponse()
            assert (reply.status, bool(reply.read())) == (200, method == "GET")
        connection.request("GET", "/metrics")
        counted = connection.getresponse().read().decode()
        connection.close()
    assert 'method="HEAD",route="/v1/models",status="200"} 2.0' in counted


def test_head_needs_a_key_as_get_does_and_pages_may_ask() -> None:
    with client(Written("a"), api_keys=(KEY,), allowed_origins=(CHAT,)) as server:
        assert server.head("/v1/models").status_code == 401
        asking = {"origin": CHAT, "access-control-request-method": "HEAD"}
        assert server.options("/v1/models", headers=asking).status_code == 200
