"""Slow and disconnected clients: they leave no resources behind and do not block other clients."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest

from semqa.server import middleware, sse
from tests.server.serving import Address, asking, serving
from tests.server.stand_ins import Scripted, Slow

ASKED = {"question": "When?", "sources": [{"text": "It was in 1932."}]}


class Flood(Scripted):
    """Writes more than fits into any buffer."""

    name = "flood:x"

    def __init__(self) -> None:
        super().__init__(["x" * 100_000] * 150)


def raw(path: str, body: object, *, cut: int = 0) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    sent = head.encode() + data
    return sent[: len(sent) - cut]


def eventually(true: Callable[[], bool], seconds: float = 30.0) -> bool:
    until = time.monotonic() + seconds
    while not true() and time.monotonic() < until:
        time.sleep(0.02)
    return true()


def nothing_left(url: Address) -> bool:
    return url.running.connections == 0 and url.app.state.workers.under_way == 0


def until(connection: socket.socket, last: bytes) -> bytes:
    got = b""
    while not got.endswith(last):
        part = connection.recv(4000)
        assert part
        got += part
    return got


@contextmanager
def calling(url: Address, sent: bytes) -> Iterator[socket.socket]:
    with socket.create_connection(url.at, timeout=10) as connection:
        connection.sendall(sent)
        yield connection


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("path", ["/v1/answers", "/v1/messages"])
def test_a_disconnect_cancels_the_work(path: str, stream: bool) -> None:
    slow = Slow()
    body = {**asking(path, "When?", "It was in 1932."), "stream": stream}
    with serving(slow) as url:
        with calling(url, raw(path, body)) as connection:
            assert eventually(lambda: slow.begun == 1)
            if stream:
                assert connection.recv(100)
        assert slow.stopped.acquire(timeout=10)
        assert eventually(lambda: nothing_left(url))
        text = httpx.get(f"{url}/metrics", timeout=60).text
        assert 'semqa_answers_total{engine="slow:x",outcome="left"} 1.0' in text


def test_a_disconnect_cancels_a_queued_answer() -> None:
    slow = Slow()
    with serving(slow, answers_at_once=1) as url:
        with calling(url, raw("/v1/answers", {**ASKED, "stream": True})):
            assert eventually(lambda: slow.begun == 1)
            with calling(url, raw("/v1/answers", {**ASKED, "stream": True})) as second:
                assert second.recv(10)
                assert eventually(lambda: url.app.state.workers.under_way == 2)
            assert eventually(lambda: url.app.state.workers.under_way == 1)
        assert eventually(lambda: nothing_left(url))
    assert slow.begun == 1


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_reads_nothing_times_out(stream: bool) -> None:
    sent = raw("/v1/answers", {**ASKED, "stream": stream})
    with serving(Flood(), write_timeout=0.4) as url, calling(url, sent):
        assert eventually(lambda: url.running.connections == 1)
        # The server closes the connection: the client keeps it open.
        assert eventually(lambda: nothing_left(url))


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: a\r\n"])
def test_incomplete_headers_time_out(sent: bytes) -> None:
    with serving(Slow(), read_timeout=0.3) as url, calling(url, sent) as connection:
        assert connection.recv(1000) == b""
        assert eventually(lambda: nothing_left(url))


def test_an_idle_connection_stays_open() -> None:
    ask = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serving(Slow(), read_timeout=0.2) as url, calling(url, ask) as connection:
        until(connection, b"}")
        time.sleep(0.6)
        connection.sendall(ask)
        until(connection, b"}")


def test_a_slow_body_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "MIN_BYTES_PER_SECOND", 1e9)
    sent = raw("/v1/answers", {**ASKED, "question": "x" * 500})
    with serving(Slow(), read_timeout=0.5) as url, calling(url, sent[:-400]) as connection:
        connection.settimeout(0.1)
        reply = b""
        for at in range(len(sent) - 400, len(sent)):
            try:
                reply = connection.recv(4000)
                break
            except TimeoutError:
                connection.sendall(sent[at : at + 1])
        assert reply.startswith(b"HTTP/1.1 408")


def test_stopping_finishes_open_answers() -> None:
    steady = Scripted([f"{n} " for n in range(40)], delay=0.02)
    with serving(steady) as url, httpx.Client(timeout=60) as http:
        with http.stream("POST", f"{url}/v1/answers", json={**ASKED, "stream": True}) as reply:
            lines = reply.iter_lines()
            next(lines)
            url.running.stop()
            assert any(line == "event: done" for line in lines)
        with pytest.raises(httpx.ConnectError):
            http.get(f"{url}/healthz")


def test_stopping_does_not_wait_for_ever() -> None:
    slow = Slow()
    with serving(slow, drain=0.3) as url, calling(url, raw("/v1/answers", ASKED)):
        assert eventually(lambda: slow.begun == 1)
        started = time.monotonic()
        url.running.stop()
        assert slow.stopped.acquire(timeout=10)
        assert time.monotonic() - started < 8


def test_a_silent_stream_sends_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "PING", 0.05)
    with serving(Scripted(["a"], delay=0.5)) as url:
        text = httpx.post(f"{url}/v1/answers", json={**ASKED, "stream": True}, timeout=60).text
        assert ": still there\n\n" in text
        assert "event: done" in text
