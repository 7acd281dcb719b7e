"""Fixtures that run the real command in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.forked import Forks

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Outcome(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Outcome]


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks | None]:
    """Preloaded process to fork short commands from, where fork is available."""
    if not hasattr(os, "fork"):
        yield None
        return
    made = Forks()
    yield made
    made.close()


@pytest.fixture
def semqa(tmp_path: Path, forks: Forks | None) -> Command:
    """Call as ``semqa("answer", "Who?", stdin=b"…", env={…})``; runs in an empty folder."""

    def run(*args: str | Path, stdin: bytes = b"", env: dict[str, str] | None = None) -> Outcome:
        settings = {k for k in os.environ if k.startswith("SEMQA_")} - {"SEMQA_CACHE"}
        clean = {k: v for k, v in os.environ.items() if k not in settings}
        if forks is not None and all(k == "COLUMNS" or k.startswith("SEMQA_") for k in env or {}):
            code, out, err = forks.run(
                [*map(str, args)], stdin, tmp_path, {**clean, "COLUMNS": "100", **(env or {})}
            )
            return Outcome(code, out.decode("utf-8"), err.decode("utf-8"))
        done = subprocess.run(
            [sys.executable, "-m", "semqa", *map(str, args)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**clean, "COLUMNS": "100", **(env or {})},
            timeout=120,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    return run


@pytest.fixture
def fails(semqa: Command) -> Callable[..., str]:
    """Call like `semqa` for a command that must fail with a user error; returns its message."""

    def run(*args: str | Path, stdin: bytes = b"", code: int = 2) -> str:
        outcome = semqa(*args, stdin=stdin)
        assert outcome.code == code, outcome
        assert "Traceback" not in outcome.err
        assert outcome.out == ""
        return outcome.err

    return run
