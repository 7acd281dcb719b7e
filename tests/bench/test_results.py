"""The tables of scores in the READMEs are those of the records, and the records hold together."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
SCRIPT = ROOT / "benchmarks" / "quotesum.py"
DATA = Path(os.environ.get("SEMQA_TEST_DATA", ROOT.parent / "shared")) / "data/quotesum/dev_a.jsonl"
SCORES = {"ROUGE-L": "rougeLsum", "Sem-F1": "sem_f1", "Sem-Rec": "sem_recall", "SEMQA": "semqa"}
NAMES = sorted(path.name for path in (RESULTS / "quotesum").iterdir())
KEPT = {
    "id", "qid", "seed", "prediction_sha256", "error", "quotes", "words", "free_words",
    "sources_quoted", "scores",
}  # fmt: skip


def results_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (RESULTS / "quotesum" / name / "results.json").read_text("utf-8")
    )
    return found


def rows_of(name: str) -> list[dict[str, Any]]:
    lines = (RESULTS / "quotesum" / name / "rows.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def tables_in(text: str) -> list[dict[str, list[str]]]:
    """Return the tables of the four scores, each as its rows by their names."""
    names = r" \| ".join(SCORES)
    head = rf"^\| \| {names} \|\n\|(?:-+\|)+\n((?:\|.*\n)+)"
    tables = []
    for block in re.findall(head, text, re.MULTILINE):
        rows = [
            [cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()
        ]
        tables.append({name: figures for name, *figures in rows})
    return tables


@pytest.mark.parametrize("page", ["docs/benchmarks.md", "benchmarks/results/README.md"])
def test_tables_are_those_of_the_records(page: str) -> None:
    kept = {results_of(name)["label"]: results_of(name)["results"] for name in NAMES}
    (shown,) = tables_in((ROOT / page).read_text("utf-8"))
    assert shown.keys() <= kept.keys(), "a row without a record"
    assert len(shown) >= 5
    for label, figures in shown.items():
        assert figures == [f"{kept[label][metric]:.1f}" for metric in SCORES.values()], label


def test_wider_coverage_is_as_in_the_record() -> None:
    text = " ".join((ROOT / "docs/benchmarks.md").read_text("utf-8").split())
    said = re.search(r"At `--coverage 0\.6` SEMQA is ([\d.]+) with ([\d.]+) Sem-Rec", text)
    assert said is not None
    results = results_of("extractive-cross-validated-0.6")["results"]
    assert said.groups() == (f"{results['semqa']:.1f}", f"{results['sem_recall']:.1f}")


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_the_rows(name: str) -> None:
    """Means over rows, and the geometric mean of two of them; over seeds, the mean of those."""
    results, rows = results_of(name)["results"], rows_of(name)
    by_seed = []
    for seed in sorted({row.get("seed", 0) for row in rows}):
        means = {}
        for metric in ("rougeLsum", "sem_f1", "sem_recall"):
            values = [row["scores"][metric] for row in rows if row.get("seed", 0) == seed]
            means[metric] = fmean(value for value in values if value is not None)
        by_seed.append(means | {"semqa": (means["sem_f1"] * means["rougeLsum"]) ** 0.5})
    for metric in SCORES.values():
        mean = fmean(each[metric] for each in by_seed)
        assert results[metric] == pytest.approx(mean, abs=1e-9), metric
    assert len({row["id"] for row in rows}) == len(rows)


def test_records_hold_no_text_of_the_release_and_no_path() -> None:
    size = 0
    digests = set()
    for name in NAMES:
        results = results_of(name)
        digests.add(results["config"]["data_sha256"])
        assert {"cpu", "cores", "system", "python"} == set(results["machine"])
        assert results["versions"]
        for row in rows_of(name):
            assert row.keys() <= KEPT
            for value in row.values():
                assert not isinstance(value, str) or re.fullmatch(r"[\w./]+", value)
    assert len(digests) == 1, "all records are of the same data"
    for path in RESULTS.rglob("*"):
        if path.is_file():
            size += path.stat().st_size
            text = path.read_text("utf-8")
            assert not re.search(r"\"/|/home/|/tmp/|/work/|/root/", text), path
    assert size <= 1_000_000


@pytest.mark.slow
def test_made_again_they_are_the_same_but_for_what_was_changed(tmp_path: Path) -> None:
    if not DATA.exists():
        pytest.skip(f"needs QuoteSum's dev_a.jsonl: none at {DATA}; set SEMQA_TEST_DATA")
    kept = results_of("lead-2")["config"]["data_sha256"]
    if hashlib.sha256(DATA.read_bytes()).hexdigest() != kept:
        pytest.skip(f"needs the data of the records: {DATA} is other data")
    records = tmp_path / "records"
    shutil.copytree(RESULTS / "quotesum", records)
    command = [sys.executable, str(SCRIPT), "--data", str(DATA), "--records", str(records)]

    path = records / "lead-2" / "rows.jsonl"
    rows = rows_of("lead-2")
    rows[3]["prediction_sha256"] = "0" * 64
    rows[5]["scores"]["sem_f1"] += 0.01
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    shutil.rmtree(records / "tail-1")
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8")
    assert done.returncode == 1, done.stderr
    assert f"lead-2: {rows[3]['id']}: prediction_sha256: stored 0000" in done.stdout
    assert f"lead-2: {rows[5]['id']}: scores: stored" in done.stdout
    assert "tail-1: not stored" in done.stdout
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["runs"], told["differences"]) == (len(NAMES), 3), done.stdout
