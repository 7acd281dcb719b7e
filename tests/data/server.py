"""A web server on this machine that misbehaves as it is told."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Reply:
    """How the server answers one request.

    Attributes:
        content: the file as the server has it now.
        etag: its validator; None sends none.
        status: anything but 200 is sent instead of the file.
        cut_after: bytes of the body after which the connection is cut.
        stall_after: bytes of the body after which the server waits until it is closed.
        ranges: whether Range is obeyed.
        if_range: whether If-Range is obeyed.
        shift: bytes by which the range that is sent begins too early.
        length: whether Content-Length is sent.
        headers: further headers.
    """

    content: bytes = b""
    etag: str | None = '"one"'
    status: int = 200
    cut_after: int | None = None
    stall_after: int | None = None
    ranges: bool = True
    if_range: bool = True
    shift: int = 0
    length: bool = True
    headers: dict[str, str] = field(default_factory=dict)


class Server:
    """Answers requests by a script; the last reply is repeated."""

    def __init__(self, *script: Reply) -> None:
        self.script = list(script)
        self.requests: list[dict[str, str]] = []
        self.closing = threading.Event()
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                try:
                    server._answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.base = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.url = f"{self.base}/file.bin"

    def run(self) -> None:
        self._http.serve_forever(poll_interval=0.01)

    def close(self) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()

    @property
    def ranges(self) -> list[str]:
        """The Range header of each request, empty where there was none."""
        return [request.get("range", "") for request in self.requests]

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        with self._lock:
            self.requests.append({k.lower(): v for k, v in handler.headers.items()})
            reply = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        handler.close_connection = True
        if reply.status != 200:
            handler.send_response(reply.status)
            for name, value in reply.headers.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        self._send(handler, reply)

    def _send(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        if_range = handler.headers.get("If-Range")
        stale = reply.if_range and if_range is not None and if_range != reply.etag
        start, status = 0, 200
        if asked and reply.ranges and not stale:
            start, status = int(asked[1]) - reply.shift, 206
        total = len(reply.content)
        headers = dict(reply.headers)
        if reply.etag is not None:
            headers["ETag"] = reply.etag
        body = reply.content[start:]
        if status == 206:
            headers["Content-Range"] = f"bytes {start}-{total - 1}/{total}"
            if start >= total:
                status, body = 416, b""
                headers["Content-Range"] = f"bytes */{total}"
        if reply.length:
            headers["Content-Length"] = str(len(body))
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        end = reply.cut_after if reply.stall_after is None else reply.stall_after
        handler.wfile.write(body[:end])
        if reply.stall_after is not None:
            handler.wfile.flush()
            self.closing.wait()


@contextmanager
def serving(*script: Reply) -> Iterator[Server]:
    """Run a server with a script while the block runs."""
    server = Server(*script)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()
