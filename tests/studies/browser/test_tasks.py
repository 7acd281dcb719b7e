"""Whole TofuEval, AttrScore and Q² studies in browsers, each with a crash."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.studies.browser.conftest import Sight, hosted
from tests.studies.browser.test_rating import begin, saved
from tests.studies.made import make_study
from tests.studies.tasks import attrscore_inputs, tofueval_inputs
from tests.studies.test_tasks import reported, rows_of

if TYPE_CHECKING:
    from playwright.sync_api import Page


def open_stage(page: Page) -> str:
    return page.locator(".stage.open h2").inner_text()


def finished(page: Page) -> bool:
    return page.locator("#message > h2").is_visible()


def test_tofueval(tmp_path: Path, sight: Sight) -> None:
    """The browser of a rater is killed while she is between two sentences."""
    inputs = tofueval_inputs(tmp_path / "in", systems="A")
    study = make_study(tmp_path, "tofueval", inputs, raters="ann,eve", per_item=2)
    with hosted(study) as links:
        ann, eve = (sight.open(links[name]) for name in ("ann", "eve"))
        for page in (ann, eve):
            begin(page)
            assert page.locator("mark.focus").inner_text().startswith("1The roof")
            saved(page, "1", "Enter")
            assert page.locator("mark.focus").inner_text() == "2The building is unsafe."
        # Ann searches the document, and finds an error.
        ann.keyboard.press("/")
        ann.keyboard.type("UNSAFE")
        ann.keyboard.press("Enter")
        assert ann.locator(".finding [role=status]").inner_text() == "1 of 1"
        ann.keyboard.press("Escape")
        ann.keyboard.press("2")
        ann.keyboard.type("Ortiz only thinks so.")
        with ann.expect_response(
            lambda r: r.url.endswith("/draft") and r.ok and "_types" in (r.request.post_data or "")
        ):
            ann.keyboard.press("Enter")  # a type is missing: it gets the focus
            ann.keyboard.press("3")
        ann.context.close()
        saved(eve, "1", "Enter")
        ann = sight.open(links["ann"])
        begin(ann)
        assert ann.locator(".stage.open textarea").input_value() == "Ortiz only thinks so."
        assert ann.locator(".stage.open .several input").nth(2).is_checked()
        saved(ann, "Enter")
        # She corrects the first sentence, and continues with the third.
        ann.keyboard.press("1")
        drawn = ann.locator("html").get_attribute("data-ready")
        ann.get_by_role("button", name="Change: Sentence 1").click()
        ann.wait_for_selector(f'html:not([data-ready="{drawn}"])')
        assert ann.locator("mark.focus").inner_text().startswith("1The roof")
        ann.locator(".stage.open label", has_text="No: something").click()
        ann.locator(".stage.open textarea").fill("It says since March.")
        ann.locator(".stage.open label", has_text="Contradiction").click()
        drawn = ann.locator("html").get_attribute("data-ready")
        ann.locator("#go").click()
        ann.wait_for_selector(f'html:not([data-ready="{drawn}"])')
        assert open_stage(ann).lower() == "sentence 3 of 3"
        assert ann.locator(".stage.open input").first.is_checked()  # the draft is kept
        for page in (ann, eve):
            saved(page, "1", "Enter")
            page.keyboard.press("4")
            page.locator("label", has_text="None of them").click()
            page.locator("label", has_text="roof leaks").click()
            page.locator("label", has_text="420,000").click()
            saved(page, "Enter")
            page.get_by_text("Done. Thank you!").wait_for()
    rows = rows_of(study)
    said = {
        (r["rater"], r["sent_idx"]): (r["sent_label"], r["type"]) for r in rows if "sent_idx" in r
    }
    assert said == {
        ("ann", 1): ("no", "Contradiction"),
        ("ann", 2): ("no", "Stating Opinion as Fact"),
        ("ann", 3): ("yes", ""),
        **{("eve", number): ("yes", "") for number in (1, 2, 3)},
    }
    assert [row["made"] for row in rows if "made" in row] == [[True, True, False, False]] * 2
    assert reported(study)["systems"]["model_A"]["completeness"]["value"] == 0.5


def test_attrscore(tmp_path: Path, sight: Sight) -> None:
    """One rater uses only the keyboard, and her browser is killed; the other uses a phone."""
    inputs = attrscore_inputs(tmp_path / "in")
    study = make_study(
        tmp_path, "attrscore", inputs, raters="ann,eve", per_item=2, design="independent"
    )
    with hosted(study) as links:
        ann = sight.open(links["ann"])
        eve = sight.open(links["eve"], 390, 844)
        begin(ann)
        begin(eve)
        # Another key corrects a wrong one, also if that hides the question about the words.
        checked, marked = ann.locator("input:checked"), ann.locator(".question.marks")
        for key, shown in (("1", True), ("2", False), ("1", True)):
            ann.keyboard.press(key)
            assert checked.get_attribute("id") == f"q0-0-{int(key) - 1}"
            assert marked.is_visible() == shown
        ann.keyboard.press("?")
        ann.get_by_text("while you mark words, correct the choice above").wait_for()
        ann.keyboard.press("Escape")
        for number in range(3):
            # The text to mark gets the focus. Mark the second word.
            for key in ("3", "ArrowRight", "Space", "Space"):
                ann.keyboard.press(key)
            assert ann.locator(".chips li").count() == 1
            if number == 1:
                with ann.expect_response(lambda r: r.url.endswith("/draft") and r.ok):
                    for key in ("Home", "Space", "End", "Space"):
                        ann.keyboard.press(key)
                ann.context.close()
                ann = sight.open(links["ann"])
                begin(ann)
                assert ann.locator(".chips li").count() == 1
                assert ann.locator(".word:not(.on)").count() == 0
            saved(ann, "Enter")
        ann.get_by_text("Done. Thank you!").wait_for()
        while not finished(eve):
            drawn = eve.locator("html").get_attribute("data-ready")
            eve.locator("label", has_text="Attributable").click()
            eve.locator("#go").click()  # nothing is marked yet
            eve.get_by_text("Please answer the highlighted question.").wait_for()
            words = eve.locator("#part-reference .word")
            words.nth(4).click()
            words.nth(2).click()
            eve.locator("#go").click()
            eve.wait_for_selector(f'html:not([data-ready="{drawn}"])')
        assert eve.evaluate("document.documentElement.scrollWidth") <= 390
    rows = rows_of(study)
    assert len(rows) == 6
    for row in rows:
        (span,) = row["evidence"]
        words = row["reference"].split()
        assert row["reference"][span["start"] : span["end"]] == span["text"]
        assert span["text"].split() in (words[1:2], words, words[2:5])
        assert row["label"] == ("Contradictory" if row["rater"] == "ann" else "Attributable")
    assert reported(study)["undecided"] == 3
