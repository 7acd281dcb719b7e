"""A real pseudo-terminal for commands, to see what a person would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

__all__ = ["Terminal", "terminal"]


class Terminal(Protocol):
    """Runs a command in a terminal of 100 columns; returns all that the terminal was sent."""

    def __call__(
        self,
        *args: str | Path,
        program: list[str] | None = None,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> str:
        """Run ``semqa`` with these arguments, or another program."""
        ...


def _run(command: list[str], cwd: Path, env: dict[str, str]) -> str:
    pty = pytest.importorskip("pty", reason="needs pseudo-terminals, which this system lacks")
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=cwd,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", **env},
    )
    os.close(slave)
    sent = b""
    while True:
        try:
            block = os.read(master, 65_536)
        except OSError:  # Linux's way to say that the other end is closed
            break
        if not block:
            break
        sent += block
    process.wait(timeout=60)
    os.close(master)
    return sent.decode("utf-8").replace("\r\n", "\n")


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """Call as ``terminal("answer", "Who?", …)``; starts in an empty folder."""

    def run(
        *args: str | Path,
        program: list[str] | None = None,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> str:
        command = program or [sys.executable, "-m", "semqa", *map(str, args)]
        return _run(command, cwd or tmp_path, env or {})

    return run
