"""Studies in a browser, served by a thread or by `semqa study serve`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from semqa.server.settings import ServerSettings
from semqa.studies.app import create_app
from semqa.studies.kind import Study
from semqa.studies.store import Store
from tests.server.browser.conftest import browser, watched
from tests.server.serving import run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

__all__ = ["browser"]


@contextmanager
def hosted(study: Study) -> Iterator[dict[str, str]]:
    """Serve a study in this process, which is quicker; yields the links by name."""
    store = Store(study)
    people = [store.rater("owner"), *store.raters()]
    try:
        with run(create_app(store, ServerSettings(data=study.folder, port=0))) as url:
            yield {each.name: f"{url}/#{each.token}" for each in people}
    finally:
        store.close()


class Sight:
    """Browsers of several raters, each with a separate profile."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.problems: list[str] = []

    def open(self, link: str, width: int = 1280, height: int = 800) -> Page:
        page = watched(self._browser, self.problems, viewport={"width": width, "height": height})
        self._contexts.append(page.context)
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
