"""`semqa bench quotesum`: output and interruption."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.bench.test_run import many_questions
from tests.cli.conftest import EXAMPLES, Command, Invoke
from tests.terminal import Terminal

DATA = EXAMPLES / "quotesum.jsonl"


def test_prints_a_table_and_where_the_results_are(semqa: Command, tmp_path: Path) -> None:
    outcome = semqa("bench", "quotesum", "--data", DATA, "--engine", "lead-1", "--out", "run")
    assert outcome.code == 0
    assert "Sem-Rec" in outcome.out
    assert "quotes and" in outcome.out
    assert outcome.err.strip() == f"results: {Path('run') / 'results.json'}"
    args = ("bench", "quotesum", "--data", DATA, "--engine", "lead-1", "--out", "run", "--json")
    kept = json.loads((tmp_path / "run/results.json").read_text(encoding="utf-8"))
    assert kept["results"] == semqa(*args).json["results"]


@pytest.fixture
def bench(invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Invoke:
    """Call as ``bench("--shots", "1", …)`` to run the fake engine."""
    monkeypatch.chdir(tmp_path)
    command = ("bench", "quotesum", "--data", DATA, "--engine", "fake:model", "--out", "run")
    return lambda *args: invoke(*command, *args)


def test_exemplars_that_do_not_fit_are_reported(bench: Invoke) -> None:
    few = ("--train", DATA, "--exemplars", "random", "--shots", "2", "--context")
    some = "exemplars: 2 requested, 0 to 1 per prompt, mean 0.7"
    assert some in bench(*few, "2620").stdout.splitlines()
    assert "none fit: these are zero-shot scores" in bench(*few, "2400", "--out", "run2").stdout


def test_failed_examples_are_shown_with_the_table(bench: Invoke) -> None:
    result = bench("--context", "1500", "--prompt", "qsum", "--shots", "0")
    assert result.exit_code == 0, result.output
    assert "failed: 1 of 3 examples, scored as empty answers" in result.stdout
    assert "  EXAMPLE_1: The prompt has " in result.stdout
    assert "2.5 quotes and 2 words per answer; quotes: 5 verified" in result.stdout
    again = bench("--context", "1500", "--prompt", "qsum", "--shots", "0", "--retry-failed")
    assert "resuming: 2 of 3 examples are already done; 1 failed, to be retried" in again.stderr


def test_no_results_if_all_examples_fail(bench: Invoke, tmp_path: Path) -> None:
    for args in ((), ("--json",)):
        result = bench("--context", "100", *args)
        assert result.exit_code == 1
        assert " ms per answer" not in result.stdout
    assert json.loads(result.stdout)["failed"] == 3
    assert json.loads((tmp_path / "run/results.json").read_text(encoding="utf-8"))["seconds"] == {}


def test_a_terminal_shows_time_and_failures(terminal: Terminal, tmp_path: Path) -> None:
    program = tmp_path / "moody.py"
    program.write_text(
        "import sys, time\n"
        "import semqa.engines\n"
        "from semqa.errors import InputError\n"
        "from semqa.quotes import QuotedAnswer\n"
        "class Moody:\n"
        "    name = 'moody'\n"
        "    def answer(self, question, sources, history=()):\n"
        "        time.sleep(0.1)\n"
        "        if 'bridge' in question: raise InputError('no bridge today')\n"
        "        return QuotedAnswer.parse('', sources)\n"
        "semqa.engines.create_engine = lambda *_: Moody()\n"
        "from semqa.cli.main import main\n"
        "main()\n",
        encoding="utf-8",
    )
    arguments = ["bench", "quotesum", "--data", str(DATA), "--out", str(tmp_path / "run")]
    shown = terminal(program=[sys.executable, str(program), *arguments])
    assert "failed: EXAMPLE_2: no bridge today" in shown
    assert "1 failed" in shown
    assert "3/3" in shown


def test_ctrl_c_keeps_finished_examples(tmp_path: Path) -> None:
    data = many_questions(tmp_path / "many.jsonl", 400)
    command = [sys.executable, "-m", "semqa", "bench", "quotesum", "--out", "run"]
    command += ["--data", str(data)]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    journal = tmp_path / "run" / "examples.jsonl"
    while process.poll() is None and not (journal.exists() and journal.stat().st_size):
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.startswith(b"stopped")
    assert journal.read_bytes().endswith(b"\n")


def test_a_grid_from_standard_input(semqa: Command) -> None:
    text = f"data: {DATA}\nengine: [lead-1, human]\nout: runs\n".encode()
    done = semqa("bench", "quotesum", "--config", "-", stdin=text)
    assert done.code == 0
    assert "[2/2] done in" in done.err
    assert "human" in done.out
    bad = semqa("bench", "quotesum", "--config", "-", stdin=text + b"limt: 3\n")
    assert bad.code == 2
    assert bad.err.startswith("error: <stdin>:4: limt is not a valid key")
