"""Answers and errors are readable and visible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.server.browser.test_answers import LONG, ask, paste, wait_for_answer

if TYPE_CHECKING:
    from playwright.sync_api import FilePayload, Locator, Page

    from semqa import Source
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


def test_a_quote_of_several_lines_is_one_paragraph(serve: Serve, page: Page) -> None:
    site = serve(lambda _question, _sources: "[ 1 Name: Tern\nOwner: Ann ]")
    site.open(page)
    paste(page, "Name: Tern\nOwner: Ann")
    ask(page)
    wait_for_answer(page)
    assert page.locator(".quote bdi").inner_text() == "Name: Tern Owner: Ann"
    assert page.locator(".source .body mark").inner_text() == "Name: Tern\nOwner: Ann"


def test_what_is_cut_is_cut_between_words(serve: Serve, page: Page) -> None:
    site = serve(lambda _question, _sources: "[ 1 Ann came ]")
    site.open(page)
    words = "remarkable " * 300
    paste(page, f"{words}. Ann came. {words}")
    ask(page)
    wait_for_answer(page)
    page.locator(".quote").hover()
    around = page.locator(".preview .around")
    around.wait_for()
    for text in (around.inner_text(), page.locator(".source .body").inner_text()):
        cut = text.replace("…", " ").replace(".", " ").split()
        assert {"remarkable", "Ann", "came"} >= {word for word in cut if word.isalpha()} - {
            "Show", "of", "more", "characters",
        }  # fmt: skip
        assert cut.count("remarkable") < 300


def payload(name: str, kind: str, data: bytes) -> FilePayload:
    return {"name": name, "mimeType": kind, "buffer": data}


def test_many_refused_files_push_nothing_out_of_sight(serve: Serve, page: Page) -> None:
    serve().open(page)
    notes = payload("notes.txt", "text/plain", b"It was opened in 1932.")
    pictures = [
        payload(f"{number}.png", "image/png", b"\x89PNG\r\n\x1a\n" * 9) for number in range(8)
    ]
    page.locator("#files").set_input_files([notes, *pictures])
    page.locator("#uploads .said").nth(7).wait_for()
    page.locator("#documents li").first.wait_for()
    assert in_sight(page, page.get_by_role("button", name="Add files"))
    assert in_sight(page, page.locator("#documents li").first)
    assert page.locator("#documents li").first.bounding_box()["height"] > 20  # type: ignore[index]
    # The file name is shown once, above.
    assert page.locator("#uploads .said").first.inner_text().startswith("Unsupported file type")


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


def test_passages_of_one_document_are_listed_together_in_one_colour(
    serve: Serve, page: Page
) -> None:
    def script(_question: str, sources: list[Source]) -> str:
        at = {each.text.split()[0]: number for number, each in enumerate(sources, 1)}
        said = {"One": "One bridge", "Two": "Two bridges", "Three": "Three bridges"}
        return " and ".join(f"[ {at[word]} {text} ]" for word, text in said.items())

    site = serve(script)
    collection = site.library.create("", "c")
    pad = "x" * 900
    collection.put("a.txt", f"One bridge is here. {pad}\n\nThree bridges are here. {pad}".encode())
    collection.put("b.txt", f"Two bridges are there. {pad}".encode())
    site.open(page)
    ask(page, "Where are bridges?")
    wait_for_answer(page)
    quotes = page.locator(".quote")
    colours = [(each.get_attribute("class") or "").split()[1] for each in quotes.all()]
    assert colours == ["c0", "c1", "c0"]
    (group,) = page.locator(".document").all()
    assert group.locator("h3:visible").all_inner_texts() == ["a"]
    assert sorted(group.locator("mark").all_inner_texts()) == ["One bridge", "Three bridges"]
    assert page.locator(".source.quoted").count() == 3
    page.reload()
    wait_for_answer(page)
    assert page.locator(".quote.c0").count() == 2
