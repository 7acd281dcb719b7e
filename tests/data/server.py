"""A web server on this machine that misbehaves as it is told."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Reply:
    """How the server answers one request; the body may be cut after some bytes."""

    content: bytes = b""
    status: int = 200
    cut_after: int | None = None
    headers: dict[str, str] = field(default_factory=dict)


class Server:
    """Answers requests by a script; the last reply is repeated."""

    def __init__(self, *script: Reply) -> None:
        replies = list(script)
        lock = threading.Lock()
        self.requests = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                with lock:
                    server.requests += 1
                    reply = replies.pop(0) if len(replies) > 1 else replies[0]
                self.close_connection = True
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.content)))
                self.end_headers()
                self.wfile.write(reply.content[: reply.cut_after])

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.http.server_address[1]}"


@contextmanager
def serving(*script: Reply) -> Iterator[Server]:
    """Run a server with a script while the block runs."""
    server = Server(*script)
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
        thread.join()
