"""The tables of scores in the READMEs are those of the records, and the records hold together."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
SCORES = {"ROUGE-L": "rougeLsum", "Sem-F1": "sem_f1", "Sem-Rec": "sem_recall", "SEMQA": "semqa"}
NAMES = sorted(path.name for path in (RESULTS / "quotesum").iterdir())


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
