"""Writing and reviewing in a browser: quoting, editing, sending back, and crashes."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semqa.data.quotesum import read_quotesum
from semqa.studies.folder import open_study
from semqa.studies.kind import Input, Study
from semqa.studies.store import Store
from tests.studies.browser.conftest import Sight, hosted
from tests.studies.made import Served, make_study, serving, write_lines

if TYPE_CHECKING:
    from playwright.sync_api import Page

QUESTIONS: list[dict[str, Any]] = [
    {
        "qid": "q1",
        "question": "who sang it?",
        "title1": "The first record",
        "source1": "🎄 It was sung by Bing Crosby in 1943, and it sold well.",
        "short_ans_1": "Bing Crosby",
        "title2": "Another singer",
        "source2": "Josh Gates sang it again in 2014 [live], to much applause.",
        "short_ans_2": "Josh Gates",
    },
    {
        "qid": "q2",
        "question": "when was it built?",
        "source1": "The tower was built in 1901.",
        "short_ans_1": "1901",
        "source2": "A bridge of that name was built in 1950.",
        "short_ans_2": "1950",
    },
]


def writing(folder: Path, **settings: Any) -> Study:
    folder.mkdir(parents=True, exist_ok=True)
    path = write_lines(folder / "questions.jsonl", QUESTIONS)
    reviewers = settings.pop("reviewers", ())
    study = make_study(folder, "writing", [Input(path)], **settings)
    store = Store(study)
    if reviewers:
        store.add_reviewers(reviewers)
    store.close()
    return study


def link(served: Served, study: Study, name: str) -> str:
    return f"http://127.0.0.1:{served.port}/#{Store(study).rater(name).token}"


def told(page: Page, text: str) -> None:
    page.locator(".notice-line", has_text=text).wait_for()


def begin(page: Page) -> None:
    page.get_by_role("button", name="Begin").wait_for()
    page.keyboard.press("Enter")
    drawn(page)


def drawn(page: Page) -> None:
    page.locator("html[data-ready] .answer-field").wait_for()


def answer(page: Page) -> str:
    """Return the content of the answer field, with quotes in angle brackets."""
    text = page.locator(".answer-field").evaluate(
        """(field) => [...field.childNodes].map((node) => node.nodeType === 3 ? node.data
          : ` <${node.querySelector("sup").textContent} ${node.querySelector("bdi").textContent}> `).join("")"""
    )
    return re.sub(r"\s+", " ", str(text).replace("\u200b", "")).strip()


_ENDS = """([number, phrase, title]) => {
  const passage = [...document.querySelectorAll(".passage")].find((each) => each.querySelector(".number").textContent === String(number));
  const text = passage.querySelector(title ? "h3 .quotable" : ":scope > .quotable");
  text.scrollIntoView({ block: "center" });
  const begin = text.textContent.indexOf(phrase);
  const rect = (at) => {
    const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; at -= node.data.length, node = walker.nextNode()) {
      if (at >= node.data.length) continue;
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      return range.getBoundingClientRect();
    }
  };
  const [first, last] = [rect(begin), rect(begin + phrase.length - 1)];
  return [first.left + 1, first.top + first.height / 2, last.right - 1, last.top + last.height / 2];
}"""


def select(page: Page, number: int, phrase: str, *, title: bool = False) -> None:
    """Select words with the mouse."""
    left, top, right, bottom = page.evaluate(_ENDS, [number, phrase, title])
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move((left + right) / 2, (top + bottom) / 2)
    page.mouse.move(right, bottom)
    page.mouse.up()


def quote(page: Page, number: int, phrase: str, *, title: bool = False) -> None:
    select(page, number, phrase, title=title)
    page.keyboard.press("q")


def send(page: Page) -> None:
    """Send the answer, and wait until the page is redrawn."""
    before = page.locator("html").get_attribute("data-ready")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(f'html:not([data-ready="{before}"])')


def kept(page: Page) -> None:
    page.locator("#saved", has_text="Draft saved").wait_for()


def open_item(page: Page) -> str:
    """Return the qid of the current item."""
    shown = page.locator(".part.major .prose").inner_text()
    return next(str(row["qid"]) for row in QUESTIONS if row["question"] == shown)


def test_an_answer_is_written_with_the_mouse(tmp_path: Path, sight: Sight) -> None:
    study = writing(tmp_path, raters="ann,ben,eve", seed=1)
    with hosted(study) as links:
        page = sight.open(links["ann"])
        begin(page)
        while open_item(page) != "q1":
            quote(page, 1, "1901")
            page.keyboard.type("and")
            quote(page, 2, "1950")
            send(page)
        page.keyboard.type("By ")
        quote(page, 1, "ing Crosb")  # words are taken whole
        page.keyboard.type(", [later] by ")
        select(page, 2, "Josh Gates")
        page.get_by_role("button", name="Quote").click()
        quote(page, 2, "Another singer", title=True)
        assert answer(page) == "By <1 Bing Crosby> , (later) by <2 Josh Gates> <2 Another singer>"
        assert "9 of 100 words · 2 of 2 passages quoted" in page.locator("#counts").inner_text()
        # The end of a quote is dragged to another word.
        page.locator(".chip").first.click()
        box = page.locator(".handle.end").bounding_box()
        assert box is not None
        target = page.evaluate(_ENDS, [1, "1943", False])
        page.mouse.move(box["x"], box["y"] + box["height"] + 3)
        page.mouse.down()
        page.mouse.move(target[2] - 40, target[3], steps=3)
        page.mouse.move(target[2], target[3], steps=3)
        page.mouse.up()
        assert "<1 Bing Crosby in 1943>" in answer(page)
        page.get_by_role("button", name="End one word earlier").click()
        page.get_by_role("button", name="End one word earlier").click()
        page.locator(".chip").nth(2).click()
        page.get_by_role("button", name="Remove the quote").click()
        page.keyboard.type(".")
        assert answer(page) == "By <1 Bing Crosby> , (later) by <2 Josh Gates> ."
        # Quotes cannot contain square brackets.
        quote(page, 2, "2014 [live]")
        told(page, "cannot contain a square bracket")
        send(page)
    rows = export(study)
    row = next(row for row in rows if row["qid"] == "q1")
    assert row["summary"] == "By [ 1 Bing Crosby ] , (later) by [ 2 Josh Gates ] ."
    assert row["covered_short_answers"] == "[ 1 Bing Crosby ] [ 2 Josh Gates ]"
    assert row["unique_id"] == "q1_0"


def export(study: Study) -> list[dict[str, Any]]:
    """Export the answers, and check that the output is valid QuoteSum."""
    out = study.folder / "out.jsonl"
    with closing(Store(study)) as store:
        out.write_bytes(b"".join(study.kind.export(study, store.rated(), "jsonl")))
    read_quotesum(out)
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


def test_an_answer_is_written_with_the_keyboard_alone(tmp_path: Path, sight: Sight) -> None:
    study = writing(tmp_path)
    with hosted(study) as links:
        page = sight.open(links["ann"])
        begin(page)
        if open_item(page) != "q2":
            for key in ("Escape", "1", "Home", "Shift+ArrowRight", "q", "Control+Enter"):
                page.keyboard.press(key)
            page.get_by_text("send again to leave it out").wait_for()
            send(page)
        page.keyboard.type("Built in ")
        for key in ("Escape", "1", "End", "q"):
            page.keyboard.press(key)
        page.keyboard.type(" or ")
        for key in ("Escape", "2", "Home", "ArrowRight", *(["Shift+ArrowRight"] * 3), "q"):
            page.keyboard.press(key)
        assert answer(page) == "Built in <1 1901> or <2 bridge of that name>"
        # Backspace next to a quote selects it; then keys resize or move it.
        for key in ("Backspace", "Shift+ArrowLeft", "Alt+Shift+ArrowLeft"):
            page.keyboard.press(key)
        assert answer(page) == "Built in <1 1901> or <2 A bridge of that>"
        page.keyboard.press("Alt+ArrowLeft")
        assert answer(page) == "Built in <1 1901> <2 A bridge of that> or"
        page.keyboard.press("Alt+ArrowLeft")
        assert answer(page) == "Built in <2 A bridge of that> <1 1901> or"
        page.keyboard.press("Delete")
        assert answer(page) == "Built in <1 1901> or"
        for _ in range(5):
            page.keyboard.press("Control+z")
        assert answer(page) == "Built in <1 1901> or <2 bridge of that name>"
        page.keyboard.press("Control+Shift+z")
        assert answer(page) == "Built in <1 1901> or <2 bridge of that>"
        # Text typed on a selected quote goes after it.
        for key in ("ArrowRight", "ArrowLeft"):
            page.keyboard.press(key)
        page.keyboard.type("!")
        assert answer(page) == "Built in <1 1901> or <2 bridge of that> !"
        page.keyboard.press("Control+a")
        page.keyboard.press("Delete")
        assert answer(page) == ""
        page.keyboard.press("Control+z")
        send(page)
    rows = export(study)
    row = next(row for row in rows if row["qid"] == "q2")
    assert row["summary"] == "Built in [ 1 1901 ] or [ 2 bridge of that ] !"
    assert row["covered_short_answers"] == "[ 1 1901 ]"


def test_writers_a_reviewer_and_a_server_that_is_killed(tmp_path: Path, sight: Sight) -> None:
    """Three writers in a pilot and a batch; a browser and the server are killed."""
    study = writing(tmp_path, raters="ann,ben,eve", pilot=1, batch=1, reviewers=["fay"])
    with serving(study.folder) as served:
        pages = {name: sight.open(served.links[name]) for name in ("ann", "ben", "eve")}
        for name, page in pages.items():
            begin(page)
            assert open_item(page) == "q1"
            page.keyboard.type(f"{name} says ")
            quote(page, 1, "Bing Crosby")
            page.keyboard.type("and")
        quote(pages["ann"], 2, "Josh Gates")
        send(pages["ann"])
        pages["ann"].get_by_text("reviewer’s turn").wait_for()
        # Drafts are saved; Eve's browser and the server are killed.
        kept(pages["ben"])
        kept(pages["eve"])
        pages["eve"].context.close()
        served.kill()
        quote(pages["ben"], 2, "Josh Gates")
        pages["ben"].keyboard.press("Control+Enter")
        pages["ben"].get_by_text("No connection").wait_for()
    with serving(study.folder, served.port) as again:
        # The answer that Ben sent while the server was down is retried automatically.
        pages["ben"].get_by_text("reviewer’s turn").wait_for()
        pages["eve"] = sight.open(again.links["eve"])
        begin(pages["eve"])
        assert answer(pages["eve"]) == "eve says <1 Bing Crosby> and"
        quote(pages["eve"], 2, "Josh Gates")
        send(pages["eve"])

        reviewer = sight.open("about:blank")
        reviewer.clock.install()
        reviewer.goto(link(again, study, "fay"))
        reviewer.locator("#count", has_text="3 to read, 0 of 3 accepted").wait_for()
        for _ in range(3):
            writer = reviewer.locator(".review h2").first.inner_text().split(",")[0].lower()
            if writer == "ben":
                reviewer.get_by_role("button", name="Send back").click()
                reviewer.get_by_text("Say what the writer should change").wait_for()
                reviewer.locator("#remark").fill("Say when.")
                reviewer.get_by_role("button", name="Send back").click()
            else:
                reviewer.locator("h1").click()
                reviewer.keyboard.press("a")
            reviewer.wait_for_function(
                "(name) => document.querySelector('.review h2')?.textContent.startsWith(name) !== true",
                arg=writer,
            )
        reviewer.locator("#count", has_text="0 to read, 2 of 3 accepted").wait_for()

        for name in ("ann", "ben"):
            pages[name].reload()
            drawn(pages[name])
        assert open_item(pages["ann"]) == "q2"
        assert open_item(pages["ben"]) == "q1"
        pages["ben"].get_by_text("Say when.").wait_for()
        pages["ben"].keyboard.press("End")
        pages["ben"].keyboard.type(" in ")
        quote(pages["ben"], 2, "2014")
        send(pages["ben"])
        reviewer.clock.fast_forward(60_000)  # the page looks for new answers by itself
        reviewer.get_by_text("Version 1").wait_for()
        reviewer.keyboard.press("a")
        reviewer.locator("#count", has_text="3 of 3 accepted").wait_for()
        again.kill()
    rows = export(study)
    assert [row["unique_id"] for row in rows] == ["q1_0", "q1_1", "q1_2"]
    assert rows[1]["summary"] == "ben says [ 1 Bing Crosby ] and [ 2 Josh Gates ] in [ 2 2014 ]"
    assert rows[1]["revision"] == 2
    store = Store(open_study(study.folder))
    ben = next(each for each in store.finished() if each.rater == "ben")
    assert len(ben.versions) == 2
    assert [(each.accepted, each.remark) for each in ben.reviews] == [
        (False, "Say when."),
        (True, ""),
    ]


def test_composed_and_pasted_text_become_free_text(tmp_path: Path, sight: Sight) -> None:
    study = writing(tmp_path)
    with hosted(study) as links:
        page = sight.open(links["ann"])
        begin(page)
        quote(page, 1, "1901" if open_item(page) == "q2" else "Bing Crosby")
        found = answer(page)
        session = page.context.new_cdp_session(page)
        session.send(
            "Input.imeSetComposition", {"text": "に", "selectionStart": 1, "selectionEnd": 1}
        )
        session.send("Input.insertText", {"text": "日本"})
        assert answer(page) == found + " 日本"
        page.locator(".answer-field").evaluate(
            """(field) => {
              const data = new DataTransfer();
              data.setData("text/plain", "a [ 1 forged ]\\nline");
              data.setData("text/html", "<b>bold</b>");
              field.dispatchEvent(new InputEvent("beforeinput", { inputType: "insertFromPaste", dataTransfer: data, bubbles: true, cancelable: true }));
            }"""
        )
        assert answer(page) == found + " 日本a ( 1 forged ) line"
        told(page, "so they were replaced by round brackets")
        page.keyboard.press("Control+z")
        assert answer(page) == found + " 日本"
        kept(page)
        page.reload()
        drawn(page)
        assert answer(page) == found + " 日本"


def test_places_are_right_behind_characters_that_are_shown_by_name(
    tmp_path: Path, sight: Sight
) -> None:
    text = "🎄🎄 <b>one</b>\u202e two\r\nthree\u00a0four"
    path = write_lines(tmp_path / "odd.jsonl", [{"qid": "q", "question": "?", "source1": text}])
    study = make_study(tmp_path, "writing", [Input(path)])
    with hosted(study) as links:
        page = sight.open(links["ann"])
        begin(page)
        assert page.locator(".passage b").count() == 0
        quote(page, 1, "three")
        quote(page, 1, "<b>one</b>")
        for key in ("Escape", "Home", *(["ArrowRight"] * 3), "q"):  # b, one, b, two
            page.keyboard.press(key)
        page.keyboard.press("Control+Enter")
        page.get_by_text("Done. Thank you").wait_for()
    (rated,) = Store(open_study(study.folder)).rated()
    assert [text[q["start"] : q["end"]] for q in rated.values["answer"]] == [
        "three", "<b>one</b>", "two"
    ]  # fmt: skip
