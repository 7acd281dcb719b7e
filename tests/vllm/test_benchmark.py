"""The benchmark of serving, at its smallest size, where vLLM is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "serving.py"


def test_serving_runs(runner: int) -> None:
    if runner == 2:
        pytest.skip("this size of it is for the first model runner")
    done = subprocess.run(
        [sys.executable, SCRIPT, "--smoke"], capture_output=True, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout.splitlines()[-1])["runners"]
    assert found["quotes_checked"] > 0
    assert [row["batch"] for row in found["speed"]] == [1, 2]
    assert found["first_token_seconds"].keys() == {"free", "any", "glue", "grammar"}
    assert isinstance(found["long"][0]["glue"], float)
