"""The command as a whole: help, version, interrupts, and what it does not import."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import semqa as package
from tests.cli.conftest import EXAMPLES, Command


def test_version(semqa: Command) -> None:
    assert semqa("--version").out == f"semqa {package.__version__}\n"


def test_changelog_top_is_the_version() -> None:
    changelog = (EXAMPLES.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    top = re.search(r"^## (\S+)", changelog, re.MULTILINE)
    assert top is not None
    assert top.group(1) == package.__version__


@pytest.mark.parametrize(
    "command", [[], ["answer"], ["verify"], ["score"], ["bench"], ["bench", "quotesum"], ["data"]]
)
def test_help_everywhere(semqa: Command, command: list[str]) -> None:
    outcome = semqa(*command, "--help")
    assert outcome.code == 0
    assert "Usage:" in outcome.out


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_importing_semqa_is_light() -> None:
    heavy = {"numpy", "rich", "jinja2", "httpx", "typer", "torch", "rapidfuzz", "asyncio"}
    assert not heavy & modules_after("import semqa")


def test_the_command_line_loads_nothing_heavy_for_its_help() -> None:
    heavy = {"numpy", "jinja2", "httpx", "torch", "rapidfuzz", "semqa.engines", "semqa.metrics"}
    assert not heavy & modules_after("import semqa.cli.main")


def test_a_closed_pipe_is_no_error() -> None:
    command = (
        f"{sys.executable} -m semqa answer Who? --sources {EXAMPLES / 'antarctica.jsonl'} --json"
    )
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -c 1"], capture_output=True, check=False
    )
    assert done.stdout == b"{"
    assert done.stderr == b""


def test_ctrl_c_ends_quietly(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "semqa", "answer", "Who?", "--sources", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    # It waits for its input; an interrupt before Python's start-up is done would test Python.
    time.sleep(1.5)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == b""


def test_a_full_disk_is_one_line() -> None:
    command = f"{sys.executable} -m semqa answer Who? --sources {EXAMPLES / 'antarctica.jsonl'}"
    done = subprocess.run(
        ["bash", "-c", f"{command} > /dev/full"], capture_output=True, check=False, text=True
    )
    assert done.returncode == 1
    assert done.stderr == "error: standard output: No space left on device\n"
