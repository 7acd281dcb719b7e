"""Take screenshots of the page for docs/, with a conversation about three short documents.

    python scripts/page_pictures.py [--out docs/pictures]

Needs Chromium and playwright; the engine is `extractive`. page-light.png and page-dark.png are
1280×800, phone-light.png and phone-dark.png 390×844.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from semqa.engines import create_engine
from semqa.retrieval.passages import Library
from semqa.server.app import create_app
from semqa.server.running import Running
from semqa.server.settings import ServerSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENTS = {
    "Lighthouses.md": """# Lighthouses of the county

The light at Hook Point stands 34 metres above the sea, and can be seen for 18 nautical miles. The tower was painted white until 1932, when it was painted grey.

Keepers lived in two cottages beside the tower. The last keeper, Ada Morrow, left in 1988, when the light was made automatic.
""",
    "Morrow-letters.txt": """Ada Morrow kept a diary for the thirty-one years that she was keeper of the light at Hook Point. Of the storms she wrote that the glass hummed before the wind could be heard.

Her letters to her sister are kept in the county archive.
""",
    "Harbour-report.txt": """In 1988 the harbour office decided that all lights of the region should work without keepers. Hook Point was the last one to be changed. The cost of the change was 46,000 pounds, a third of which came from the county.
""",
}
QUESTIONS = ("Who was Ada Morrow?", "When did she leave, and what did the change cost?")
SIZES = {"page": (1280, 800), "phone": (390, 844)}


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Run a server with the documents in a new folder; yield its address."""
    settings = ServerSettings(data=folder, port=0, create=lambda _: create_engine("extractive"))
    library = Library(settings.library, encoder=False)
    library.create("", "documents").put_all(
        [(name, text.encode()) for name, text in DOCUMENTS.items()]
    )
    ready = threading.Event()
    running = Running(create_app(settings, library=library), settings, ready.set)
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        if not ready.wait(60):
            sys.exit("The server did not start.")
        yield f"http://127.0.0.1:{running.port}"
    finally:
        running.stop()
        thread.join()


def ask_questions(url: str) -> None:
    """Create a conversation with all questions."""
    conversation = httpx.post(f"{url}/v1/conversations", json={}).json()["id"]
    for question in QUESTIONS:
        body = {"question": question, "conversation": conversation, "collection": "documents"}
        httpx.post(f"{url}/v1/answers", json=body, timeout=60).raise_for_status()


def take_screenshot(browser: Browser, url: str, name: str, scheme: Any, out: Path) -> None:
    """Take one screenshot."""
    width, height = SIZES[name]
    phone = name == "phone"
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        locale="en-GB",
        reduced_motion="reduce",
        is_mobile=phone,
        has_touch=phone,
    )
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    open_first_conversation(page, phone=phone)
    page.locator(".quote").last.wait_for()
    if not phone:
        page.locator(".quote").nth(1).hover()
    page.wait_for_timeout(600)
    page.screenshot(path=out / f"{name}-{scheme}.png")
    context.close()


def open_first_conversation(page: Page, *, phone: bool) -> None:
    """Open the only conversation in the list."""
    if phone:
        page.locator("#open-side").tap()
    page.locator("#conversations li > :first-child").first.click()


def main() -> None:
    """Take all screenshots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder)) as url,
        sync_playwright() as playwright,
    ):
        ask_questions(url)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name in SIZES:
            for scheme in ("light", "dark"):
                take_screenshot(browser, url, name, scheme, options.out)
        browser.close()


if __name__ == "__main__":
    main()
