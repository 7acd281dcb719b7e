"""`semqa answer --questions`: many questions from a file, resumed after a crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import EXAMPLES, Command

ANTARCTICA = EXAMPLES / "antarctica.jsonl"
QUESTIONS = ("Who crossed Antarctica alone?", "How tall is the moon?", "Where was Aston born?")


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    path = tmp_path / "questions.txt"
    path.write_text("\n\n".join(QUESTIONS) + "\n", "utf-8")
    return path


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_each_line_equals_the_answer_to_one_question(semqa: Command, asked: Path) -> None:
    out = semqa("answer", "--questions", asked, "--sources", ANTARCTICA, "--json").out
    found = [json.loads(line) for line in out.splitlines()]
    assert [each["question"] for each in found] == list(QUESTIONS)
    alone = semqa("answer", QUESTIONS[0], "--sources", ANTARCTICA, "--json").json
    for name in ("answer", "quotes", "verdict", "engine"):
        assert found[0][name] == alone[name]
    quoted = {quote["source"] for quote in alone["quotes"]}
    assert {source["number"] for source in found[0]["sources"]} == quoted
    assert found[1]["verdict"] == "abstained"


def test_a_question_may_bring_an_id_and_sources(semqa: Command, tmp_path: Path) -> None:
    line = {"id": "q7", "question": "Who built it?", "sources": [{"text": "Ada built the bridge."}]}
    (tmp_path / "q.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    record = semqa("answer", "--questions", tmp_path / "q.jsonl", "--json").json
    assert (record["id"], record["plain"]) == ("q7", "Ada built the bridge.")


def test_finished_questions_are_skipped(semqa: Command, asked: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    command = ("answer", "--questions", asked, "--sources", ANTARCTICA, "-o", out)
    assert semqa(*command).code == 0
    whole = out.read_bytes()
    first, second, _ = whole.splitlines(keepends=True)
    out.write_bytes(first + second[:-20])  # as after a power cut
    again = semqa(*command)
    assert "1 of 3 questions are already answered" in again.err
    assert [each["answer"] for each in rows(out)] == [
        json.loads(line)["answer"] for line in whole.splitlines()
    ]
    assert out.read_bytes().startswith(first)
    assert semqa(*command).code == 0
    assert len(rows(out)) == 3


def test_other_output_files_are_not_overwritten(
    semqa: Command, asked: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    command = ("answer", "--questions", asked, "--sources", ANTARCTICA, "-o", out)
    for held in ("my notes", '{"question": "Who?"}\n'):
        out.write_text(held, "utf-8")
        assert semqa(*command).code == 2
        assert out.read_text("utf-8") == held
    out.unlink()
    assert semqa(*command).code == 0
    assert semqa(*command, "--max-words", "9").code == 2
    assert len(rows(out)) == 3


def test_a_killed_run_resumes(semqa: Command, tmp_path: Path) -> None:
    many, out = tmp_path / "many.txt", tmp_path / "out.jsonl"
    many.write_text("\n".join(f"Who crossed Antarctica in {year}?" for year in range(40)), "utf-8")
    command = ("answer", "--questions", many, "--sources", ANTARCTICA, "-o", out)
    process = subprocess.Popen(
        [sys.executable, "-m", "semqa", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 120
    while not (out.exists() and out.read_bytes().count(b"\n") >= 10):
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = out.read_bytes()
    kept = kept[: kept.rindex(b"\n") + 1]
    assert semqa(*command).code == 0
    assert out.read_bytes().startswith(kept)
    assert [each["question"] for each in rows(out)] == many.read_text("utf-8").splitlines()
