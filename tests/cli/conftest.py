"""Fixtures that run commands."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner, Result

from semqa.__main__ import main
from semqa.cli.main import app
from semqa.engines import accepted_options, create_engine
from tests.cli.fake_model import FakeModel

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Outcome(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.out, self.err
        return json.loads(self.out)


Command = Callable[..., Outcome]


@pytest.fixture
def semqa(tmp_path: Path) -> Command:
    """Call as ``semqa("answer", "Who?", stdin=b"…", env={…})``; runs in an empty folder.

    The command runs in this process, unless Python itself reads its environment when it starts.
    """

    def run(*args: str | Path, stdin: bytes = b"", env: dict[str, str] | None = None) -> Outcome:
        argv, given = ["semqa", *map(str, args)], {"COLUMNS": "100", **(env or {})}
        ours = {name for name in os.environ if name.startswith("SEMQA_")} - {"SEMQA_CACHE"}
        if given.keys() & {"LC_ALL", "LANG", "PYTHONUTF8"}:
            clean = {name: value for name, value in os.environ.items() if name not in ours}
            done = subprocess.run(
                [sys.executable, "-m", *argv],
                input=stdin,
                capture_output=True,
                cwd=tmp_path,
                env={**clean, **given},
                timeout=120,
                check=False,
            )
            return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())
        out, err = io.BytesIO(), io.BytesIO()
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            for name in ours:
                patch.delenv(name)
            for name, value in given.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", argv)
            streams = {"stdin": io.BytesIO(stdin), "stdout": out, "stderr": err}
            for name, stream in streams.items():
                patch.setattr(sys, name, io.TextIOWrapper(stream, "utf-8", write_through=True))
            with pytest.raises(SystemExit) as end:
                main()
            shown = out.getvalue().decode(), err.getvalue().decode()
        return Outcome(int(end.value.code or 0), *shown)

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


Invoke = Callable[..., Result]


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Call as ``invoke("answer", "Who?", …, env={…})``, with a fake engine named ``fake:model``."""

    def accepted(spec: str) -> tuple[str, ...] | None:
        return accepted_options("transformers:x" if spec == "fake:model" else spec)

    def create(spec: str, options: dict[str, object]) -> object:
        return FakeModel(spec, options) if spec == "fake:model" else create_engine(spec, options)

    for module in ("semqa.cli.choice", "semqa.bench.plan"):
        monkeypatch.setattr(f"{module}.create_engine", create)
    monkeypatch.setattr("semqa.cli.choice.accepted_options", accepted)
    FakeModel.made.clear()
    for name in ("SEMQA_ENGINE", "SEMQA_SEED", "SEMQA_DEVICE", "SEMQA_PROMPT", "SEMQA_ENCODER"):
        monkeypatch.delenv(name, raising=False)

    def run(*args: str | Path, env: dict[str, str] | None = None) -> Result:
        return CliRunner().invoke(app, [*map(str, args)], env=env)

    return run
