"""A local OpenAI-compatible test server, well-behaved or hostile."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A received request."""

    path: str
    headers: Mapping[str, str]
    body: Any

    @property
    def chat(self) -> bool:
        return self.path.endswith("/chat/completions")


@dataclass(frozen=True)
class Answer:
    """A scripted response; `pieces` are those of a stream, by default single characters.

    `body` (bytes, or a value for JSON) is sent instead of a reply. The connection is closed
    `cut_after` bytes of the body; the server stalls `stall_after` bytes until it is closed, and
    repeats `drip` endlessly after the body.
    """

    text: str | None = None
    reason: str | None = "stop"
    pieces: tuple[str, ...] | None = None
    status: int = 200
    body: Any = None
    kind: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    stall_after: int | None = None
    drip: bytes | None = None
    usage: tuple[int, int] | None = (100, 7)
    done: bool = True
    streams: bool = True


def error(status: int, message: str, *, param: str | None = None, **more: Any) -> Answer:
    """Return an error in vLLM's format."""
    details = {"message": message, "type": "BadRequestError", "param": param, "code": status}
    body = {"error": details}
    return Answer(status=status, body=body, **more)


def whole(asked: Asked, answer: Answer) -> dict[str, Any]:
    text = answer.text
    choice: dict[str, Any] = {"index": 0, "finish_reason": answer.reason}
    choice |= {"message": {"role": "assistant", "content": text}} if asked.chat else {"text": text}
    reply: dict[str, Any] = {"id": "x", "object": "chat.completion", "choices": [choice]}
    if answer.usage is not None:
        read, wrote = answer.usage
        reply["usage"] = {"prompt_tokens": read, "completion_tokens": wrote}
    return reply


def chunks(asked: Asked, answer: Answer) -> bytes:
    """Return the events of a stream."""
    events: list[Any] = []
    said: dict[str, Any]
    pieces = answer.pieces if answer.pieces is not None else tuple(answer.text or "")
    if asked.chat:
        events.append({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
    for piece in pieces:
        said = {"delta": {"content": piece}} if asked.chat else {"text": piece}
        events.append({"choices": [{"index": 0, **said, "finish_reason": None}]})
    if answer.reason is not None:
        said = {"delta": {}} if asked.chat else {"text": ""}
        events.append({"choices": [{"index": 0, **said, "finish_reason": answer.reason}]})
    if answer.usage is not None:
        read, wrote = answer.usage
        usage = {"prompt_tokens": read, "completion_tokens": wrote}
        events.append({"choices": [], "usage": usage})
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join([*lines, "data: [DONE]\n\n" if answer.done else ""]).encode()


class Server:
    """Answers each request with the result of a function.

    Attributes:
        models: the reply to GET /models; an error if empty.
    """

    def __init__(self, answer: Callable[[Asked], Answer]) -> None:
        self.answer = answer
        self.models: Any = None
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self.under_way = self.most_under_way = 0
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                try:
                    server._serve(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def do_GET(self) -> None:
                listed = self.path == "/v1/models" and server.models is not None
                data = json.dumps(server.models).encode()
                self.send_response(200 if listed else 404)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def run(self) -> None:
        self._http.serve_forever(poll_interval=0.01)

    def close(self) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length", "0"))
        headers = {k.lower(): v for k, v in handler.headers.items()}
        asked = Asked(handler.path, headers, json.loads(handler.rfile.read(length)))
        with self._lock:
            self.asked.append(asked)
        with ExitStack() as counted:
            counted.enter_context(self._counted())
            answer = self.answer(asked)
            if answer.stall_after is None and answer.drip is None:
                counted.close()  # the client may ask again as soon as it has the last byte
            self._send(handler, asked, answer)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._lock:
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            yield
        finally:
            with self._lock:
                self.under_way -= 1

    def _send(self, handler: BaseHTTPRequestHandler, asked: Asked, answer: Answer) -> None:
        kind = answer.kind or "application/json"
        if answer.body is not None:
            body = answer.body
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
        elif asked.body.get("stream") and answer.streams:
            data, kind = chunks(asked, answer), answer.kind or "text/event-stream"
        else:
            data = json.dumps(whole(asked, answer)).encode()
        handler.close_connection = True
        handler.send_response(answer.status)
        endless = answer.drip is not None or answer.stall_after is not None
        handler.send_header("Content-Type", kind)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        if not endless:
            handler.send_header("Content-Length", str(len(data)))
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(
            data[: answer.cut_after if answer.stall_after is None else answer.stall_after]
        )
        handler.wfile.flush()
        if answer.stall_after is not None:
            self.closing.wait(30)
        while answer.drip is not None and not self.closing.is_set():
            handler.wfile.write(answer.drip)
            handler.wfile.flush()


@contextmanager
def serving(*script: Answer | Callable[[Asked], Answer]) -> Iterator[Server]:
    """Run a server while the block runs.

    Args:
        script: the answers in order, or functions that return them; the last one is repeated.
    """
    left = list(script)
    lock = threading.Lock()

    def answer(asked: Asked) -> Answer:
        with lock:
            now = left.pop(0) if len(left) > 1 else left[0]
        return now(asked) if callable(now) else now

    server = Server(answer)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()
