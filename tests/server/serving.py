"""Test servers: a real one in a thread, and one in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.testclient import TestClient

from semqa.engines import Engine, create_engine
from semqa.server.app import create_app
from semqa.server.running import Running
from semqa.server.settings import ServerSettings
from tests.server.stand_ins import Library, Store

APIS = ("/v1/answers", "/v1/chat/completions", "/v1/responses", "/v1/messages")


def asking(path: str, question: str, text: str) -> dict[str, Any]:
    """Return the body that asks a question about one source."""
    sources = [{"text": text}]
    if path == "/v1/answers":
        return {"question": question, "sources": sources}
    if path == "/v1/responses":
        return {"input": question, "sources": sources}
    if path == "/v1/chat/completions":
        return {"messages": [{"role": "user", "content": question}], "sources": sources}
    document = {"type": "document", "source": {"type": "text", "data": text}}
    content = [document, {"type": "text", "text": question}]
    return {"messages": [{"role": "user", "content": content}]}


class Address(str):
    """The URL of a server, with the server."""

    app: FastAPI
    running: Running

    @property
    def at(self) -> tuple[str, int]:
        return "127.0.0.1", self.running.port


def make_app(*engines: Engine, library: Any = None, store: Any = None, **settings: Any) -> FastAPI:
    """Make an application with some engines; the first is the default."""
    made = {engine.name: engine for engine in engines}
    names = tuple(made) or ("extractive",)

    def create(spec: str) -> Engine:
        return made.get(spec) or create_engine(spec)

    return create_app(
        ServerSettings(
            **{"data": Path("/nonexistent"), "engines": names, "create": create, **settings}
        ),
        library=library if library is not None else Library(),
        store=store if store is not None else Store(),
    )


@contextmanager
def client(*engines: Engine, **settings: Any) -> Iterator[TestClient]:
    """Call an application in memory while the block runs."""
    with TestClient(make_app(*engines, **settings), raise_server_exceptions=False) as made:
        yield made


@contextmanager
def serving(*engines: Engine, **settings: Any) -> Iterator[Address]:
    """Run a server while the block runs; yields its address."""
    with run(make_app(*engines, **{"port": 0, **settings})) as address:
        yield address


@contextmanager
def run(app: FastAPI) -> Iterator[Address]:
    ready = threading.Event()
    running = Running(app, app.state.settings, ready.set)
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        assert ready.wait(20), "the server did not start"
        address = Address(f"http://127.0.0.1:{running.port}")
        address.app, address.running = app, running
        yield address
    finally:
        running.stop()
        thread.join(40)
        assert not thread.is_alive(), "the server did not end"
