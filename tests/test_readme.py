"""The documentation is true: its commands print what it shows, its Python runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tests.terminal import Terminal

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for at, block in enumerate(re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)):
            found.append((f"{page.stem}-{at}", block))
    return found


@pytest.mark.parametrize("block", [pytest.param(b, id=i) for i, b in blocks("python")])
def test_python_runs(
    block: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A block runs in a copy of the examples; `#` comments after prints are not compared here."""
    monkeypatch.chdir(shutil.copytree(ROOT / "examples", tmp_path / "examples"))
    exec(compile(block, "<block>", "exec"), {"__name__": "__main__"})
    shown = re.findall(r"^# (.*)$", block, re.MULTILINE)
    if "print(" in block:
        assert capsys.readouterr().out.splitlines() == shown


def commands() -> list[tuple[str, str, str]]:
    """Commands of README's console blocks, each with the output shown under it."""
    found = []
    for name, block in blocks("console"):
        if not name.startswith("README"):
            continue
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            found.append((name, command, shown))
    return found


@pytest.mark.parametrize(
    ("command", "shown"),
    [pytest.param(c, s, id=f"{i}-{n}") for n, (i, c, s) in enumerate(commands())],
)
def test_commands_print_the_output_in_the_readme(
    command: str, shown: str, tmp_path: Path, terminal: Terminal
) -> None:
    """In a terminal without colours, 100 columns wide; ends of lines may lose their blanks."""
    shim = tmp_path / "semqa"
    shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m semqa "$@"\n')
    shim.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    said = terminal(program=["sh", "-c", command], cwd=ROOT, env={"PATH": path, "NO_COLOR": "1"})
    assert [line.rstrip() for line in said.strip().splitlines()] == [
        line.rstrip() for line in shown.strip().splitlines()
    ]
