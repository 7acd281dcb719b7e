"""Choices of a reader: collections, engine, document, theme; asking again; the keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.server.browser.test_answers import ask, on_screen, paste, wait_for_answer

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.server.browser.conftest import Serve, Site

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright").expect

BRIDGE = "The bridge was opened in 1932 by the mayor."
TOWER = "The tower was opened in 1889. It is made of iron."


def with_collections(serve: Serve, **more: Any) -> Site:
    site = serve(**more)
    long = f"{'Nothing here. ' * 300}\n\n{BRIDGE}\n\n{'Nothing more. ' * 300}"
    site.library.create("", "bridges").put("bridge.txt", long.encode())
    site.library.create("", "towers").put("tower.txt", TOWER.encode())
    return site


def test_all_collections_are_searched_unless_some_are_chosen(serve: Serve, page: Page) -> None:
    with_collections(serve).open(page)
    expect(page.locator("#answers-from")).to_have_text("Answers from all collections")
    ask(page, "When was the bridge opened?")
    wait_for_answer(page)
    expect(page.locator(".answer .quote").first).to_contain_text("1932")
    page.locator("#collection").select_option("towers")
    ask(page, "When was the tower opened?")
    expect(page.locator(".answer .quote").last).to_contain_text("1889")
    page.locator("#collection").select_option(label="Select collections…")
    page.locator("#some-choices label", has_text="bridges").click()
    page.locator("#some-dialog").get_by_role("button", name="Choose").click()
    expect(page.locator("#answers-from")).to_have_text("Answers from all collections")


def add_file(page: Page) -> None:
    page.locator("#files").set_input_files(
        {"name": "bonus.txt", "mimeType": "text/plain", "buffer": b"The bonus is paid in May."}
    )
    expect(page.locator("#toast")).to_have_text("1 file added to documents")


def reload(page: Page) -> None:
    page.reload()
    page.wait_for_selector("html[data-ready]")


def test_adding_a_file_does_not_narrow_the_search(serve: Serve, page: Page) -> None:
    with_collections(serve).open(page)
    chosen, told = page.locator("#collection"), page.locator("#answers-from")
    ask(page, "When was the bridge opened?")
    wait_for_answer(page)
    add_file(page)
    expect(told).to_have_text("Answers from all collections")
    reload(page)  # its last question searched all collections of its time
    wait_for_answer(page)
    expect(told).to_have_text("Answers from all collections")
    for question, answer in (
        ("When was the tower opened?", "1889"),
        ("When is the bonus paid?", "May"),
    ):
        ask(page, question)
        expect(page.locator(".answer .quote").last).to_contain_text(answer)
    page.get_by_role("button", name="New conversation").click()
    expect(told).to_have_text("Answers from all collections")
    expect(chosen.locator("option:checked")).to_have_text("All collections")


def test_the_collection_of_a_new_file_is_searched_too(serve: Serve, page: Page) -> None:
    site = with_collections(serve)
    site.library.create("", "walls").put("wall.txt", b"The wall was built in 1961.")
    site.open(page)
    told = page.locator("#answers-from")
    page.locator("#collection").select_option(label="Select collections…")
    page.locator("#some-choices label", has_text="walls").click()
    page.locator("#some-dialog").get_by_role("button", name="Choose").click()
    expect(told).to_have_text("Answers from 2 of 3 collections")
    page.wait_for_timeout(1000)  # collections tell their time in whole seconds
    ask(page, "When was the bridge opened?")
    wait_for_answer(page)
    page.get_by_role("button", name="New conversation").click()
    page.locator("#collection").select_option("towers")
    expect(told).to_have_text("Answers from the collection towers")
    page.locator("#conversations a").click()
    expect(told).to_have_text("Answers from 2 of 3 collections")
    add_file(page)
    expect(told).to_have_text("Answers from 3 of 4 collections")
    expect(page.locator("#collections-told")).to_have_text("bridges, towers, documents")
    page.get_by_role("button", name="New conversation").click()
    expect(told).to_have_text("Answers from 2 of 4 collections")
    expect(page.locator("#collections-told")).to_have_text("towers, documents")
    reload(page)
    expect(page.locator("#collections-told")).to_have_text("towers, documents")
    page.locator("#collection").select_option("")
    expect(told).to_have_text("")
    add_file(page)
    expect(told).to_have_text("Answers from the collection documents")


def test_a_conversation_comes_back_as_it_was_asked(serve: Serve, page: Page) -> None:
    site = with_collections(serve)
    site.open(page)
    page.locator("#collection").select_option("towers")
    page.get_by_role("button", name="Delete the collection towers").wait_for()
    ask(page, "When was the tower opened?")
    wait_for_answer(page)
    page.get_by_role("button", name="New conversation").click()
    page.locator("#collection").select_option("bridges")
    page.locator("#conversations a").click()
    wait_for_answer(page)
    expect(page.locator("#collection")).to_have_value("towers")
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator("#collection")).to_have_value("bridges")


def test_a_link_of_a_citation_opens_the_passage(serve: Serve, page: Page) -> None:
    site = with_collections(serve)
    (document,) = site.library.collection("", "bridges").documents()
    start = len("Nothing here. " * 300) + 2
    place = f"char={start},{start + len(BRIDGE)}"
    more = "#:~:text=The,1932"  # which Open WebUI appends
    site.open(page, f"/?collection=bridges&document={document.id}#{place}{more}")
    passage = page.locator(".source .passage").first
    passage.wait_for()
    assert passage.inner_text().strip() == BRIDGE
    faint = (
        "e => [getComputedStyle(e.closest('.body')).opacity, getComputedStyle(e).backgroundColor]"
    )
    opacity, colour = passage.evaluate(faint)
    assert (opacity, "0.17" in colour) == ("1", True), "the passage stands out"
    assert on_screen(page, passage)
    site.open(page, "/#title=Who%3F&text=It%20was%20%3Cb%3EBing%3C%2Fb%3E.")
    expect(page.locator(".source .body")).to_have_text("It was <b>Bing</b>.")


def test_the_keyboard_keeps_its_place(serve: Serve, page: Page) -> None:
    """Ask, open a quote and its document, edit, rename and delete with the keyboard alone."""
    site = with_collections(serve)
    site.open(page)
    focused = page.locator(":focus")

    def tab_to(name: str, key: str = "Tab") -> None:
        for _ in range(60):
            page.keyboard.press(key)
            if name in f"{focused.get_attribute('aria-label')} {focused.text_content()}":
                return
        pytest.fail(f"{name} cannot be reached")

    page.keyboard.type("When was the bridge opened?")
    page.keyboard.press("Enter")
    wait_for_answer(page)
    tab_to("quoted from source", "Shift+Tab")
    page.keyboard.press("Enter")
    assert focused.evaluate("e => e.closest('mark') !== null")
    tab_to("Show in document")
    page.keyboard.press("Enter")
    expect(focused).to_have_text("Show only the passage")
    tab_to("more characters", "Shift+Tab")
    gaps = page.locator(".gap").count()
    page.keyboard.press("Enter")
    expect(page.locator(".gap")).to_have_count(gaps - 1)
    assert focused.evaluate("e => e.matches('.gap, .list')")
    tab_to("Show only the passage")
    page.keyboard.press("Enter")
    expect(focused).to_have_text("Show in document")
    tab_to("Edit the question", "Shift+Tab")
    page.keyboard.press("Enter")
    page.keyboard.type(" Who opened it?")
    page.keyboard.press("Enter")
    expect(page.locator(".asked")).to_have_text("When was the bridge opened? Who opened it?")
    wait_for_answer(page)
    tab_to("Rename", "Shift+Tab")
    page.keyboard.press("Enter")
    page.keyboard.type("Bridges")
    page.keyboard.press("Enter")
    expect(focused).to_have_attribute("aria-label", "Rename Bridges")
    tab_to("Delete")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#conversations li")).to_have_count(0)
    expect(focused).to_have_text("New conversation")


def test_a_question_asked_again_or_edited_replaces_its_turn(serve: Serve, page: Page) -> None:
    site = serve(lambda *_: "He [ 1 sang it ].")
    site.open(page)
    paste(page, "Bing sang it.")
    asked, verdicts = page.locator(".asked"), page.locator(".answer .verdict")
    ask(page, "Who sang it?")
    wait_for_answer(page)
    page.get_by_role("button", name="Ask again", exact=True).click()
    expect(asked).to_have_text(["Who sang it?"])
    expect(verdicts).to_have_count(1)
    ask(page, "Really?")
    expect(verdicts).to_have_count(2)
    field = page.get_by_label("Your question")
    page.get_by_role("button", name="Edit the question and ask again").first.click()
    expect(field).to_have_value("Who sang it?")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(field).to_have_value("")
    page.get_by_role("button", name="Edit the question and ask again").first.click()
    field.fill("Who wrote it?")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="delete the 1 question after it?").wait_for()
    page.get_by_role("button", name="Replace", exact=True).click()
    expect(asked).to_have_text(["Who wrote it?"])
    expect(verdicts).to_have_count(1)
    page.locator("#title", has_text="Who wrote it?").wait_for()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    wait_for_answer(page)
    expect(asked).to_have_text(["Who wrote it?"])
    page.get_by_role("button", name="Ask again", exact=True).click()
    wait_for_answer(page)
    (talk,) = site.store.conversations("")
    roles = [each.role for each in site.store.conversation("", talk.id).messages]
    assert roles == ["user", "assistant"]


def test_a_stopped_answer_is_still_there_after_a_reload(serve: Serve, page: Page) -> None:
    serve(lambda *_: "It is [ 1 a word ] and " + "more " * 400, pause=0.03).open(page)
    paste(page, "This is a word.")
    ask(page)
    page.locator(".quote").wait_for()
    page.get_by_role("button", name="Stop answering").click()
    page.get_by_text("Stopped.").wait_for()
    expect(page.locator(".answer .text")).to_contain_text("It is a word")
    page.wait_for_timeout(500)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    wait_for_answer(page)
    expect(page.locator(".quote bdi")).to_have_text("a word")
    page.get_by_text("The answer was cut off.").wait_for()
