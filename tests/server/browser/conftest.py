"""A server on loopback and a real browser in front of it; without a browser these tests skip."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fastapi import FastAPI
    from playwright.sync_api import Browser, Page

    from semqa import Source

BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if BROWSER is None:
        missing = "needs Chromium or Chrome: none is installed (apt-get install chromium)"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright (pip install)")
    with api.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield opened
        opened.close()


class Site:
    """A running server, and what a page of it said and asked."""

    def __init__(self, app: FastAPI, url: str) -> None:
        self.app = app
        self.url = url
        self.problems: list[str] = []
        self.elsewhere: list[str] = []

    def open(self, page: Page, path: str = "/") -> None:
        page.goto(self.url + path)
        page.wait_for_selector("html[data-ready]")


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    import uvicorn

    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 20
    while not server.started:
        assert time.monotonic() < until, "the server did not start"
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


Serve = Callable[..., Site]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    from contextlib import ExitStack

    from tests.server.stand_in import app

    with ExitStack() as stack:

        def start(
            script: Callable[[str, list[Source]], str] | None = None, pause: float = 0.0
        ) -> Site:
            made = app(tmp_path, script, pause)
            return Site(made, stack.enter_context(serving(made)))

        yield start


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page in a fresh profile; the test fails if it breaks its policy, throws, or asks others."""
    context = browser.new_context(viewport={"width": 1400, "height": 860}, locale="en-GB")
    context.set_default_timeout(10_000)
    opened = context.new_page()
    problems: list[str] = []

    def said(message: Any) -> None:
        # A request that is refused on purpose is told on the console, too.
        if message.type == "error" and "Failed to load resource" not in message.text:
            problems.append(message.text)

    def asked(request: Any) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "blob:http://127.0.0.1:", "data:")):
            problems.append(f"asked {request.url}")

    opened.on("console", said)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("request", asked)
    yield opened
    context.close()
    assert not problems
