"""Progress of a benchmark: speed, time left and failures, in bars or lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from semqa.bench.record import Record
from semqa.bench.run import Progress
from semqa.cli.bench_watch import Lines, Watch, duration
from semqa.cli.main import app
from semqa.quotes import QuotedAnswer, Source
from tests.cli.conftest import EXAMPLES
from tests.terminal import Terminal

DATA = EXAMPLES / "quotesum.jsonl"


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def record(number: int, seconds: float = 1.0, error: str | None = None) -> Record:
    nothing = QuotedAnswer.parse("", [Source("a")])
    return Record.of(f"q{number}", "q", "who?", nothing, None, seconds, error)


def test_speed_time_left_and_failures_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr("semqa.cli.bench_watch.time.monotonic", clock)
    monkeypatch.setattr("semqa.cli.bench_watch.EVERY_SECONDS", 0.0)
    watch = Watch()
    progress = Progress(90, 100, 90, 0)  # resumed examples do not count
    watch.progress(progress)
    clock.now += 5
    progress = progress.after(record(1, error="too long"))._replace(new_tokens=150)
    watch.progress(progress)
    assert capsys.readouterr().err.splitlines()[-1] == (
        "91 of 100 examples, 30 tokens/s, 1 failed, 0:45 left"
    )


def test_lines_come_every_half_minute_and_at_the_end() -> None:
    clock = Clock()
    said: list[str] = []
    lines = Lines(said.append, clock)
    for second in range(1, 76):
        clock.now += 1
        lines.update(second, 75, "examples", lambda: ["2 failed"])
    assert said == [
        "30 of 75 examples, 2 failed",
        "60 of 75 examples, 2 failed",
        "75 of 75 examples, 2 failed, in 1:15",
    ]


def test_short_tasks_print_nothing() -> None:
    clock = Clock()
    said: list[str] = []
    lines = Lines(said.append, clock)
    for second in range(1, 11):
        clock.now += 1
        lines.update(second, 10, "examples", list)
    assert said == []
    assert (duration(59.6), duration(7_205)) == ("1:00", "2:00:05")


def test_each_failure_reason_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    watch = Watch()
    progress = Progress(0, 9, 0, 0)
    for k, error in enumerate(["too long", None, "too long", "many marks", "refused", "another"]):
        progress = progress.after(record(k, error=error))
        watch.progress(progress)
    assert capsys.readouterr().err.splitlines() == [
        "failed: q0: too long", "failed: q3: many marks", "failed: q4: refused",
    ]  # fmt: skip


def bench(*args: str | Path) -> Any:
    return CliRunner().invoke(app, ["bench", "quotesum", "--data", str(DATA), *map(str, args)])


def test_a_log_gets_lines_of_runs_and_grids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("semqa.cli.bench_watch.EVERY_SECONDS", 0.0)
    result = bench("--engine", "lead-1", "--out", tmp_path / "run", "--json")
    assert json.loads(result.stdout)["answered"] == 3
    lines = result.stderr.splitlines()
    assert lines[0] == "0 of 3 examples"
    assert lines[1].startswith("1 of 3 examples, 0:0")
    assert lines[1].endswith(" left")
    assert lines[3] == "3 of 3 examples, in 0:00"
    config = tmp_path / "runs.yaml"
    config.write_text(f"data: {DATA}\nengine: [lead-1, human]\n", encoding="utf-8")
    shown = bench("--config", config, "--out", tmp_path / "runs").stderr
    assert "[2/2] human\n0 of 7 examples\n" in shown
    monkeypatch.setattr("semqa.cli.bench_watch.EVERY_SECONDS", 30.0)
    quiet = bench("--engine", "tail-1", "--out", tmp_path / "other", "--json")
    assert quiet.stderr == ""


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
        "        time.sleep(0.6)\n"
        "        if 'bridge' in question: raise InputError('no bridge today')\n"
        "        return QuotedAnswer.parse('', sources)\n"
        "semqa.engines.create_engine = lambda *_: Moody()\n"
        "from semqa.cli.main import main\n"
        "main()\n",
        encoding="utf-8",
    )
    import sys

    arguments = ["bench", "quotesum", "--data", str(DATA), "--out", str(tmp_path / "run")]
    shown = terminal(program=[sys.executable, str(program), *arguments])
    assert "failed: EXAMPLE_2: no bridge today" in shown
    assert "1 failed" in shown
    assert "0:01 left" in shown
    assert "3/3" in shown
