"""`semqa score`: scores, files and errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import EXAMPLES, Command

REFERENCES = EXAMPLES / "quotesum.jsonl"
METRICS = ("rouge1", "rouge2", "rougeL", "rougeLsum", "sem_f1", "sem_recall", "semqa")


@pytest.fixture
def rows() -> list[dict[str, str]]:
    lines = REFERENCES.read_text(encoding="utf-8").splitlines()
    first = {row["qid"]: row for row in map(json.loads, reversed(lines))}
    return [{"qid": qid, "prediction": row["summary"]} for qid, row in first.items()]


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_reference_scores_100(semqa: Command, tmp_path: Path, rows: list[dict[str, str]]) -> None:
    predictions = write(tmp_path / "p.jsonl", rows)
    record = semqa("score", "--references", REFERENCES, "--predictions", predictions, "--json").json
    assert record["n"] == 3
    assert {metric: record[metric] for metric in METRICS} == pytest.approx(
        dict.fromkeys(METRICS, 100)
    )


def test_per_example_and_table(semqa: Command, tmp_path: Path, rows: list[dict[str, str]]) -> None:
    rows[0]["prediction"] = "Nobody knows."
    predictions = write(tmp_path / "p.jsonl", rows)
    outcome = semqa("score", "-r", REFERENCES, "-p", predictions, "--per-example", "e.jsonl")
    assert outcome.code == 0
    assert "Sem-F1" in outcome.out
    lines = (tmp_path / "e.jsonl").read_text(encoding="utf-8").splitlines()
    examples = {row["qid"]: row for row in map(json.loads, lines)}
    assert examples[rows[0]["qid"]]["semqa"] < 50
    assert examples[rows[1]["qid"]]["semqa"] == pytest.approx(100)


def test_baseline(semqa: Command, tmp_path: Path, rows: list[dict[str, str]]) -> None:
    predictions = write(tmp_path / "p.jsonl", rows)
    worse = write(tmp_path / "w.jsonl", [{**row, "prediction": "Nobody."} for row in rows])
    record = semqa("score", "-r", REFERENCES, "-p", predictions, "--baseline", worse, "--json").json
    tests = {test["metric"]: test for test in record["baseline"]["tests"]}
    assert tests["semqa"]["difference"] > 50
    assert 0 < tests["semqa"]["p"] <= 1
    table = semqa("score", "-r", REFERENCES, "-p", predictions, "--baseline", worse).out
    assert "against the baseline" in table
    assert "fewer than 20 questions" in table


def test_marks_that_are_not_read_are_told(
    semqa: Command, tmp_path: Path, rows: list[dict[str, str]]
) -> None:
    tight = [{**row, "prediction": row["prediction"].replace("[ ", "[")} for row in rows]
    done = semqa("score", "-r", REFERENCES, "-p", write(tmp_path / "p.jsonl", tight), "--json")
    assert f"{len(rows)} of {len(rows)} predictions have marks, but none" in done.err
    plain = [{**row, "prediction": f"{row['prediction']} It came out in [1942]."} for row in rows]
    for number, given in enumerate((rows, plain)):
        good = write(tmp_path / f"{number}.jsonl", given)
        assert not semqa("score", "-r", REFERENCES, "-p", good, "--json").err


def test_missing_predictions_are_counted(
    semqa: Command, tmp_path: Path, rows: list[dict[str, str]]
) -> None:
    some = write(tmp_path / "p.jsonl", rows[1:])
    done = semqa("score", "-r", REFERENCES, "-p", some, "--allow-missing")
    assert done.code == 0
    assert "1 of 3 questions have no prediction and are scored as empty answers" in done.err


def test_official_figures_are_shown(
    semqa: Command, tmp_path: Path, rows: list[dict[str, str]]
) -> None:
    predictions = write(tmp_path / "p.jsonl", rows)
    given = ("score", "-r", REFERENCES, "-p", predictions)
    shown = semqa(*given, "--official").out
    published = semqa(*given, "--official", "--json").json["published"]
    assert f"SEMQA {published['semqa']:.2f}" in shown.split("the authors' notebook prints:")[1]
    assert "notebook" not in semqa(*given).out


def test_mistakes(
    semqa: Command, fails: Callable[..., str], tmp_path: Path, rows: list[dict[str, str]]
) -> None:
    for wrong, said in (
        ([*rows, {"qid": "EXAMPLE_9", "prediction": ""}], 'qid "EXAMPLE_9" is not among'),
        ([*rows, rows[0]], "already has a prediction"),
        ([{"qid": rows[0]["qid"]}], "p.jsonl:1: prediction is missing"),
        (rows[1:], "1 of 3 questions have no prediction"),
    ):
        given = ("-r", REFERENCES, "-p", write(tmp_path / "p.jsonl", wrong))
        assert said in fails("score", *given)
    assert semqa("score", *given, "--allow-missing", "--json").json["n"] == 3
