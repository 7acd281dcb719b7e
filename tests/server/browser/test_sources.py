"""How the sources look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.server.browser.test_answers import ask, paste, wait_for_answer

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.server.browser.conftest import Serve

TABLE = """| Model | Capacity in litres | Power consumption | Dimensions | Recommended for | Warranty |
|---|---|---|---|---|---|
| Arctic Pro | 200 | 1.2 kWh per day | 1200 x 600 x 650 | restaurants and canteens | 24 months |
| Arctic Mini | 90 | 0.6 kWh per day | 800 x 500 x 550 | offices and small shops | 36 months |"""


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
