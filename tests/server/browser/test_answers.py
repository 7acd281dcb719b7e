"""Asking questions, and navigating between quotes and their places in the sources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from semqa import QuotedAnswer, Source
from semqa.engines.extractive import ExtractiveEngine
from semqa.quotes.render import to_markdown

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.server.browser.conftest import Serve

LONG = "Nothing happens here. " * 400


def paste(page: Page, text: str, title: str = "") -> None:
    page.get_by_role("button", name="Paste a passage").click()
    page.locator("#passage-dialog [name=title]").fill(title)
    page.locator("#passage-dialog [name=text]").fill(text)
    page.locator("#passage-dialog").get_by_role("button", name="Add").click()


def ask(page: Page, question: str = "Who?") -> None:
    page.get_by_label("Your question").fill(question)
    page.get_by_label("Your question").press("Enter")


def wait_for_answer(page: Page) -> None:
    page.locator(".answer .verdict").last.wait_for()


def place_of(page: Page, mark: Locator) -> tuple[int, int]:
    """The offsets of a mark in the text of its source, in code points."""
    return tuple(
        mark.evaluate(
            """mark => {
              const before = document.createRange();
              before.selectNodeContents(mark.closest(".body"));
              before.setEndBefore(mark);
              const start = Array.from(before.toString()).length;
              return [start, start + Array.from(mark.textContent).length];
            }"""
        )
    )


def on_screen(page: Page, mark: Locator) -> bool:
    """Whether a place is visible after scrolling."""
    for _ in range(300):
        if mark.evaluate(
            """mark => {
              const list = mark.closest(".list").getBoundingClientRect();
              return [...mark.getClientRects()].every(box => {
                const at = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
                return box.top >= list.top && box.bottom <= list.bottom && mark.contains(at);
              });
            }"""
        ):
            return True
        page.wait_for_timeout(100)
    return False


def test_the_real_engine_answers_and_every_quote_shows_its_place(serve: Serve, page: Page) -> None:
    serve().open(page)
    page.get_by_role("button", name="Try an example").click()
    wait_for_answer(page)
    quotes = page.locator(".answer .quote")
    texts = quotes.locator("bdi").all_inner_texts()
    assert [text.split(" ", 3)[:3] for text in texts] == [
        ["The", "version", "sung"],
        ["White", "Christmas", "won"],
    ], "a good answer on the first screen"
    assert "verified character for character" in page.locator(".verdict").inner_text()
    for at in range(quotes.count()):
        quotes.nth(at).click()
        shown = page.locator("mark.pinned")
        text = "".join(shown.all_inner_texts())
        assert text == quotes.nth(at).locator("bdi").inner_text()
        assert on_screen(page, shown.first)
        page.mouse.move(0, 0)
        assert quotes.nth(at).evaluate("e => e.matches('.pinned')")
        assert "".join(shown.all_inner_texts()) == text, "it stays lit when the pointer leaves"


def test_the_right_occurrence_is_shown(serve: Serve, page: Page) -> None:
    # The text before has surrogate pairs, and the word occurs three times.
    text = f"😀😀 Paris 🎄. {LONG}Then Paris, again 𝒳, and Paris."

    def script(_: str, sources: list[Source]) -> str:
        return "It was [ 1 Then Paris, again 𝒳 ] and then [ 1 and Paris ]."

    serve(script).open(page)
    paste(page, text, "Cities")
    ask(page)
    wait_for_answer(page)
    quote = page.locator(".quote").first
    quote.click()
    mark = page.locator("mark.pinned")
    assert mark.inner_text() == "Then Paris, again 𝒳"
    assert on_screen(page, mark)
    # The button shows the number of folded characters.
    gap = page.locator(".gap").inner_text()
    folded = int(re.search(r"of ([\d,]+) more", gap)[1].replace(",", ""))  # type: ignore[index]
    start, end = place_of(page, mark)
    start, end = start + folded - len(gap), end + folded - len(gap)
    assert text[start:end] == "Then Paris, again 𝒳"
    page.locator(".gap").click()
    start, end = place_of(page, page.locator("mark").first)
    assert text[start:end] == "Then Paris, again 𝒳"
    assert page.locator("#source-1 .body").inner_text() == text


def test_overlapping_quotes_share_what_they_share(serve: Serve, page: Page) -> None:
    serve(lambda *_: "[ 1 b c ] and [ 1 c d ] and [ 1 the title ].").open(page)
    paste(page, "a b c d e", "in the title")
    ask(page)
    wait_for_answer(page)
    marks = page.locator("#source-1 .body mark")
    assert [marks.nth(at).get_attribute("data-quotes") for at in range(3)] == ["0", "0 1", "1"]
    assert marks.all_inner_texts() == ["b ", "c", " d"]
    assert page.locator("#source-1 h3 mark").inner_text() == "the title"
    page.locator(".quote").nth(1).hover()
    assert page.locator("mark.on").all_inner_texts() == ["c", " d"]
    # Hovering over a place highlights its quotes.
    page.mouse.move(0, 0)
    marks.nth(1).hover()
    assert page.locator(".quote.on").count() == 2
    page.mouse.move(0, 0)
    assert page.locator(".quote.on").count() == 0
    back = page.locator("#source-1 .back button")
    assert back.all_inner_texts() == ["b c", "c d", "the title"]
    back.nth(2).click()
    assert page.evaluate("document.activeElement.textContent").startswith("the title")


def test_quotes_light_up_while_the_answer_is_being_written(serve: Serve, page: Page) -> None:
    slow = "One [ 1 𝒳 is first ] then much more is said " + "and said " * 35 + "and [ 2 last ]."
    serve(lambda *_: slow, pause=0.03).open(page)
    paste(page, "Here 𝒳 is first.", "One")
    paste(page, "At last.", "Two")
    ask(page)
    page.locator(".answer.streaming .quote").first.wait_for()
    assert page.locator(".answer .quote").count() == 1
    assert page.locator(".source").count() == 2, "sources are there before the answer is complete"
    page.locator(".quote").first.click()
    assert page.locator("mark.pinned").inner_text() == "𝒳 is first"
    wait_for_answer(page)
    assert page.locator(".quote bdi").all_inner_texts() == ["𝒳 is first", "last"]
    shown = page.locator(".answer .text").evaluate(
        "e => { const c = e.cloneNode(true); c.querySelectorAll('sup,.sr').forEach(x => x.remove()); return c.textContent; }"
    )
    assert shown == QuotedAnswer.parse(slow, ()).plain


def test_copying_gives_the_markdown_of_the_library(serve: Serve, page: Page) -> None:
    marked = "1. A *star* [ 1 is_here  😀 ] \u3000and [ 2 not ] & [ 2 two ]$ <b>.\u00a0"
    sources = [
        Source("It is_here  😀 now", "T [x] *y* "),
        Source("two", "", "https://example.org/a_b?c=[1]"),
    ]
    site = serve(lambda *_: marked)
    site.open(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    site.keep("Q", sources)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.locator("#conversations a").first.click()
    page.get_by_role("button", name="Copy as Markdown").click()
    page.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    answer = ExtractiveEngine().rate("Q", QuotedAnswer.parse(marked, sources))
    assert copied == to_markdown(answer, question="Q")
