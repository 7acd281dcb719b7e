"""Make the records behind the tables of scores again, and compare them with those that are kept.

    python benchmarks/quotesum.py [--data QUOTESUM.jsonl] [--records DIR] [--write] [--smoke]

Runs the grid of benchmarks/results/quotesum.yaml, cross-validates the extractive engine, and compares
each example with its row in benchmarks/results/quotesum: the digest of what was answered, its quotes
and words, its scores. Exit code 1 if anything differs. --write keeps what was made instead. Over other
data than that of the records only the table is printed. Without --data it is looked for in
SEMQA_TEST_DATA (default ../shared beside the checkout); where it is absent the sample serves.
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
"""What rows of tables are called, in their order; baselines follow by their own names."""

COUNTED = ("error", "quotes", "words", "free_words", "sources_quoted")
SEEDS = 5
WIDER = 0.6
NEAR = 1e-6
"""By how much scores of two machines may differ."""


class Made(NamedTuple):
    """One record.

    Attributes:
        name: of its folder.
        results: what ``results.json`` holds.
        rows: one an example (and a seed): digests, counts and scores, and no text.
    """

    name: str
    results: dict[str, Any]
    rows: list[dict[str, Any]]


def of_runs(data: Path, grid: Path) -> Iterator[Made]:
    """Run a grid, and make the record of each run."""
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
            sys.exit(f"the grid failed with exit code {done.returncode}:\n{done.stderr}")
        for cell in json.loads(Path(folder, "grid.json").read_text("utf-8"))["cells"]:
            out = Path(folder, cell["folder"])
            lines = (out / "examples.jsonl").read_text("utf-8").splitlines()
            yield Made(
                cell["label"],
                json.loads((out / "results.json").read_text("utf-8")),
                [row_of(json.loads(line)) for line in lines],
            )


def row_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of a row of a run: nothing that the released data or an answer says."""
    kept = {"id": row["id"], "qid": row["qid"], "prediction_sha256": digest(row["prediction"])}
    kept |= {name: row[name] for name in COUNTED}
    return kept | {"scores": {name: row["scores"][name] for name in SCORES}}


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def of_script(data: Path) -> Iterator[Made]:
    """Cross-validate the extractive engine, and score the plain baseline that it is held against."""
    from semqa.engines.extractive.engine import ExtractiveEngine

    fitting = load_script("fit_extractive")
    samples = fitting.load(data)
    config = {
        "data": data.name,
        "data_sha256": hashlib.sha256(data.read_bytes()).hexdigest(),
        "script": "scripts/fit_extractive.py",
    }
    default = ExtractiveEngine()
    engines = {each.coverage: each for each in (default, ExtractiveEngine(coverage=WIDER))}
    runs = [fitting.cross_validate(samples, seed, engines) for seed in range(SEEDS)]
    for coverage in engines:
        name = "extractive-cross-validated"
        name += "" if coverage == default.coverage else f"-{coverage}"
        told = config | {"folds": fitting.FOLDS, "seeds": SEEDS, "coverage": coverage}
        # By question: a fold's order is that of its seed.
        by_seed = [sorted(run[coverage], key=lambda each: each.qid) for run in runs]
        rows = [
            {"id": f"{scores.qid}/{seed}", "qid": scores.qid, "seed": seed, **scores_of(scores)}
            for seed, each in enumerate(by_seed)
            for scores in each
        ]
        yield Made(name, {"results": mean_of(by_seed), "config": told}, rows)
    answers = [fitting.bm25_answer(sample) for sample in samples]
    scored = [
        fitting.evaluate(sample.question, answer)
        for sample, answer in zip(samples, answers, strict=True)
    ]
    rows = [
        {"id": each.qid, "qid": each.qid, "prediction_sha256": digest(answer), **scores_of(each)}
        for each, answer in zip(scored, answers, strict=True)
    ]
    yield Made("bm25", {"results": summarise(scored, seed=0).to_dict(), "config": config}, rows)


def scores_of(scores: ExampleScores) -> dict[str, Any]:
    """Return the scores of one example as a row keeps them."""
    return {"scores": {name: getattr(scores, name) for name in SCORES}}


def mean_of(runs: Sequence[Sequence[ExampleScores]]) -> dict[str, Any]:
    """Return the means over seeds of the scores of a corpus, and those of each seed."""
    reports = [summarise(run, resamples=0) for run in runs]
    each = [{name: report.value(name) for name in SCORES} for report in reports]
    means = {
        name: fmean(value for seed in each if (value := seed[name]) is not None) for name in SCORES
    }
    return {"n": len(runs[0]), **means, "by_seed": each}


def load_script(name: str) -> Any:
    """Import a script by its name."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    if spec is None or spec.loader is None:
        sys.exit(f"scripts/{name}.py is missing")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def finished(made: Made) -> Made:
    """Return a record with what it is called and the machine, and no path of that machine."""
    machine = {key: value for key, value in describe_machine().items() if key != "commit"}
    import numpy as np

    results = {"label": LABELS.get(made.name, f"`{made.name}`"), **made.results}
    results["machine"] = machine
    results.setdefault("versions", {"semqa": machine["semqa"], "numpy": np.__version__})
    del machine["semqa"]
    return made._replace(results=results)


def write(records: Sequence[Made], folder: Path) -> None:
    """Keep records, in place of those that were kept."""
    if folder.exists():
        shutil.rmtree(folder)
    for made in records:
        out = folder / made.name
        out.mkdir(parents=True)
        text = json.dumps(made.results, indent=2, ensure_ascii=False) + "\n"
        (out / "results.json").write_text(text, "utf-8")
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in made.rows)
        (out / "rows.jsonl").write_text(lines, "utf-8")


def read(folder: Path) -> dict[str, Made]:
    """Read the records that are kept, by their names."""
    return {
        path.parent.name: Made(
            path.parent.name,
            json.loads(path.read_text("utf-8")),
            [
                json.loads(line)
                for line in (path.parent / "rows.jsonl").read_text("utf-8").splitlines()
            ],
        )
        for path in sorted(folder.glob("*/results.json"))
    }


def differences(kept: Mapping[str, Made], made: Sequence[Made]) -> Iterator[str]:
    """Say where records differ: by their scores, and example by example."""
    for name in sorted(kept.keys() ^ {each.name for each in made}):
        yield f"{name}: {'not made' if name in kept else 'not kept'}"
    for new in made:
        if new.name not in kept:
            continue
        old = kept[new.name]
        for score, title in SCORES.items():
            before, now = old.results["results"][score], new.results["results"][score]
            if not near(before, now):
                yield f"{new.name}: {title}: kept {before!r}, made {now!r}"
        rows = {row["id"]: row for row in new.rows}
        if rows.keys() != {row["id"] for row in old.rows}:
            yield f"{new.name}: other examples: kept {len(old.rows)}, made {len(new.rows)}"
        for row in old.rows:
            now = rows.get(row["id"], row)
            for field, value in row.items():
                same = (
                    all(near(value[score], now["scores"][score]) for score in SCORES)
                    if field == "scores"
                    else value == now.get(field)
                )
                if not same:
                    yield f"{new.name}: {row['id']}: {field}: kept {value}, made {now.get(field)}"


def near(one: float | None, other: float | None) -> bool:
    """Whether two scores are the same but for a machine's rounding."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=0, abs_tol=NEAR)


def table(records: Sequence[Made], names: Sequence[str] | None = None) -> str:
    """Return the scores of records as a Markdown table.

    Args:
        records: in any order.
        names: those that are shown; by default all.
    """
    order = {name: at for at, name in enumerate(LABELS)}
    shown = sorted(records, key=lambda made: (order.get(made.name, len(order)), made.name))
    rows = [
        f"| {made.results['label']} | "
        + " | ".join(f"{made.results['results'][name]:.1f}" for name in SCORES)
        + " |"
        for made in shown
        if names is None or made.name in names
    ]
    return "\n".join([f"| | {' | '.join(SCORES.values())} |", "|---|---|---|---|---|", *rows])


def main() -> None:
    """Make, compare or keep, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="a QuoteSum file (JSON lines)")
    parser.add_argument("--records", type=Path, default=RESULTS / "quotesum", metavar="DIR")
    parser.add_argument("--write", action="store_true", help="keep what was made")
    parser.add_argument("--smoke", action="store_true", help="the sample, compared with itself")
    options = parser.parse_args()
    shared = Path(os.environ.get("SEMQA_TEST_DATA", ROOT.parent / "shared"))
    data: Path = options.data or shared / "data/quotesum/dev_a.jsonl"
    sample = options.smoke or (options.data is None and not data.exists())
    if sample:
        data = ROOT / "examples" / "quotesum.jsonl"
    grid = RESULTS / "quotesum.yaml"
    made = [finished(each) for each in of_runs(data, grid)]
    if not sample:
        made += [finished(each) for each in of_script(data)]
    print(table(made))
    found: list[str] = []
    compared = True
    if sample:
        with tempfile.TemporaryDirectory() as folder:
            write(made, Path(folder) / "kept")
            found = list(differences(read(Path(folder) / "kept"), made))
    elif options.write:
        write(made, options.records)
        print(f"kept: {len(made)} records in {options.records}")
    else:
        kept = read(options.records)
        digests = {each.results["config"]["data_sha256"] for each in kept.values()}
        compared = digests == {hashlib.sha256(data.read_bytes()).hexdigest()}
        if compared:
            found = list(differences(kept, made))
        else:
            print("not compared: the records are of other data")
    for line in found:
        print(line)
    if compared and not options.write:
        print("differs from the records" if found else "the same as the records, to the example")
    record = {
        "benchmark": "quotesum",
        "runs": len(made),
        "examples": sum(len(each.rows) for each in made),
        "compared": compared,
        "differences": len(found),
        "semqa_scores": {each.name: each.results["results"]["semqa"] for each in made},
    }
    print(json.dumps(record | describe_machine()))
    if found:
        sys.exit(1)


if __name__ == "__main__":
    main()
