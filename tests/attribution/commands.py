"""Runs `semqa` within the process of the tests, as a user gives it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from semqa.cli.main import main
from tests.cli.conftest import Command, Outcome

__all__ = ["Command", "Outcome", "command_in"]


def command_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Return what runs a command in a folder, with a memory of judgements of its own."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("SEMQA_CACHE", str(folder / "cache"))

    def run(*args: str | Path) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["semqa", *map(str, args)])
        with pytest.raises(SystemExit) as end:
            main()
        code = end.value.code
        number = code if isinstance(code, int) else int(code is not None)
        return Outcome(number, *capsys.readouterr())

    return run
