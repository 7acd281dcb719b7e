"""Reproduce the records behind the score tables and compare them with the stored ones.

    python benchmarks/quotesum.py [--data QUOTESUM.jsonl] [--records DIR] [--write] [--smoke]

Runs the grid of benchmarks/results/quotesum.yaml, cross-validates the extractive engine, and
compares each example with its row in benchmarks/results/quotesum: digest of the answer, number of
quotes and words, and scores. The exit code is 1 if anything differs. --write stores the new records
instead. If the data differs from that of the records, only the table is printed. Without --data,
the data comes from SEMQA_TEST_DATA (default: ../shared next to the checkout), or from the sample.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from machine import describe_machine

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from semqa.metrics import ExampleScores, summarise  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

RESULTS = ROOT / "benchmarks" / "results"
SCORES = {
    "rougeLsum": "ROUGE-L",
    "sem_f1": "Sem-F1",
    "sem_recall": "Sem-Rec",
    "semqa": "SEMQA",
}
LABELS = {
    "human": "people, each against the others",
    "extractive-cross-validated": "`extractive`, 5-fold cross-validated",
    "extractive-cross-validated-0.6": "`extractive --coverage 0.6`, 5-fold cross-validated",
    "extractive": "`extractive` as it ships, fitted on these questions",
    "bm25": "best BM25 sentence of each source, weak sources dropped",
}
"""Row labels in table order; baselines follow with their own names."""

COUNT_FIELDS = ("error", "quotes", "words", "free_words", "sources_quoted")
SEEDS = 5
HIGH_COVERAGE = 0.6
TOLERANCE = 1e-6
"""Allowed difference of scores between machines."""


class Record(NamedTuple):
    """The record of one run.

    Attributes:
        name: name of its folder.
        results: contents of ``results.json``.
        rows: one per example (and seed), with digests, counts and scores but no text.
    """

    name: str
    results: dict[str, Any]
    rows: list[dict[str, Any]]


def run_grid(data: Path, grid: Path) -> Iterator[Record]:
    """Run a grid and yield the record of each run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "semqa", "bench", "quotesum", "--config", str(grid)]
        command += ["--data", str(data.resolve()), "--out", folder]
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            cwd=ROOT,
            encoding="utf-8",
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        if done.returncode:
            sys.exit(f"The grid failed with exit code {done.returncode}:\n{done.stderr}")
        for cell in json.loads(Path(folder, "grid.json").read_text("utf-8"))["cells"]:
            out = Path(folder, cell["folder"])
            lines = (out / "examples.jsonl").read_text("utf-8").splitlines()
            yield Record(
                cell["label"],
                json.loads((out / "results.json").read_text("utf-8")),
                [row_of(json.loads(line)) for line in lines],
            )


def row_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored part of a row: no text of the released data or of an answer."""
    kept = {"id": row["id"], "qid": row["qid"], "prediction_sha256": digest(row["prediction"])}
    kept |= {name: row[name] for name in COUNT_FIELDS}
    return kept | {"scores": {name: row["scores"][name] for name in SCORES}}


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def run_script(data: Path) -> Iterator[Record]:
    """Cross-validate the extractive engine and score the BM25 baseline."""
    from semqa.engines.extractive.engine import ExtractiveEngine

    fitting = load_script("fit_extractive")
    samples = fitting.load(data)
    config = {
        "data": data.name,
        "data_sha256": hashlib.sha256(data.read_bytes()).hexdigest(),
        "script": "scripts/fit_extractive.py",
    }
    default = ExtractiveEngine()
    engines = {each.coverage: each for each in (default, ExtractiveEngine(coverage=HIGH_COVERAGE))}
    runs = [fitting.cross_validate(samples, seed, engines) for seed in range(SEEDS)]
    for coverage in engines:
        name = "extractive-cross-validated"
        name += "" if coverage == default.coverage else f"-{coverage}"
        run_config = config | {"folds": fitting.FOLDS, "seeds": SEEDS, "coverage": coverage}
        # Sorted, because the order of a run depends on its seed.
        by_seed = [sorted(run[coverage], key=lambda each: each.qid) for run in runs]
        rows = [
            {"id": f"{scores.qid}/{seed}", "qid": scores.qid, "seed": seed, **scores_of(scores)}
            for seed, each in enumerate(by_seed)
            for scores in each
        ]
        yield Record(name, {"results": mean_of(by_seed), "config": run_config}, rows)
    answers = [fitting.bm25_answer(sample) for sample in samples]
    scored = [
        fitting.evaluate(sample.question, answer)
        for sample, answer in zip(samples, answers, strict=True)
    ]
    rows = [
        {"id": each.qid, "qid": each.qid, "prediction_sha256": digest(answer), **scores_of(each)}
        for each, answer in zip(scored, answers, strict=True)
    ]
    yield Record("bm25", {"results": summarise(scored, seed=0).to_dict(), "config": config}, rows)


def scores_of(scores: ExampleScores) -> dict[str, Any]:
    """Return the scores of one example for a row."""
    return {"scores": {name: getattr(scores, name) for name in SCORES}}


def mean_of(runs: Sequence[Sequence[ExampleScores]]) -> dict[str, Any]:
    """Return corpus scores averaged over seeds, and those of each seed."""
    reports = [summarise(run, resamples=0) for run in runs]
    each = [{name: report.value(name) for name in SCORES} for report in reports]
    means = {
        name: fmean(value for seed in each if (value := seed[name]) is not None) for name in SCORES
    }
    return {"n": len(runs[0]), **means, "by_seed": each}


def load_script(name: str) -> Any:
    """Import a script by name."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    if spec is None or spec.loader is None:
        sys.exit(f"scripts/{name}.py not found")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def finished(record: Record) -> Record:
    """Add the label and the machine, without any path on that machine."""
    machine = {key: value for key, value in describe_machine().items() if key != "commit"}
    import numpy as np

    results = {"label": LABELS.get(record.name, f"`{record.name}`"), **record.results}
    results["machine"] = machine
    results.setdefault("versions", {"semqa": machine["semqa"], "numpy": np.__version__})
    del machine["semqa"]
    return record._replace(results=results)


def write(records: Sequence[Record], folder: Path) -> None:
    """Replace the stored records."""
    if folder.exists():
        shutil.rmtree(folder)
    for record in records:
        out = folder / record.name
        out.mkdir(parents=True)
        text = json.dumps(record.results, indent=2, ensure_ascii=False) + "\n"
        (out / "results.json").write_text(text, "utf-8")
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in record.rows)
        (out / "rows.jsonl").write_text(lines, "utf-8")


def read(folder: Path) -> dict[str, Record]:
    """Read the stored records by name."""
    return {
        path.parent.name: Record(
            path.parent.name,
            json.loads(path.read_text("utf-8")),
            [
                json.loads(line)
                for line in (path.parent / "rows.jsonl").read_text("utf-8").splitlines()
            ],
        )
        for path in sorted(folder.glob("*/results.json"))
    }


def differences(stored: Mapping[str, Record], records: Sequence[Record]) -> Iterator[str]:
    """Yield each difference in corpus scores or in an example."""
    for name in sorted(stored.keys() ^ {each.name for each in records}):
        yield f"{name}: {'not reproduced' if name in stored else 'not stored'}"
    for new in records:
        if new.name not in stored:
            continue
        old = stored[new.name]
        for score, title in SCORES.items():
            before, now = old.results["results"][score], new.results["results"][score]
            if not close(before, now):
                yield f"{new.name}: {title}: stored {before!r}, now {now!r}"
        rows = {row["id"]: row for row in new.rows}
        if rows.keys() != {row["id"] for row in old.rows}:
            yield f"{new.name}: examples differ: stored {len(old.rows)}, now {len(new.rows)}"
        for row in old.rows:
            now = rows.get(row["id"], row)
            for field, value in row.items():
                same = (
                    all(close(value[score], now["scores"][score]) for score in SCORES)
                    if field == "scores"
                    else value == now.get(field)
                )
                if not same:
                    yield f"{new.name}: {row['id']}: {field}: stored {value}, now {now.get(field)}"


def close(one: float | None, other: float | None) -> bool:
    """Return whether two scores are equal up to rounding."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=0, abs_tol=TOLERANCE)


def table(records: Sequence[Record], names: Sequence[str] | None = None) -> str:
    """Return the scores of records as a Markdown table.

    Args:
        records: records in any order.
        names: names of the records to show; by default all.
    """
    order = {name: index for index, name in enumerate(LABELS)}
    shown = sorted(records, key=lambda each: (order.get(each.name, len(order)), each.name))
    rows = [
        f"| {each.results['label']} | "
        + " | ".join(f"{each.results['results'][name]:.1f}" for name in SCORES)
        + " |"
        for each in shown
        if names is None or each.name in names
    ]
    return "\n".join([f"| | {' | '.join(SCORES.values())} |", "|---|---|---|---|---|", *rows])


def main() -> None:
    """Run, compare or store, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="QuoteSum file (JSON lines)")
    parser.add_argument("--records", type=Path, default=RESULTS / "quotesum", metavar="DIR")
    parser.add_argument("--write", action="store_true", help="store the new records")
    parser.add_argument(
        "--smoke", action="store_true", help="run the sample and compare it with itself"
    )
    options = parser.parse_args()
    shared = Path(os.environ.get("SEMQA_TEST_DATA", ROOT.parent / "shared"))
    data: Path = options.data or shared / "data/quotesum/dev_a.jsonl"
    sample = options.smoke or (options.data is None and not data.exists())
    if sample:
        data = ROOT / "examples" / "quotesum.jsonl"
    grid = RESULTS / "quotesum.yaml"
    records = [finished(each) for each in run_grid(data, grid)]
    if not sample:
        records += [finished(each) for each in run_script(data)]
    print(table(records))
    found: list[str] = []
    compared = True
    if sample:
        with tempfile.TemporaryDirectory() as folder:
            write(records, Path(folder) / "stored")
            found = list(differences(read(Path(folder) / "stored"), records))
    elif options.write:
        write(records, options.records)
        print(f"stored {len(records)} records in {options.records}")
    else:
        stored = read(options.records)
        digests = {each.results["config"]["data_sha256"] for each in stored.values()}
        compared = digests == {hashlib.sha256(data.read_bytes()).hexdigest()}
        if compared:
            found = list(differences(stored, records))
        else:
            print("Not compared: the stored records are for different data.")
    for line in found:
        print(line)
    if compared and not options.write:
        print("Differs from the stored records." if found else "Identical to the stored records.")
    summary = {
        "benchmark": "quotesum",
        "runs": len(records),
        "examples": sum(len(each.rows) for each in records),
        "compared": compared,
        "differences": len(found),
        "semqa_scores": {each.name: each.results["results"]["semqa"] for each in records},
    }
    print(json.dumps(summary | describe_machine()))
    if found:
        sys.exit(1)


if __name__ == "__main__":
    main()
