"""Reports: their tables are those of the rows, their text is escaped, and they work in a browser."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from typer.testing import CliRunner

from semqa.bench import Plan, run
from semqa.bench.report import BenchReport, load_runs, make_report
from semqa.bench.report.report import to_page
from semqa.bench.report.table import Cell, Table, figure, to_csv, to_latex, to_markdown
from semqa.cli.main import app
from semqa.data.quotesum import read_quotesum
from semqa.errors import InputError
from semqa.metrics import Example, score
from semqa.metrics.bootstrap import paired_bootstrap
from semqa.metrics.scores import quoted_f1
from semqa.metrics.statistics import holm
from semqa.quotes import Verdict

DATA = Path(__file__).resolve().parents[2] / "examples" / "quotesum.jsonl"
HOSTILE = "</script><img src=x onerror=alert(1)>|`*\\ & {$_%} \u202e\x1b[31m"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of embedded engines on the sample."""
    folder = tmp_path_factory.mktemp("runs")
    for engine in ("human", "lead-1", "extractive", "tail-1"):
        run(Plan(DATA, engine), folder / engine)
    return folder


def rows_of(folder: Path) -> dict[str, dict[str, Any]]:
    text = (folder / "examples.jsonl").read_text(encoding="utf-8")
    return {row["qid"]: row for row in map(json.loads, text.splitlines())}


def table(report: BenchReport, key: str) -> Table:
    (found,) = [each for each in report.tables if each.key == key]
    return found


def test_scores_are_those_of_the_rows(runs: Path) -> None:
    report = make_report(load_runs(runs))
    questions = read_quotesum(DATA)
    found = {row[0].text: row for row in table(report, "scores").rows}
    assert list(found) == ["extractive", "human", "lead-1", "tail-1"]
    for engine in ("lead-1", "extractive"):
        predicted = rows_of(runs / engine)
        examples = [
            Example(q.qid, predicted[q.qid]["prediction"], q.texts, q.short_answers, q.numbers)
            for q in questions
        ]
        scored = score(examples)
        assert found[engine][1].value == 3
        for cell, metric in zip(
            found[engine][2:6], ("rougeLsum", "sem_f1", "sem_recall", "semqa"), strict=True
        ):
            estimate = scored.estimates[metric]
            assert cell.value == pytest.approx(estimate.value, abs=1e-9)
            assert estimate.interval is not None
            assert (cell.low, cell.high) == pytest.approx(estimate.interval, abs=1e-9)
        strict = fmean(quoted_f1(each).f1 or 0.0 for each in examples)
        assert found[engine][6].value == pytest.approx(strict, abs=1e-9)


def test_quoting_is_counted(runs: Path) -> None:
    quoting = table(make_report(load_runs(runs)), "quoting")
    found = {row[0].text: dict(zip(quoting.columns, row, strict=True)) for row in quoting.rows}
    rows = rows_of(runs / "extractive").values()
    told = found["extractive"]
    assert told["verified"].value == sum(row["quotes"]["verified"] for row in rows)
    assert told["words per answer"].value == pytest.approx(fmean(row["words"] for row in rows))
    words_of_all = sum(row["words"] for row in rows)
    share = 1 - sum(row["free_words"] for row in rows) / words_of_all
    assert told["words quoted"].value == pytest.approx(100 * share)
    assert (told["fabricated"].text, told["failed"].text) == ("0", "0")
    for verdict in Verdict:
        counted = sum(row["verdict"] == verdict for row in rows)
        assert told[f"answers {verdict}"].value == counted
    assert told["answers quoted"].value == len(rows)


def test_comparisons_are_corrected_over_the_whole_table(runs: Path) -> None:
    loaded = load_runs(runs)
    compared = table(make_report(loaded, baseline="lead-1"), "comparison")
    assert compared.title == "Against lead-1"
    by_name = {each.label: each for each in loaded.runs}
    tests = [
        paired_bootstrap(by_name[name].scores, by_name["lead-1"].scores, metric=metric)
        for name in ("extractive", "human", "tail-1")
        for metric in ("rougeLsum", "sem_f1", "sem_recall", "semqa")
    ]
    corrected = holm([test.p for test in tests])
    shown = [row[at].value for row in compared.rows for at in (2, 4, 6, 8)]
    assert shown == pytest.approx(corrected)
    assert [row[1].value for row in compared.rows] == pytest.approx(
        [tests[at].difference for at in (0, 4, 8)]
    )
    assert min(corrected) < 0.05
    assert not any(row[at].strong for row in compared.rows for at in (2, 4, 6, 8)), "too few"
    with pytest.raises(InputError, match="'extractive'"):
        make_report(loaded, baseline="lead-9")


def test_runs_over_one_question_have_no_intervals_and_are_not_compared(tmp_path: Path) -> None:
    for engine in ("lead-1", "tail-1"):
        run(Plan(DATA, engine, limit=1), tmp_path / engine)
    report = make_report(load_runs(tmp_path))
    assert report.notes == ["no comparison: a single question has no variance"]
    cells = [cell for row in table(report, "scores").rows for cell in row if cell.n]
    assert cells
    assert all(cell.low is None for cell in cells)


def test_runs_over_other_questions_are_not_compared(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "lead-1", tmp_path / "a")
    run(Plan(DATA, "tail-1", limit=2), tmp_path / "b")
    report = make_report(load_runs(tmp_path))
    assert all(each.key != "comparison" for each in report.tables)
    (note,) = report.notes
    assert note.startswith("no comparison: no other run has the same questions as lead-1")
    scores = table(report, "scores")
    assert scores.columns[1] == "data"
    assert [row[1].text for row in scores.rows] == ["quotesum.jsonl", "quotesum.jsonl, first 2"]
    shutil.copytree(runs / "extractive", tmp_path / "c")
    shutil.copytree(runs / "human", tmp_path / "0")
    compared = table(make_report(load_runs(tmp_path)), "comparison")
    assert compared.title == "Against lead-1, all questions", "the first that is no human row"
    assert [row[0].text.partition(",")[0] for row in compared.rows] == ["human", "extractive"]
    assert "tail-1, 2 questions" in compared.notes[-1]


def test_a_trial_on_the_first_questions_gives_way_to_the_whole_run(tmp_path: Path) -> None:
    run(Plan(DATA, "lead-1", name="short", limit=1), tmp_path / "a-trial")
    run(Plan(DATA, "tail-1", limit=1), tmp_path / "b-trial")
    trial = load_runs(tmp_path)
    assert ([each.label for each in trial.runs], trial.notes) == (["short", "tail-1"], [])
    run(Plan(DATA, "lead-1", name="short"), tmp_path / "a")
    mixed = load_runs(tmp_path)
    assert [each.label for each in mixed.runs] == ["short", "tail-1, 1 question"]
    assert "in bold" not in table(make_report(mixed), "scores").notes[0]
    run(Plan(DATA, "tail-1"), tmp_path / "b")
    loaded = load_runs(tmp_path)
    assert [each.label for each in loaded.runs] == ["short", "tail-1"]
    assert loaded.notes == [
        "2 runs: left out because the same run over all questions is here (a-trial; b-trial)"
    ]
    scores = table(make_report(loaded), "scores")
    assert any(cell.strong for row in scores.rows for cell in row)
    assert "in bold" in scores.notes[0]


def test_a_run_without_its_data_is_left_out(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "lead-1", tmp_path / "runs")
    (tmp_path / "runs/about.json").write_text('{"data_path": "/none"}', "utf-8")
    with pytest.raises(InputError, match=r"data file quotesum.jsonl not found"):
        load_runs(tmp_path / "runs")
    assert len(load_runs(tmp_path / "runs", [DATA]).runs) == 1


def test_torn_foreign_and_unfinished_runs(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "lead-1", tmp_path / "a")
    shutil.copytree(runs / "tail-1", tmp_path / "b")
    shutil.copytree(runs / "extractive", tmp_path / "c")
    lines_of_a = (tmp_path / "a/examples.jsonl").read_bytes().splitlines(keepends=True)
    torn = lines_of_a[0] + lines_of_a[1] + lines_of_a[2][:30]
    (tmp_path / "a/examples.jsonl").write_bytes(torn)
    (tmp_path / "b/examples.jsonl").write_bytes(b"[1, 2]\n")
    loaded = load_runs(tmp_path)
    assert [each.label for each in loaded.runs] == ["lead-1", "extractive"]
    assert any("lead-1: not finished: 2 of 3 examples" in note for note in loaded.notes)
    assert any("examples.jsonl:1: must be an object" in note for note in loaded.notes)
    assert (tmp_path / "a/examples.jsonl").read_bytes() == torn, "a report changes nothing"
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="has no readable run"):
        load_runs(tmp_path / "none")


def test_what_a_grid_has_no_run_of_is_told(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "lead-1", tmp_path / "a")
    cells = [
        {"folder": "a", "label": "first", "state": "done"},
        {"folder": "b", "label": "second", "state": "failed", "error": "no such model"},
        {"folder": "c", "label": "third", "state": "failed", "error": "no such model"},
        {"folder": "d", "label": "fourth", "state": "waiting"},
    ]
    (tmp_path / "grid.json").write_text(json.dumps({"cells": cells}), "utf-8")
    page = to_page(make_report(load_runs(tmp_path)))
    assert "<li>fourth: missing" in page
    failed, waiting = load_runs(tmp_path).notes
    assert failed.endswith("no such model (second; third)")
    assert waiting.startswith("fourth: ")


def test_the_command(runs: Path, tmp_path: Path) -> None:
    def call(*args: str | Path) -> Any:
        return CliRunner().invoke(app, ["report", *map(str, args)])

    done = call(runs, "--out", tmp_path, "--baseline", "lead-1", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["tables"]["comparison"]["title"] == "Against lead-1"
    assert {path.name for path in tmp_path.iterdir()} >= {
        "report.html", "report.md", "report.tex", "scores.csv", "comparison.csv",
    }  # fmt: skip
    with pytest.raises(InputError, match="no is not a folder"):
        raise call("no").exception


def odd_table() -> Table:
    return Table(
        "odd",
        f"T {HOSTILE}",
        ("run", f"score {HOSTILE}"),
        [[Cell(HOSTILE), figure(12.345, (10.0, 15.0), 7)], [Cell("=1+1"), Cell("–")]],
        (HOSTILE,),
    )


def test_csv_holds_full_figures_and_no_formula() -> None:
    rows = list(csv.reader(io.StringIO(to_csv(odd_table()))))
    assert rows[1][1:] == ["12.345", "10.0", "15.0", "7"]
    assert rows[2] == ["'=1+1", "", "", "", ""]
    assert not any("\x1b" in name for name in (*rows[0], rows[1][0]))
    assert "<U+202E>" in rows[1][0]


def test_latex_escapes() -> None:
    tex = to_latex([odd_table()])
    body = tex.replace(r"\textbackslash{}", "").replace(r"\$\_\%", "")
    assert r"\& \{" in body
    assert not re.search(r"(?<!\\)[%#](?! needs)", body.partition("\n")[2])
    assert r"12.3 {\scriptsize [10.0 -- 15.0]}" in tex


@pytest.mark.parametrize("name", ["[x]", "*x", "[2pt] *"])
def test_no_name_is_an_option_of_the_line_before(name: str) -> None:
    tex = to_latex([Table("t", "T", ("run",), [[Cell("first")], [Cell(name)]])])
    row = tex.splitlines()[tex.splitlines().index(r"first \\") + 1]
    assert not re.match(r"\s*[\[*]", row)  # \\ and \midrule look beyond the end of their line
    assert row.replace("{", "").replace("}", "") == rf"{name} \\"


def test_markdown_keeps_to_its_cells() -> None:
    text = to_markdown([odd_table()])
    row = next(line for line in text.splitlines() if "12.3" in line)
    assert len(re.findall(r"(?<!\\)\|", row)) == 3
    assert "<img" not in text.replace(r"\<img", "")


def test_examples_come_by_how_far_runs_differ(runs: Path) -> None:
    report = make_report(load_runs(runs), examples=2)
    spreads = [example.spread for example in report.examples]
    assert (len(spreads), report.questions) == (2, 3)
    assert spreads == sorted(spreads, reverse=True)
    first = report.examples[0]
    assert [answer.name for answer in first.answers] == ["extractive", "lead-1", "tail-1"]
    values = [answer.semqa for answer in first.answers if answer.semqa is not None]
    assert first.spread == pytest.approx(max(values) - min(values))
    for source in first.sources:
        question = next(q for q in read_quotesum(DATA) if q.qid == first.qid)
        assert (
            "".join(part.text for part in source.body) == question.sources[source.number - 1].text
        )
    quoted = {sign for source in first.sources for part in source.body for sign in part.by}
    assert {"A", "C", "D"} <= quoted
