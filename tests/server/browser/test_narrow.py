"""Narrow screens: the sources are a sheet over the chat, the conversations a drawer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import pytest

from tests.server.browser.test_answers import ask, on_screen, paste, wait_for_answer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.server.browser.conftest import Serve

LONG = "Nothing happens here, as anyone can see. " * 25


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": 360, "height": 740},
        has_touch=True,
        is_mobile=True,
        reduced_motion="reduce",
    )
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()


def test_a_failed_upload_is_told_over_the_chat(serve: Serve, phone: Page) -> None:
    serve().open(phone)
    phone.locator("input[type=file]").first.set_input_files(
        {"name": "bad.bin", "mimeType": "application/octet-stream", "buffer": b"a\0b"}
    )
    toast = phone.locator("#toast")
    toast.wait_for()
    assert "1 file could not be added" in toast.inner_text()
    box = toast.bounding_box()
    assert box is not None
    assert 0 <= box["x"] <= box["x"] + box["width"] <= 360


def test_a_quote_opens_the_sheet_at_its_place(serve: Serve, phone: Page) -> None:
    serve(lambda *_: "At last [ 1 it happens ], and " + "then more " * 80 + "[ 1 the end ].").open(
        phone
    )
    paste(phone, f"{LONG}Then it happens. {LONG}This is the end. {'w' * 400}")
    ask(phone)
    wait_for_answer(phone)
    sheet = phone.locator("#sources")
    assert not sheet.is_visible()
    phone.locator(".quote").first.tap()
    assert sheet.is_visible()
    mark = phone.locator("mark.pinned")
    assert mark.inner_text() == "it happens"
    assert on_screen(phone, mark)
    assert phone.evaluate("document.documentElement.scrollWidth") == 360, "nothing sticks out"
    phone.keyboard.press("Escape")
    sheet.wait_for(state="hidden")
    assert phone.evaluate("document.activeElement.textContent").startswith("it happens")
    # Going back to the answer closes the sheet.
    phone.locator(".quote").last.tap()
    phone.locator("mark.pinned a").tap()
    assert not sheet.is_visible()
    box = phone.locator(".quote").last.bounding_box()
    assert box is not None
    assert 0 < box["y"] < 740


def test_no_text_is_too_faint_to_read(serve: Serve, phone: Page) -> None:
    """All visible text has a contrast of at least 4.5 to 1 (WCAG 2.2 AA)."""
    text = "It is [ 1 so ], [ 2 also ], not [ 1 never ].\n\n> `it` [ 1 is ] [a](https://e.org)\n\n```py\nx\n```"
    site = serve(lambda *_: text)
    site.library.create("", "docs").put("unquoted.txt", b"Is it so? It is not quoted.")
    site.open(phone)
    phone.set_viewport_size({"width": 1400, "height": 800})
    paste(phone, "It is so.", "A title")
    paste(phone, "Here also.", "Another")
    ask(phone, "Is it so?")
    wait_for_answer(phone)
    phone.locator(".rest summary").click()
    phone.wait_for_timeout(1300)
    find_faint = r"""() => {
          const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
          const rgba = colour => {
            canvas.clearRect(0, 0, 1, 1);
            canvas.fillStyle = colour;
            canvas.fillRect(0, 0, 1, 1);
            const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
            return [r, g, b, a / 255];
          };
          const over = (top, under) => top.slice(0, 3).map((c, i) => c * top[3] + under[i] * (1 - top[3]));
          const light = c => {
            const [r, g, b] = c.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const background = element => {
            const below = element.parentElement ? background(element.parentElement) : [255, 255, 255];
            return over(rgba(getComputedStyle(element).backgroundColor), below);
          };
          const faint = [];
          const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          for (let node; (node = walker.nextNode());) {
            const element = node.parentElement;
            if (!node.data.trim() || !element.checkVisibility({visibilityProperty: true}) || element.closest(".sr, dialog, script, noscript, select, .skip")) continue;
            const under = background(element);
            let colour = rgba(getComputedStyle(element).color);
            for (let e = element; e; e = e.parentElement) colour[3] *= getComputedStyle(e).opacity;
            const [one, other] = [light(over(colour, under)), light(under)];
            const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
            if (contrast < 4.5) faint.push([node.data.trim().slice(0, 40), contrast.toFixed(2)]);
          }
          return faint;
        }"""
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        phone.emulate_media(color_scheme=scheme)
        assert phone.evaluate(find_faint) == [], scheme
