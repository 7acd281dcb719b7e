"""Stored data: conversations after a reload, uploaded documents, and API keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tests.server.browser.test_answers import ask, paste, wait_for_answer

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.server.browser.conftest import Serve


def wait_for_count(locator: Locator, count: int) -> None:
    from playwright.sync_api import expect

    expect(locator).to_have_count(count)


DROP = """files => {
  const transfer = new DataTransfer();
  for (const [name, text] of files) transfer.items.add(new File([text], name));
  for (const kind of ["dragenter", "dragover", "drop"]) {
    document.body.dispatchEvent(new DragEvent(kind, {dataTransfer: transfer, bubbles: true, cancelable: true}));
    if (kind === "dragover") window.veil = !document.getElementById("drop").hidden;
  }
}"""


def test_conversations_are_listed_renamed_exported_and_deleted(serve: Serve, page: Page) -> None:
    serve(lambda *_: "He [ 1 sang it ].").open(page)
    for question in ("First?", "Second?"):
        page.get_by_role("button", name="New conversation").click()
        paste(page, "Bing sang it.", "Bing")
        ask(page, question)
        wait_for_answer(page)
        page.locator("#conversations a", has_text=question).wait_for()
    links = page.locator("#conversations a")
    assert links.all_inner_texts() == ["Second?", "First?"]
    links.nth(1).click()
    page.locator(".asked", has_text="First?").wait_for()
    page.get_by_role("button", name="Rename First?").click()
    page.locator("#line-dialog [name=line]").fill("<b>Other</b>")
    page.keyboard.press("Enter")
    page.locator("#title", has_text="<b>Other</b>").wait_for()
    with page.expect_download() as started:
        page.get_by_role("button", name="Export <b>Other</b>").click()
    kept = Path(started.value.path()).read_text()
    assert started.value.suggested_filename == "b-Other-b.md"
    assert "## First?" in kept
    assert "He **sang it**[^1-1]." in kept
    assert "[^1-1]: Source 1: Bing" in kept
    page.get_by_role("button", name="Delete <b>Other</b>").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    wait_for_count(page.locator("#conversations li"), 1)
    assert page.locator(".welcome").is_visible()
    page.go_back()
    page.get_by_text("Conversation not found").wait_for()
    page.go_back()
    page.locator(".asked", has_text="Second?").wait_for()


def test_dropped_files_are_uploaded_and_answered_from(serve: Serve, page: Page) -> None:
    site = serve()
    site.open(page)
    text = "Bing Crosby sang White Christmas in 1941.\n\nFred Astaire danced in Holiday Inn."
    page.evaluate(DROP, [["song.txt", text], ["bad.bin", "a\0b"]])
    assert page.evaluate("window.veil"), "the page says that it takes files"
    page.locator("#documents .name", has_text="song.txt").wait_for()
    assert "bad.bin" in page.locator("#uploads .problem").inner_text()
    assert page.locator("#collection").input_value() == "documents"
    ask(page, "Who sang White Christmas?")
    wait_for_answer(page)
    page.locator(".quote").first.click()
    page.locator(".source").first.get_by_role("button", name="Show in document").click()
    page.locator(".source .passage").first.wait_for()
    assert page.locator(".source .body").first.inner_text() == text
    shown = "".join(page.locator(".source").first.locator("mark").all_inner_texts())
    assert shown in text
    page.get_by_role("button", name="New conversation").click()
    page.get_by_role("button", name="Try an example").click()
    wait_for_answer(page)
    assert page.locator("#collection").input_value() == "", "the example is answered by itself"
    page.get_by_role("button", name="New conversation").click()
    page.locator("#documents .name", has_text="song.txt").wait_for()
    assert page.locator("#collection").input_value() == "documents"
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.locator("#documents .name", has_text="song.txt").wait_for()
    page.locator("#documents li").hover()
    page.get_by_role("button", name="Remove song.txt").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    wait_for_count(page.locator("#documents li"), 0)
    assert site.library.collection("", "documents").documents() == []


def test_a_server_with_keys_asks_for_one_and_shows_what_is_its(serve: Serve, page: Page) -> None:
    site = serve(lambda *_: "He [ 1 sang it ].")
    store = site.store
    (mine, secret), (other, _) = store.create_key("mine"), store.create_key("other")
    store.create_conversation(other, "not yours")
    store.create_conversation(mine, "yours")
    page.goto(site.url)
    field = page.get_by_label("API key", exact=True)
    field.fill("wrong")
    field.press("Enter")
    page.get_by_text("This API key is not valid.").wait_for()
    field.fill(secret)
    field.press("Enter")
    page.wait_for_selector("html[data-ready]")
    assert page.locator("#conversations a").all_inner_texts() == ["yours"]
    paste(page, "Bing sang it.")
    ask(page)
    wait_for_answer(page)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    wait_for_answer(page)
    assert secret not in json.dumps(page.evaluate("({...localStorage})")), "kept for this tab alone"
    assert len(store.conversations(mine)) == 2
    page.get_by_role("button", name="Forget the API key").click()
    field.wait_for()
    assert secret not in json.dumps(page.evaluate("({...sessionStorage, ...localStorage})"))


def test_an_unreachable_server_is_reported(serve: Serve, page: Page) -> None:
    serve(lambda *_: "He [ 1 sang it ].").open(page)
    paste(page, "Bing sang it.")
    page.context.set_offline(True)
    ask(page)
    page.get_by_text("The server cannot be reached.").wait_for()
    page.context.set_offline(False)
    assert page.get_by_label("Your question").input_value() == "Who?"
    page.get_by_role("button", name="Ask", exact=True).click()
    wait_for_answer(page)
