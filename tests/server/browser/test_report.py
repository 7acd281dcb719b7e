"""The page of `semqa report`: it is self-contained, and hostile text stays text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from semqa import Source
from semqa.bench import Plan, run
from semqa.bench.report import load_runs, make_report, write_report
from semqa.data.quotesum import Question, Reference, write_quotesum
from tests.bench.test_report import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def hostile_runs(folder: Path) -> Path:
    data = folder / "hostile.jsonl"
    reference = Reference("r1", f"By [ 1 {HOSTILE.split('[', maxsplit=1)[0]} ] .", "")
    source = Source(f"It was {HOSTILE} and more.", title=HOSTILE)
    write_quotesum(data, [Question("PAQ_1", f"who {HOSTILE}?", (source,), (reference,))])
    run(Plan(data, "lead-1", name=HOSTILE), folder / "runs" / "a")
    run(Plan(data, "tail-1", name="=cmd"), folder / "runs" / "b")
    run(Plan(data, "lead-2", name="n" * 3000), folder / "runs" / "c")
    return folder / "runs"


def test_a_page_survives_what_it_shows(browser: Browser, tmp_path: Path) -> None:
    made = make_report(load_runs(hostile_runs(tmp_path)))
    path, *_ = write_report(made, tmp_path / "out")
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(path.as_uri())
    assert asked == [path.as_uri()]
    assert said == []
    assert page.locator("img").count() == 0
    assert page.locator("details.example").count() == 1
    summary = page.locator("summary").first
    summary.focus()
    page.keyboard.press("Enter")
    source = page.locator("details mark").first
    assert source.is_visible()
    assert "<img src=x onerror=alert(1)>" in page.locator("details").inner_text()
    assert page.locator(".dots .dot").count() >= 2
    page.fill("#find", "no such words")
    assert not page.locator("details").is_visible()
    page.fill("#find", "WHO")
    assert page.locator("details").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1000
    page.set_viewport_size({"width": 380, "height": 800})
    wide = page.locator("#scores .wide")
    wide.focus()
    page.keyboard.press("ArrowRight", delay=50)
    page.wait_for_function("document.querySelector('#scores .wide').scrollLeft > 0")
    assert wide.get_attribute("aria-label") == "Scores"
    bars = page.locator(".track").evaluate_all("all => all.map(e => e.clientWidth)")
    assert min(bars) > 200
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    page.close()
