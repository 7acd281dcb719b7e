"""Studies in a browser, served by a thread or by `semqa study serve`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from semqa.server.settings import ServerSettings
from semqa.studies.app import create_app
from semqa.studies.kind import Study
from semqa.studies.store import Store
from tests.server.browser.conftest import browser
from tests.server.serving import run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

__all__ = ["browser"]


class Served:
    """`semqa study serve` in a separate process.

    Attributes:
        links: by the name of the rater, and of the owner.
        port: where it listens.
    """

    def __init__(self, folder: Path, port: int = 0) -> None:
        command = [sys.executable, "-m", "semqa", "study", "serve", str(folder)]
        self.process = subprocess.Popen(
            [*command, "--port", str(port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.links: dict[str, str] = {}
        assert self.process.stdout is not None
        for line in self.process.stdout:
            name, link = line.split()
            self.links[name] = link
            # The owner comes first, then the raters in the order added.
            if name == "eve":
                break
        assert "eve" in self.links, "the server did not start"
        self.port = int(self.links["owner"].split(":")[2].split("/")[0])

    def kill(self) -> None:
        """Kill the server without notice."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(40)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def hosted(study: Study) -> Iterator[dict[str, str]]:
    """Serve a study in this process, which is quicker; yields the links by name."""
    store = Store(study)
    people = [store.owner(), *store.raters()]
    try:
        with run(create_app(store, ServerSettings(data=study.folder, port=0))) as url:
            yield {each.name: f"{url}/#{each.token}" for each in people}
    finally:
        store.close()


@contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[Served]:
    served = Served(folder, port)
    try:
        yield served
    finally:
        served.stop()


class Sight:
    """Browsers of several raters, each with a separate profile."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.problems: list[str] = []

    def open(self, link: str, width: int = 1280, height: int = 800) -> Page:
        context = self._browser.new_context(
            viewport={"width": width, "height": height}, locale="en-GB"
        )
        context.set_default_timeout(15_000)
        self._contexts.append(context)
        page = context.new_page()

        def said(message: Any) -> None:
            if message.type == "error" and "Failed to load resource" not in message.text:
                self.problems.append(message.text)

        page.on("console", said)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.goto(link)
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def sight(browser: Browser) -> Iterator[Sight]:
    """Browsers; the test fails on console errors and exceptions of the page."""
    made = Sight(browser)
    yield made
    made.close()
    assert not made.problems
