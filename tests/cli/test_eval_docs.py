"""`semqa eval docs` on the example: scores, resuming, Ctrl-C, failures and user errors."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from semqa.engines import registry
from semqa.errors import InputError
from semqa.quotes import QuotedAnswer, Source
from semqa.retrieval.passages import library
from tests.attribution.commands import Command, command_in

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "eval-docs"


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return shutil.copytree(EXAMPLE, tmp_path / "own") / "questions.jsonl"


@pytest.fixture
def run(
    tmp_path: Path,
    questions: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Command:
    """Call as `semqa eval docs` with the example's questions."""
    # Words only: no model is loaded.
    monkeypatch.setattr(library, "packaged_encoder", lambda: None)
    command = command_in(tmp_path, monkeypatch, capsys)
    return lambda *args: command("eval", "docs", questions, *args)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def without_times(record: dict[str, Any]) -> list[dict[str, Any]]:
    engines: list[dict[str, Any]] = record["engines"]
    return [{k: v for k, v in each.items() if k != "seconds_p50"} for each in engines]


@pytest.mark.parametrize("by", [(), ("--by", "collection", "--passages", "2")])
def test_the_example_from_end_to_end(run: Command, tmp_path: Path, by: Sequence[str]) -> None:
    args = ("--engine", "extractive", "--engine", "bm25", *by)
    out = tmp_path / "out.jsonl"
    record = run(*args, "--json", "-o", out).json
    assert (record["n"], record["by"]) == (4, "collection" if by else "files")
    ours, bm25 = record["engines"]
    assert (ours["engine"], bm25["engine"]) == ("extractive", "bm25")
    assert ours["abstained_on_unanswerable"] == 1.0
    assert bm25["abstained_on_unanswerable"] == 0.0
    assert 0 < bm25["docqa"] < ours["docqa"] < 1
    assert ours["ticks"]["unanswerable"] == {"ticked": 0, "n": 1}
    assert sum(ticks["n"] for ticks in bm25["ticks"].values()) == 4
    low, high = ours["docqa_interval"]
    assert low < ours["docqa"] < high

    kept = lines(out)
    assert {quote["document"] for row in kept for quote in row["quotes"]} == {"allotment-rules.md"}
    # Rescoring the answers in the file gives the same scores.
    assert without_times(run("--score-only", out, "--json").json) == without_times(record)
    shown = run(*args, "-o", out)
    assert "4 of 4 questions are already answered" in shown.err
    assert f"{100 * ours['docqa']:.1f}" in shown.out
    assert lines(out) == kept


def test_finished_answers_are_kept_and_changed_ones_repeated(
    run: Command, questions: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    run("-o", out)
    text = out.read_text("utf-8")
    out.write_text("".join(text.splitlines(keepends=True)[:2]) + text[:30], "utf-8")
    again = run("-o", out)
    assert "2 of 4 questions are already answered" in again.err
    assert [row["id"] for row in lines(out)] == ["rent", "hose", "deposit", "shed"]
    changed = questions.read_text("utf-8").replace("May I put", "Could I put")
    questions.write_text(changed, "utf-8")
    assert "3 of 4 questions are already answered" in run("-o", out).err
    assert [row["id"] for row in lines(out)][4:] == ["shed"]
    assert "already" not in run("-o", out, "--max-words", "9").err
    assert len(lines(out)) == 9


class Fake:
    """Answers the first question, then does what the test sets."""

    name = "fake"

    def __init__(self, then: BaseException) -> None:
        self._then = then
        self._asked = 0

    def answer(self, question: str, sources: Sequence[Source], history: Any = ()) -> QuotedAnswer:
        del question
        self._asked += 1
        if self._asked == 2:
            raise self._then
        return QuotedAnswer.parse("[ 1 Each member rents one plot. ]", sources)


def fake(monkeypatch: pytest.MonkeyPatch, then: BaseException) -> None:
    monkeypatch.setattr(sys.modules[__name__], "made", lambda: Fake(then), raising=False)
    monkeypatch.setitem(registry._FAMILIES, "fake", registry._Family(__name__, "made"))


def test_ctrl_c_keeps_finished_answers(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(monkeypatch, KeyboardInterrupt())
    out = tmp_path / "out.jsonl"
    stopped = run("--engine", "fake", "-o", out)
    assert (stopped.code, stopped.out, len(lines(out))) == (130, "", 1)
    assert "run the same command again" in stopped.err
    fake(monkeypatch, InputError("the prompt is too long"))
    failed = run("--engine", "fake", "-o", out, "--json")
    assert (failed.code, failed.json["engines"][0]["errors"]) == (0, 1)
    assert "1 of 4 questions failed; deposit: the prompt is too long" in failed.err
    # Failed questions are retried.
    assert run("--engine", "fake", "-o", out, "--json").json["engines"][0]["errors"] == 0
    assert [row["id"] for row in lines(out)] == ["rent", "hose", "deposit", "shed", "deposit"]


def test_predictions_of_other_programs_are_scored(run: Command, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    rows = [
        {"id": "deposit", "quotes": [{"text": "is paid back once the plot has been cleared."}]},
        {"id": "shed", "quotes": [], "abstained": True},
        {"id": "another", "quotes": []},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = run("--score-only", path, "--json")
    (mine,) = found.json["engines"]
    assert (mine["engine"], mine["docqa"], mine["errors"]) == ("mine", 0.5, 2)
    assert not any(ticks["n"] for ticks in mine["ticks"].values())
    assert "2 of 4 questions failed; rent: no answer in the file" in found.err
    path.write_text('{"id": "another", "quotes": []}\n')
    assert "No answer has the id of a question" in run("--score-only", path).err
    path.write_text('{"id": "rent", "quotes": ["text"]}\n')
    assert run("--score-only", path).err.startswith(f"error: {path}:1: quotes.0 must be")


def test_one_engine_is_shown_by_kind_from_another_folder(
    run: Command, questions: Path, tmp_path: Path
) -> None:
    assert 'No document "allotment-rules.md"' in run("--documents", tmp_path).err
    (questions.parent / "documents").rename(tmp_path / "papers")
    shown = run("--documents", tmp_path / "papers")
    assert (shown.code, shown.err) == (0, "")
    for name in ("extractive", "structure", "exception", "unanswerable", "one document"):
        assert name in shown.out
