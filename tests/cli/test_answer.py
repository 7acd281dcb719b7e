"""`semqa answer` from the command line."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import EXAMPLES, Command

ANTARCTICA = EXAMPLES / "antarctica.jsonl"
QUESTION = "Who crossed Antarctica alone?"


def test_json_has_what_a_program_needs(semqa: Command) -> None:
    record = semqa("answer", QUESTION, "--sources", ANTARCTICA, "--json").json
    assert record["question"] == QUESTION
    assert record["engine"] == "extractive"
    assert record["seconds"] >= 0
    assert record["verified"] is True
    assert [source["number"] for source in record["sources"]] == [1, 2, 3, 4, 5]
    assert record["quotes"]
    for quote in record["quotes"]:
        source = record["sources"][quote["source"] - 1]
        field = source["title" if quote["field"] == "title" else "text"]
        assert quote["status"] == "verified"
        assert field[quote["source_start"] : quote["source_end"]] == quote["text"]
        assert record["answer"][quote["answer_start"] : quote["answer_end"]] == quote["text"]
        assert record["plain"][quote["plain_start"] : quote["plain_end"]] == quote["text"]


@pytest.mark.parametrize("output_format", ["marked", "terminal", "json"])
def test_unanswerable_questions_get_an_abstention(semqa: Command, output_format: str) -> None:
    """Abstentions offer the nearest passages; answers do not."""
    given = ("--sources", ANTARCTICA, "--format", output_format)
    lost = semqa("answer", "How tall is the moon?", *given)
    assert lost.code == 0
    assert "The sources do not answer this question." in lost.out
    assert "nearest" in lost.out + lost.err
    if output_format == "json":
        record = json.loads(lost.out)
        numbers = {source["number"] for source in record["sources"]}
        assert {quote["source"] for quote in record["nearest"]} <= numbers
    right = semqa("answer", QUESTION, *given)
    assert "nearest" not in right.out + right.err


def test_the_page_of_an_abstention_has_the_nearest_quotes(semqa: Command) -> None:
    question = "How tall is the moon?"
    lost = semqa("answer", question, "--sources", ANTARCTICA, "--format", "html")
    offered = re.findall("nearest: .*“(.*)”", lost.err)
    assert offered
    assert all(text in html.unescape(lost.out) for text in offered)


def test_sources_from_standard_input(semqa: Command) -> None:
    text = "Bing Crosby sang it in 1943."
    line, array = json.dumps({"text": text}), json.dumps([{"text": text}])
    args = ("answer", "Who sang it?", "--json")
    plain = semqa(*args, stdin=text.encode()).json
    for more, given in ((), line), ((), array), (("--sources", "-"), line):
        read = semqa(*args, *more, stdin=given.encode()).json
        assert (read["sources"], read["answer"]) == (plain["sources"], plain["answer"])


def test_options_and_environment(semqa: Command) -> None:
    args = ("answer", QUESTION, "--sources", ANTARCTICA, "--json")
    assert len(semqa(*args, "--max-words", "12").json["plain"].split()) <= 12
    assert semqa(*args, "--engine", "lead-1").json["engine"] == "lead-1"
    assert semqa(*args, env={"SEMQA_ENGINE": "tail-1"}).json["engine"] == "tail-1"
    all_sources = semqa(*args, "--coverage", "1").json
    assert len({quote["source"] for quote in all_sources["quotes"]}) >= 4


def test_hostile_sources(semqa: Command) -> None:
    hostile = "[ 2 forged ] Bing Crosby [ 1 sang ] it [[ in 1943 ]]. \x1b[31m \u202e " * 3
    rows = b"".join(json.dumps({"text": t}).encode() + b"\n" for t in (hostile, "No [2] answer."))
    record = semqa("answer", "Who sang it in 1943?", "--json", stdin=rows).json
    assert record["verified"] is True
    assert not any("[" in quote["text"] or "]" in quote["text"] for quote in record["quotes"])


def test_formats(semqa: Command) -> None:
    for form, start in (("markdown", "**"), ("html", "<!doctype html>"), ("json", "{")):
        outcome = semqa("answer", QUESTION, "--sources", ANTARCTICA, "--format", form)
        assert (outcome.code, outcome.out[: len(start)]) == (0, start)


def test_sources_are_numbered_in_the_order_given(semqa: Command, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("Bing Crosby sang it in 1943.", encoding="utf-8")
    (tmp_path / "two.md").write_text("Josh Gates sang it in 2014.", encoding="utf-8")
    for style in (["--source", "one.txt", "two.md"], ["one.txt", "two.md"]):
        record = semqa("answer", "Who sang it?", *style, "--json").json
        assert [source["title"] for source in record["sources"]] == ["one", "two"]


def test_any_locale(semqa: Command) -> None:
    source = json.dumps({"title": "שיר 🎄", "text": "Beyonce\u0301 שרה ב־2014 日本 🎄."}).encode()
    env = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    outcome = semqa("answer", "Who sang in 2014?", "--json", stdin=source, env=env)
    assert outcome.code == 0, outcome
    assert outcome.json["verified"] is True


def test_invalid_text_in_a_question_is_an_error(fails: Callable[..., str]) -> None:
    given = ("answer", "who \udcff sang", "--sources", ANTARCTICA)  # as Python decodes the byte FF
    assert "QUESTION has invalid UTF-8" in fails(*given, "--json")


def test_huge_files_are_rejected(semqa: Command, tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text("word " * 1000)
    outcome = semqa("answer", "Who?", "--source", "big.txt", env={"SEMQA_MAX_BYTES": "1000"})
    assert outcome.code == 2
    assert "big.txt: too large" in outcome.err
