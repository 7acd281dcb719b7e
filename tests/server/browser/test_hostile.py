"""Hostile text is always shown as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa import Source
from tests.server.browser.test_answers import ask, on_screen, paste, wait_for_answer

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


def test_hostile_text_stays_text(serve: Serve, page: Page) -> None:
    text = " ".join(HOSTILE)

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
    page.wait_for_selector("html[data-ready]")
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
    page.wait_for_selector("html[data-ready]")
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
    page.wait_for_selector("html[data-ready]")
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
