"""The badge under an answer: only quoted answers get a tick, and dropped marks are visible."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from semqa import Source
from semqa.quotes import ABSTENTION
from semqa.quotes.render import to_markdown, verdict_text
from semqa.quotes.repair import repair
from tests.server.browser.test_answers import ask, paste, wait_for_answer

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.server.browser.conftest import Serve, Site

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright").expect

QUESTION = "Who crossed Antarctica?"
CROSSED = Source("Colin O'Brady crossed Antarctica in 2018.")
DRUG = Source("The drug is safe.")


def green(page: Page) -> bool:
    tick = page.locator(".verdict use").get_attribute("href") or ""
    return tick.endswith("#check") and page.locator(".verdict.quoted").count() == 1


def test_only_a_quoted_answer_has_a_tick(serve: Serve, page: Page) -> None:
    said: list[str] = []
    serve(lambda *_: said[-1]).open(page)
    for written, verdict, claims in (
        ("[ 1 Colin O'Brady ] crossed Antarctica.", "quoted", []),
        ("😀 [ 1 Colin O'Brady ] is a British meteorologist.", "unquoted", ["British meteorologist"]),
        ("It was [ 1 Ranulph Fiennes ].", "unverified", []),
        (ABSTENTION, "abstained", []),
    ):  # fmt: skip
        said.append(written)
        page.get_by_role("button", name="New conversation").click()
        paste(page, CROSSED.text)
        ask(page, QUESTION)
        wait_for_answer(page)
        assert page.locator(f".verdict.{verdict}").count() == 1
        assert green(page) == (verdict == "quoted")
        assert page.locator(".claim").all_inner_texts() == claims
        told = page.locator(".verdict").inner_text()
        page.wait_for_function(
            "t => document.getElementById('status').textContent.includes(t)", arg=told
        )
        if verdict == "quoted":
            meaning = page.locator(".meaning").inner_text()
            assert "Only the wording is checked" in meaning
            assert "for you to judge" in meaning
            ask(page, QUESTION)
            expect(page.locator(".verdict.quoted")).to_have_count(2)
            assert page.locator(".meaning").count() == 1, "once is enough"


def test_an_empty_answer_says_so(serve: Serve, page: Page) -> None:
    serve(lambda *_: "").open(page)
    paste(page, CROSSED.text)
    ask(page, QUESTION)
    problem = page.get_by_role("alert").get_by_text(
        "The model returned an empty answer. Ask again."
    )
    problem.wait_for()
    assert page.locator(".answer .verdict").count() == 0
    assert page.get_by_role("button", name="Ask again", exact=True).is_visible()
    assert page.get_by_label("Your question").input_value() == QUESTION


def test_the_closest_passages_open_in_their_source(serve: Serve, page: Page) -> None:
    serve().open(page)
    paste(page, f"It rained. {CROSSED.text} He is American.", "Explorers")
    ask(page, "Who invented the telephone?")
    page.locator(".verdict.abstained").wait_for()
    near = page.locator(".nearest .quote")
    assert near.count() >= 1
    assert "Explorers" in page.locator(".nearest li").first.inner_text()
    for at in range(near.count()):
        text = near.nth(at).locator("bdi").inner_text()
        near.nth(at).focus()
        page.keyboard.press("Enter")
        assert "".join(page.locator("mark.pinned").all_inner_texts()) == text
        assert page.locator(".back h4").inner_text() == "Closest to the question"
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.locator(".nearest .quote").first.click()
    assert page.locator("mark.pinned").count() >= 1
    assert page.locator(".verdict.abstained").count() == 1


def kept(site: Site, text: str, source: Source, question: str, **more: Any) -> None:
    """Store an answer with repaired quotes, as the server stores it."""
    talk = site.store.create_conversation("", question).id
    site.store.add_message("", talk, "user", {"question": question})
    content = {"question": question, **repair(text, [source]).to_dict(question), **more}
    site.store.add_message("", talk, "assistant", content)


def test_a_dropped_mark_is_seen_in_its_place(serve: Serve, page: Page) -> None:
    site = serve()
    text, question = "The 😀 [ 1 drug is not safe ], it is [ 1 safe ][1].", "Is the drug safe?"
    kept(site, text, DRUG, question)
    site.open(page)
    page.locator("#conversations a").first.click()
    page.locator(".verdict.unverified").wait_for()
    assert not green(page)
    assert page.locator(".dropped del").all_inner_texts() == ["drug is not safe", "[1]"]
    assert "Not a quote: source 1 does not contain" in (
        page.locator(".dropped").first.text_content() or ""
    )
    assert "“drug is not safe” is not a quote" in page.locator(".remark").first.inner_text()
    assert page.locator(".answer .quote:not(.dropped) bdi").all_inner_texts() == ["safe"]
    answer = repair(text, [DRUG])
    assert f"✗ {page.locator('.verdict').inner_text()}" == verdict_text(answer, question)


def test_the_words_of_the_page_are_those_of_the_library(serve: Serve, page: Page) -> None:
    site = serve()
    texts = (
        "[ 1 colin o'brady ] crossed Antarctica.",
        "a b, c d; e-f g 7 h (i) j/k l & many, one: two? three! four. Five Six",
        "One. [ 1 Colin ] Two.\nThree\u00a0Four, is five, was six, and seven, or eight, of nine. Ten.",
        "[ 1 Col ] [ 1 rady ] [ 1 201 ] crossed it.",
        "[1] [2] [ 1 Fiennes ] [ 9 Colin O'Brady ]",
        "Two ways:\n- [ 1 Colin ]\n- on foot\n\n[ 1 Year | 2018 | ]\n[ 1 Days | 54 ]\n[ 1 Days | 54 ] so.",
        "[ 1 in ]",
        ABSTENTION,
        "",
    )
    table = Source(f"{CROSSED.text}\n\nYear | 2018 |\nDays | 54 |")
    site.open(page)
    signs = set()
    for text, unanswered, answerable in product(texts, ([], ["and why "]), (None, 0.74, 0.75)):
        relevance = [0.614, 0.2, 0.0, None] * 3
        answer = repair(text, [table]).with_relevance(relevance, unanswered, answerable)
        shown = page.evaluate(
            """async final => {
              const { verdictText } = await import("/page/verdict.js");
              const { toMarkdown } = await import("/page/markdown.js");
              return [verdictText(final), toMarkdown(final)];
            }""",
            answer.to_dict(QUESTION),
        )
        verdict = verdict_text(answer, QUESTION)
        assert shown == [verdict, to_markdown(answer, question=QUESTION)]
        signs.add(verdict[0])
    assert signs >= {"✓", "!", "✗"}
