"""Answers and errors are readable and visible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.server.browser.test_answers import LONG, ask, paste, wait_for_answer

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.server.browser.conftest import Serve

BREAKS_OFF = """
const real = window.fetch;
window.fetch = (path, given) => {
  if (!String(path).endsWith("v1/answers")) return real(path, given);
  const begun = 'event: text\\ndata: {"text": "It was"}\\n\\n';
  return Promise.resolve(new Response(new ReadableStream({
    start(stream) {
      stream.enqueue(new TextEncoder().encode(begun));
      setTimeout(() => stream.error(new TypeError("network error")), 50);
    },
  })));
};
"""


def in_sight(page: Page, element: Locator) -> bool:
    box = element.bounding_box()
    size = page.viewport_size
    assert box is not None
    assert size is not None
    return box["y"] >= 0 and box["y"] + box["height"] <= size["height"]


def test_a_long_answer_is_read_from_its_beginning(serve: Serve, page: Page) -> None:
    site = serve(lambda _question, _sources: "[ 1 He ] said so. " * 400)
    site.open(page)
    paste(page, "He")
    for question in ("Who?", "Who else?"):
        ask(page, question)
        page.locator(".answer .verdict").nth(0 if question == "Who?" else 1).wait_for()
        page.wait_for_timeout(100)
        assert in_sight(page, page.locator(".asked").last)
        assert not in_sight(page, page.locator(".verdict").last)
    page.reload()
    wait_for_answer(page)
    page.wait_for_timeout(100)
    assert in_sight(page, page.locator(".asked").last)


def test_a_lost_connection_is_reported(serve: Serve, page: Page) -> None:
    page.add_init_script(BREAKS_OFF)
    serve().open(page)
    paste(page, LONG)
    ask(page, "When?")
    problem = page.locator(".answer .problem")
    assert "connection to the server was lost" in problem.inner_text()
    assert page.get_by_label("Your question").input_value() == "When?"


def test_headings_and_tables_of_a_document_look_like_those(serve: Serve, page: Page) -> None:
    hours = "# Hours\n\nOpen on Mondays. C# is not taught.\n\n"
    text = f"{hours}| 𝒳day | hour |\n| --- | --- |\n| Monday | 9 |\n|  | 10 \\| 11 |\n\nor | else"
    serve(lambda *_: "[ 1 Open on Mondays. ] [ 1 𝒳day ] [ 1 Monday | 9 ]").open(page)
    paste(page, text)
    ask(page)
    wait_for_answer(page)
    body = page.locator(".source .body")
    assert body.locator(".heading").all_inner_texts() == ["# Hours"]
    assert body.locator("th").all_inner_texts() == ["𝒳day", "hour"]
    assert body.locator("td").all_inner_texts() == ["Monday", "9", "", "10 \\| 11"]
    assert body.inner_text().startswith("# Hours\n\nOpen on Mondays. C# is not taught.")
    assert body.inner_text().endswith("or | else")
    marks = body.locator("mark")
    assert marks.all_inner_texts() == ["Open on Mondays.", "𝒳day", "Monday", "9"]
    assert body.locator("mark a:not([tabindex])").count() == 3
    page.locator(".quote").nth(2).click()
    assert page.locator("mark.pinned").all_inner_texts() == ["Monday", "9"]
