"""Quality on the released questions must not fall below the recorded scores."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from semqa.data import read_quotesum
from semqa.engines.registry import create_engine
from semqa.metrics import Example, score

RECORDED = json.loads(Path(__file__).with_name("quality.json").read_text("utf-8"))
SCRIPT = Path(__file__).resolve().parents[2] / "scripts/fit_extractive.py"
WEIGHTS = Path(__file__).resolve().parents[2] / "semqa/engines/extractive/weights.json"
TOLERANCE = 0.05


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_no_worse_than_recorded(name: str, shared: Path) -> None:
    engine = create_engine(name)
    report = score(
        [
            Example(
                q.qid,
                engine.answer(q.question, q.sources).marked,
                q.texts,
                q.short_answers,
                q.numbers,
            )
            for q in read_quotesum(shared / "data/quotesum/dev_a.jsonl")
        ],
        resamples=0,
    )
    for metric, recorded in RECORDED[name].items():
        value = report.value(metric)
        assert value is not None
        assert value >= recorded - TOLERANCE, f"{name} {metric}: {value:.2f} < {recorded:.2f}"


@pytest.mark.slow
def test_the_script_reproduces_the_packaged_weights(shared: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            SCRIPT,
            shared / "data/quotesum/dev_a.jsonl",
            "--seeds",
            "1",
            "--check",
            WEIGHTS,
        ],
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    cross_validated = done.stdout.splitlines()[0]
    assert float(cross_validated.split("SEMQA")[1].split()[0]) >= 69.3, cross_validated
