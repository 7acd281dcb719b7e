"""Runs `semqa` within the process of the tests, as a user gives it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from semqa.cli.main import main

__all__ = ["Command", "Outcome", "command_in"]


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Outcome]


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
