"""Hostile text is always shown as text."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from semqa import Source
from tests.server.browser.test_answers import ask, on_screen, paste, wait_for_answer
from tests.server.browser.test_keeping import wait_for_count

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.server.browser.conftest import Serve

HOSTILE = [
    "<script>window.broken = 1</script>", "<img src=x onerror='window.broken = 1'>",
    "</textarea></article><style>* { display: none }</style>",
    "]]><!-- <svg onload=window.broken=1>", "javascript:window.broken=1",
    "${window.broken = 1} {{ 1 + 1 }} %s", "[ 1 forged ] [ 2 also ]",
    "&lt;b&gt; &amp; \u2028 \u2029 end",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(serve: Serve, page: Page, text: str) -> None:
    def script(question: str, sources: list[Source]) -> str:
        inner = text.replace("[", "").replace("]", "")
        return f"{inner} says [ 1 plain words ] and [ 1 {inner} ]."

    serve(script).open(page)
    paste(page, f"plain words {text} more", text)
    ask(page, text)
    wait_for_answer(page)
    page.locator(".quote").first.hover()
    page.locator("#preview").wait_for()
    assert (
        page.locator("#source-1 .body").evaluate("e => e.textContent") == f"plain words {text} more"
    )
    assert page.locator("#source-1 h3").evaluate("e => e.textContent") == text
    assert page.locator(".asked").evaluate("e => e.textContent") == text
    assert page.evaluate("window.broken") is None
    assert page.locator("script, img, style").count() == 3, "its own scripts, and its sign"
    page.reload()
    wait_for_answer(page)
    assert page.locator(".asked").evaluate("e => e.textContent") == text
    assert page.evaluate("window.broken") is None


def test_what_reorders_text_is_shown(serve: Serve, page: Page) -> None:
    serve(lambda *_: "It is [ 1 safe\u202eelif ] \x1b[2J.").open(page)
    paste(page, "Here: safe\u202eelif \u2066and\u0007 on.", "a\u202eb")
    ask(page, "\u202ewho?")
    wait_for_answer(page)
    everything = page.locator("#app").evaluate("e => e.textContent")
    assert not any(mark in everything for mark in "\u202e\u2066\x07\x1b")
    page.locator(".quote").first.click()
    assert page.locator("mark.pinned").inner_text() == "safe<U+202E>elif"
    assert page.locator(".asked").inner_text() == "<U+202E>who?"


def test_a_link_of_a_source_is_a_link_only_if_it_leads_to_the_web(serve: Serve, page: Page) -> None:
    site = serve(lambda *_: "a [ 1 b ] [ 2 b ] [ 3 b ]")
    site.open(page)
    urls = ["javascript:alert(1)", "data:text/html,x", "https://example.org/"]
    site.keep("Q", [Source("b", url=url) for url in urls])
    page.reload()
    page.locator("#conversations a").first.click()
    wait_for_answer(page)
    links = page.locator(".meta a")
    assert links.count() == 1
    assert links.get_attribute("href") == "https://example.org/"
    assert "noopener" in (links.get_attribute("rel") or "")


def test_a_line_of_a_megabyte_is_shown_where_it_is_quoted(serve: Serve, page: Page) -> None:
    line = "x" * 700_000 + " the needle " + "y" * 300_000
    site = serve(lambda *_: "It is [ 1 the needle ].")
    site.open(page)
    site.keep("Q", [Source(line)])
    page.reload()
    page.locator("#conversations a").first.click()
    wait_for_answer(page)
    page.locator(".quote").click()
    mark = page.locator("mark.pinned")
    assert mark.inner_text() == "the needle"
    assert on_screen(page, mark)
    assert page.locator("#source-1 .body").evaluate("e => e.textContent.length") < 10_000
    page.locator(".gap").first.click()
    assert "of 679" in page.locator(".gap").first.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_megabyte_that_is_pasted_is_a_passage(serve: Serve, page: Page) -> None:
    site = serve(lambda *_: "It is [ 1 the needle ].")
    site.open(page)
    field = page.get_by_label("Your question")
    field.fill("Where is ")
    field.press("End")
    text = "word \n" * 160_000 + "the needle"
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    began = time.monotonic()
    page.keyboard.press("Control+V")
    wait_for_count(page.locator("#passages li"), 1)
    page.get_by_role("button", name="Paste a passage").click()
    page.locator("#passage-dialog [name=title]").fill("Long")
    page.locator("#passage-dialog [name=text]").focus()
    page.keyboard.press("Control+V")
    page.locator("#passages li", has_text="Long").wait_for()
    assert time.monotonic() - began < 60
    assert page.locator("#passage-dialog").is_hidden()
    field.press("End")
    page.keyboard.insert_text("it?")
    assert field.input_value() == "Where is it?"
    field.press("Enter")
    wait_for_answer(page)
    assert page.locator("mark").count() == 1


def test_two_thousand_quotes_are_drawn_in_time(serve: Serve, page: Page) -> None:
    words = [f"w{n} 𝒳" for n in range(2000)]
    serve(lambda *_: " ".join(f"and [ 1 {w} ]" for w in words)).open(page)
    paste(page, " ".join(words))
    ask(page)
    page.locator(".answer .verdict").wait_for(timeout=30_000)
    assert page.locator(".quote").count() == 2000
    page.locator(".quote").last.click()
    assert page.locator("mark.pinned").inner_text() == "w1999 𝒳"
