"""A local server and a real browser; without a browser these tests are skipped."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from semqa import QuotedAnswer, Source
from semqa.engines import Engine, create_engine
from semqa.retrieval.passages import Library
from semqa.server.app import create_app
from semqa.server.settings import ServerSettings
from tests.server.serving import run

if TYPE_CHECKING:
    from fastapi import FastAPI
    from playwright.sync_api import Browser, Page

    from semqa.engines.base import Generation
    from semqa.server.store import Store

Script = Callable[[str, list[Source]], str]
Serve = Callable[..., "Site"]

# The headless shell opens a page in half the time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser. Only for the tests in this folder, because its API runs an asyncio loop."""
    if BROWSER is None:
        missing = (
            "needs Chromium or Chrome: none is installed (apt-get install chromium-headless-shell)"
        )
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright (pip install)")
    with api.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield opened
        opened.close()


class Scripted:
    """An engine that streams the text of a test word by word."""

    name = "scripted"

    def __init__(self, script: Script, pause: float) -> None:
        self._script = script
        self._pause = pause

    def answer(self, question: str, sources: Sequence[Source], history: Any = ()) -> QuotedAnswer:
        return QuotedAnswer.parse(self._script(question, list(sources)), sources)

    def stream(
        self, question: str, sources: Sequence[Source], history: Any = ()
    ) -> Generator[str, None, Generation | None]:
        for word in re.findall(r"\s*\S+|\s+$", self._script(question, list(sources))):
            time.sleep(self._pause)
            yield word
        return None


class Site:
    """A running server."""

    def __init__(self, app: FastAPI, url: str) -> None:
        self.store: Store = app.state.store
        self.library: Library = app.state.library
        self.url = url

    def open(self, page: Page, path: str = "/") -> None:
        page.goto(self.url + path)
        page.wait_for_selector("html[data-ready]")

    def keep(self, question: str, sources: Sequence[Source]) -> None:
        """Ask over the API; the answer is in the only conversation."""
        import httpx

        conversation = self.store.create_conversation("")
        body = {
            "question": question,
            "conversation": conversation.id,
            "sources": [{"title": s.title, "text": s.text, "url": s.url} for s in sources],
        }
        httpx.post(f"{self.url}/v1/answers", json=body, timeout=30).raise_for_status()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start the real server, with its store and collections, and some engine."""

    with ExitStack() as stack:

        def start(script: Script | None = None, pause: float = 0.0, **more: Any) -> Site:
            def create(spec: str) -> Engine:
                return create_engine("extractive") if script is None else Scripted(script, pause)

            settings = ServerSettings(data=tmp_path, port=0, create=create, **more)
            library = Library(settings.library, encoder=False)
            app = create_app(settings, library=library)
            return Site(app, stack.enter_context(run(app)))

        yield start


def watched(browser: Browser, problems: list[str], **settings: Any) -> Page:
    """Open a page in a fresh profile, and collect its script errors and foreign requests."""
    context = browser.new_context(locale="en-GB", **settings)
    context.set_default_timeout(30_000)
    opened = context.new_page()

    def said(message: Any) -> None:
        # Expected refusals also appear on the console.
        if message.type == "error" and "Failed to load resource" not in message.text:
            problems.append(message.text)

    def asked(request: Any) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "blob:http://127.0.0.1:", "data:")):
            problems.append(f"asked {request.url}")

    opened.on("console", said)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("request", asked)
    return opened


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page; the test fails on script errors, policy violations and foreign requests."""
    problems: list[str] = []
    opened = watched(browser, problems, viewport={"width": 1400, "height": 860})
    yield opened
    opened.context.close()
    assert not problems
