"""Every benchmark runs at its smallest size, and ends with one line of JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
SCRIPTS = sorted(path for path in BENCHMARKS.glob("*.py") if path.name != "machine.py")


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_smoke(script: Path) -> None:
    done = subprocess.run(
        [sys.executable, script, "--smoke"], capture_output=True, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout.splitlines()[-1])
    assert record["benchmark"] == script.stem
    assert {"cpu", "cores", "python", "semqa", "commit"} <= set(record)
