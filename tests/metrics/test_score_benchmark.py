"""The benchmark runs at its smallest size, on the examples, and checks what it times."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).resolve().parents[2] / "benchmarks/score.py"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("SEMQA_TEST_DATA", str(tmp_path))
    monkeypatch.syspath_prepend(FILE.parent)
    spec = importlib.util.spec_from_file_location("benchmark_score", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_is_timed_where_the_scorers_differ(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark.reference, "sem_recall", lambda *_: 12.5)
    with pytest.raises(SystemExit, match=r"^question \S+: sem_recall: got [0-9.]+, expected 12.5$"):
        benchmark.main(["--smoke"])
