"""How the sources look: headings and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.documents.makers import pdf_contents, stream
from tests.server.browser.test_answers import ask, paste, place_of, wait_for_answer

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.server.browser.conftest import Serve

TABLE = """| Model | Capacity in litres | Power consumption | Dimensions | Recommended for | Warranty |
|---|---|---|---|---|---|
| Arctic Pro | 200 | 1.2 kWh per day | 1200 x 600 x 650 | restaurants and canteens | 24 months |
| Arctic Mini | 90 | 0.6 kWh per day | 800 x 500 x 550 | offices and small shops | 36 months |"""
HTML = b"""<title>Travel</title><h1>Travel</h1><p>All of it is paid.</p><h2>Hotels</h2>
<p>The desk books them. The limit for hotels is 120 euros per night.</p>"""
PDF = stream(
    b"BT /F1 20 Tf 72 720 Td (Hotels) Tj /F1 11 Tf 0 -30 Td (The desk books the hotels, and it takes "
    b"the cheapest one that is there.) Tj 0 -14 Td (The limit for hotels is 120 euros per night.) Tj ET"
)
MARKDOWN = (
    b"# Travel\n\nAll is paid.\n\n## Hotels\n\nThe limit for hotels is 120 euros per night.\n"
)


@pytest.mark.parametrize(
    ("name", "data", "heading"),
    [
        ("travel.md", MARKDOWN, "Hotels"),
        ("travel.html", HTML, "Hotels"),
        ("travel.pdf", pdf_contents([PDF]), "Hotels"),
        ("travel.txt", MARKDOWN, "## Hotels"),  # its own characters, which may be no mark
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_headings_look_the_same_in_all_kinds_of_files(
    serve: Serve, page: Page, name: str, data: bytes, heading: str
) -> None:
    site = serve()
    (document,) = (collection := site.library.create("", "rules")).put_all([(name, data)])
    site.open(page)
    ask(page, "What is the limit for hotels?")
    wait_for_answer(page)
    page.locator(".source .open").click()
    page.get_by_role("button", name="Show only the passage").wait_for()
    heading_shown = page.locator(".source .heading").last
    assert heading_shown.inner_text() == heading
    assert heading_shown.evaluate("e => Number(getComputedStyle(e).fontWeight)") > 600
    text = collection.document(document.id).text
    mark = page.locator(".source mark").last
    start, end = place_of(page, mark)
    assert text[start:end] == mark.inner_text(), "hidden marks count"
    assert "120 euros" in text[start:end]


def test_a_wide_table_shows_that_it_goes_on(serve: Serve, page: Page) -> None:
    serve(lambda *_: "[ 1 | Arctic Pro | 200 ]").open(page)
    page.set_viewport_size({"width": 1280, "height": 800})
    paste(page, TABLE, "Wide")
    paste(page, "| a | b |\n|---|---|\n| 1 | 2 |", "Narrow")
    ask(page)
    wait_for_answer(page)
    page.locator(".rest summary").click()
    page.wait_for_timeout(1300)  # the quote stops shining

    def edges(table: Locator) -> tuple[bool, bool]:
        """Whether the left and the right edge have a shadow."""
        box = table.bounding_box()
        assert box is not None
        at = (box["x"] + 1, box["x"] + box["width"] - 6)
        clips: list[Any] = [
            {"x": x, "y": box["y"] + 2, "width": 5, "height": box["height"] - 4} for x in at
        ]

        def pictures() -> list[bytes]:
            return [page.screenshot(clip=clip) for clip in clips]

        before = pictures()
        table.evaluate("e => e.style.background = 'none'")
        after = pictures()
        table.evaluate("e => e.style.background = ''")
        return before[0] != after[0], before[1] != after[1]

    tables = page.locator(".source .written-table")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.mouse.move(0, 0)
        wide = tables.first
        wide.scroll_into_view_if_needed()
        for left, shadows in ((0, (False, True)), (100, (True, True)), (9999, (True, False))):
            wide.evaluate("(e, left) => e.scrollLeft = left", left)
            assert edges(wide) == shadows, (scheme, left)
        wide.evaluate("e => e.scrollLeft = 0")
        assert edges(tables.last) == (False, False), "all of it is in view"


def test_rows_among_the_closest_passages_are_a_table(serve: Serve, page: Page) -> None:
    serve().open(page)
    paste(page, TABLE, "Coolers")
    ask(page, "Who founded the Arctic Mini?")
    page.locator(".verdict.abstained").wait_for()
    rows = page.locator(".nearest .table .quote")
    assert rows.first.locator("bdi").all_inner_texts()[::5] == ["Model", "Warranty"]
    assert rows.last.locator("bdi").all_inner_texts()[::5] == ["Arctic Mini", "36 months"]
    assert page.locator(".nearest li").inner_text().endswith("Coolers")
    assert "| ---" not in page.locator(".back").inner_text()
    assert all(not each.startswith("|") for each in page.locator(".back li").all_inner_texts())
    rows.last.click()
    shown = page.locator("mark.pinned").all_inner_texts()
    assert shown == rows.last.locator("bdi").all_inner_texts()
