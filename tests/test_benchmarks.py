"""Every benchmark runs at its smallest size, and ends with one line of JSON."""

from __future__ import annotations

import gc
import json
import os
import runpy
import sys
import warnings
from pathlib import Path
from unittest import mock

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
SCRIPTS = sorted(path for path in BENCHMARKS.glob("*.py") if path.name != "machine.py")


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_smoke(
    script: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In this process, which has most of the imports already."""
    monkeypatch.setattr(sys, "argv", [str(script), "--smoke"])
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    with mock.patch.dict(os.environ), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of other packages
        try:
            runpy.run_path(str(script), run_name="__main__")
        finally:
            gc.enable()
    record = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert record["benchmark"] == script.stem
    assert {"cpu", "cores", "python", "semqa", "commit"} <= set(record)
