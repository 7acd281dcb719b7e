"""`semqa bench quotesum`: what it prints, and how it ends when it is interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.test_run import many_questions
from tests.cli.conftest import EXAMPLES, Command
from tests.terminal import Terminal

DATA = EXAMPLES / "quotesum.jsonl"


def test_prints_a_table_and_where_the_results_are(semqa: Command) -> None:
    outcome = semqa("bench", "quotesum", "--data", DATA, "--engine", "lead-1", "--out", "run")
    assert outcome.code == 0
    assert "Sem-Rec" in outcome.out
    assert "quotes and" in outcome.out
    assert outcome.err.strip() == f"results: {Path('run') / 'results.json'}"


def test_json_is_the_results_file(semqa: Command, tmp_path: Path) -> None:
    record = semqa("bench", "quotesum", "--data", DATA, "--out", "run", "--json").json
    assert record == json.loads((tmp_path / "run/results.json").read_text(encoding="utf-8"))
    assert record["results"]["n"] == 3


def test_says_what_is_unscored(semqa: Command, tmp_path: Path) -> None:
    lines = DATA.read_text(encoding="utf-8").splitlines()
    (tmp_path / "one.jsonl").write_text("\n".join(lines[1:]) + "\n", encoding="utf-8")
    outcome = semqa("bench", "quotesum", "--data", "one.jsonl", "--engine", "human", "--out", "run")
    assert "unscored: 1 of 6 (no other reference to compare with) in all scores" in outcome.out


def test_a_bar_in_a_terminal(terminal: Terminal) -> None:
    shown = terminal("bench", "quotesum", "--data", DATA, "--engine", "lead-1", "--out", "run")
    assert "3/3" in shown
    assert "SEMQA" in shown


def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    data = many_questions(tmp_path / "many.jsonl", 400)
    command = [
        sys.executable,
        "-m",
        "semqa",
        "bench",
        "quotesum",
        "--data",
        str(data),
        "--out",
        "run",
    ]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    journal = tmp_path / "run" / "examples.jsonl"
    while process.poll() is None and not (journal.exists() and journal.stat().st_size):
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.decode().strip() == (
        "interrupted: what is done is kept; give the same command again to go on"
    )
    assert journal.read_bytes().endswith(b"\n")


def test_mistakes(fails: Callable[..., str], semqa: Command) -> None:
    assert "cannot be read" in fails("bench", "quotesum", "--data", "none.jsonl", "--out", "run")
    assert "not a regular file" in fails("bench", "quotesum", "--data", "-", "--out", "run")
    args = ("bench", "quotesum", "--data", DATA, "--out", "run")
    assert semqa(*args, "--engine", "lead-1").code == 0
    assert "holds another run: got engine 'lead-1'" in fails(*args, "--engine", "lead-2")
    assert "the human row takes no options" in fails(*args, "--engine", "human", "--max-words", "9")
