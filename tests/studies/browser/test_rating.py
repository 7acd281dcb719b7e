"""Rating in a browser: keys, stages, several raters at once, and crashes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from semqa.studies.folder import open_study
from semqa.studies.kind import Input
from semqa.studies.store import Store
from tests.studies.browser.conftest import Sight, hosted
from tests.studies.made import EXAMPLES, OUTPUTS, make_study, write_lines

if TYPE_CHECKING:
    from playwright.sync_api import Page


def begin(page: Page) -> None:
    """Close the guidelines that a rater sees first."""
    page.get_by_role("button", name="Begin").wait_for()
    page.keyboard.press("Enter")
    ready(page)


def ready(page: Page) -> None:
    page.wait_for_selector("html[data-ready] .question, html[data-ready] #message h2")


def item(page: Page) -> str:
    return page.locator("#count").inner_text()


def saved(page: Page, *keys: str) -> None:
    """Press keys, and wait until the answer is saved and the page redrawn."""
    drawn = page.locator("html").get_attribute("data-ready")
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_selector(f'html:not([data-ready="{drawn}"])')


def test_an_item_is_rated_with_the_keyboard_alone(tmp_path: Path, sight: Sight) -> None:
    study = make_study(tmp_path / "new")
    with hosted(study) as links:
        page = sight.open(links["ann"])
        begin(page)
        for number in range(1, len(OUTPUTS) + 1):
            assert item(page) == f"Item {number} of {len(OUTPUTS)}"
            assert page.locator("#parts").get_by_text("HIDDEN").count() == 0
            saved(page, "1", "Enter")
            page.locator("#parts").get_by_text("HIDDEN").first.wait_for()
            saved(page, "2", "Enter")
        page.get_by_text("Done. Thank you!").wait_for()
        rated = Store(open_study(study.folder)).rated()
    assert [each.values["attributable"] for each in rated] == [False] * len(OUTPUTS)
    assert all(0 < each.seconds < 600 for each in rated)


def test_an_earlier_item_is_corrected(tmp_path: Path, sight: Sight) -> None:
    study = make_study(tmp_path / "new", "semqa", [Input(EXAMPLES, "human")])
    with hosted(study) as links:
        page = sight.open(links["ann"])
        begin(page)
        saved(page, "1", "Shift+Tab", *"5432", "Enter")
        page.locator("#count", has_text="Item 2 of 3").wait_for()
        page.keyboard.press("b")
        page.locator("#count", has_text="Item 1 of 3 · answered").wait_for()
        assert page.locator("input:checked").count() == 4
        page.locator("fieldset").nth(1).locator("input").first.focus()
        saved(page, "1", "Enter")
        page.locator("#count", has_text="Item 2 of 3").wait_for()
    (rated,) = Store(open_study(study.folder)).rated()
    assert [rated.values[name] for name in ("fluency", "comprehensiveness")] == [5, 1]
    assert rated.revision == 2


def test_texts_are_never_interpreted_as_html(tmp_path: Path, sight: Sight) -> None:
    evil = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    rows = [
        {
            "item": "q", "system": "m", "output": evil, "context": [{"speaker": evil, "text": evil}],
            "source": {"title": evil, "text": evil, "url": "javascript:alert(1)"},
            "table": {"title": evil, "rows": [[evil, {"text": evil, "highlighted": True}]]},
        }
    ]  # fmt: skip
    (tmp_path / "in").mkdir()
    path = write_lines(tmp_path / "in" / "evil.jsonl", rows)
    study = make_study(tmp_path, inputs=[Input(path)])
    with hosted(study) as links:
        page = sight.open(links["ann"])
        begin(page)
        saved(page, "1", "Enter")
        page.locator("table").wait_for()
        assert page.locator("#parts :is(img, script, a)").count() == 0
        assert page.locator(".prose").first.inner_text() == evil
        assert page.title() == "A study"


def test_a_link_without_its_secret_says_so(tmp_path: Path, sight: Sight) -> None:
    study = make_study(tmp_path / "new")
    with hosted(study) as links:
        bare = links["ann"].partition("#")[0]
        sight.open(bare).get_by_text("This link is incomplete").wait_for()
        sight.open(bare + "#" + "x" * 32).get_by_text("This link does not work").wait_for()
        owner = sight.open(links["owner"])
        owner.get_by_text("0 of 9 ratings").wait_for()


def test_time_counts_only_while_the_page_is_used(tmp_path: Path, sight: Sight) -> None:
    """With a fake clock in the page."""
    study = make_study(tmp_path / "new")
    with hosted(study) as links:
        page = sight.open("about:blank")
        page.clock.install()
        page.goto(links["ann"])
        begin(page)
        script = "import('/page/study/clock.js').then(({ Clock }) => (window.timed = new Clock()))"
        page.evaluate(script)
        page.clock.run_for(30_000)
        page.keyboard.press("Shift")
        page.clock.run_for(300_000)
        seconds = page.evaluate("window.timed.seconds")
        # Thirty seconds before the key press, a minute after it, and then a pause.
        assert seconds == pytest.approx(90, abs=2)
