"""The whole command: help, version, interrupts and imports."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import semqa as package
from tests.cli.conftest import EXAMPLES, Command
from tests.terminal import Terminal


def test_version(semqa: Command) -> None:
    assert semqa("--version").out == f"semqa {package.__version__}\n"


@pytest.mark.parametrize("group", [(), ("eval",), ("eval", "attrscore"), ("bench",)])
def test_a_group_knows_the_help_flag_of_its_commands(
    semqa: Command, group: tuple[str, ...]
) -> None:
    shown = semqa(*group, "--help-all")
    assert (shown.code, shown.out) == (0, semqa(*group, "--help").out)
    assert "--help-all" not in shown.out


def test_changelog_top_is_the_version() -> None:
    changelog = (EXAMPLES.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    top = re.search(r"^## (\S+)", changelog, re.MULTILINE)
    assert top is not None
    assert top.group(1) == package.__version__


def test_nothing_heavy_is_imported_before_it_is_used(tmp_path: Path) -> None:
    """By the package, by help on the command line, and by a library of collections."""
    library = f"from semqa.retrieval.passages import Library; Library({str(tmp_path)!r})"
    steps = ("import semqa", "import semqa.cli.main", library)
    code = "\n".join(["import sys", *(f"{step}; print(*sys.modules)" for step in steps)])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    bare, command_line, collections = map(set, map(str.split, done.stdout.splitlines()))
    heavy = {"numpy", "jinja2", "httpx", "torch", "rapidfuzz"}
    assert not bare & (heavy | {"rich", "typer", "asyncio"})
    assert not command_line & (heavy | {"semqa.metrics"})
    assert not collections & {"lancedb", "pyarrow", "torch"}


ASKED = ["answer", "Who crossed Antarctica alone?", "--sources", str(EXAMPLES / "antarctica.jsonl")]
ANSWER = shlex.join([sys.executable, "-m", "semqa", *ASKED])


def test_closed_pipes_are_not_errors() -> None:
    command = f"{ANSWER} --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert done.stdout == b"{"
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk that is full")
def test_a_full_disk_is_one_line() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{ANSWER} > /dev/full"], capture_output=True, check=False, text=True
    )
    assert done.returncode == 1
    assert done.stderr == "error: standard output: No space left on device\n"


def test_ctrl_c_ends_quietly(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "semqa", "answer", "Who?", "--sources", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    assert process.stdin is not None
    # More than a pipe buffer holds: once this is written, the command has started to read.
    process.stdin.write(b" " * 1_000_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == b""


def test_ctrl_c_ends_quietly_while_the_command_loads() -> None:
    code = (
        "import sys, signal\n"
        "class Loading:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'semqa.cli.main':\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Loading())\n"
        "from semqa.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_terminal_gets_colours_unless_it_wants_none_and_does_not_obey_sources(
    terminal: Terminal, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("He sang \x1bc it in \x9b31m 1943.", encoding="utf-8")
    command = ("answer", "When did he sing?", "a.txt", "-f")
    for output_format, env, coloured in (
        ("terminal", {}, True),
        ("terminal", {"NO_COLOR": "1"}, False),
        ("terminal", {"TERM": "dumb"}, False),
        ("marked", {}, False),
    ):
        shown = terminal(*command, output_format, env=env)
        assert "1943" in shown
        assert "\x1bc" not in shown
        assert "\x9b" not in shown
        assert ("\x1b[1;32m" in shown) == ("\x1b" in shown) == coloured


def test_a_terminal_does_not_obey_errors(terminal: Terminal) -> None:
    shown = terminal("answer", "Who?", "no-\x1b]0;such.txt")
    assert "cannot be read" in shown
    assert "\x1b]0" not in shown


@pytest.mark.skipif(sys.platform == "win32", reason="streams are closed by a Unix shell")
def test_closed_streams_cost_nothing_but_their_text(tmp_path: Path) -> None:
    def code(redirection: str, *args: str) -> int:
        command = shlex.join([sys.executable, "-m", "semqa", *args])
        line = f"{command} {redirection} <&-"
        return subprocess.run(["bash", "-c", line], cwd=tmp_path, check=False).returncode

    data = str(EXAMPLES / "quotesum.jsonl")
    bench = ("bench", "quotesum", "--engine", "lead-1", "--data", data, "--out")
    assert code(">&- 2>err", *bench, "run") == 0
    assert (tmp_path / "run" / "results.json").exists()
    assert "Traceback" not in (tmp_path / "err").read_text(encoding="utf-8")
    assert code("2>&-", "answer", "Who?", "none.txt") == 2
