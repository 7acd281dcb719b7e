"""The tables of prompts, exemplars and baselines: figures by hand, and by the scorer from the rows."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from semqa import Source
from semqa.attribution.judges import create_judge
from semqa.bench import Plan, run
from semqa.bench.report import BenchReport, load_runs, make_report, write_report
from semqa.bench.report.table import Table
from semqa.data.quotesum import Question, Reference, read_quotesum, write_quotesum
from semqa.metrics import Example, score
from tests.attribution.fake_judge import FakeJudge, find

SCORES = {"ROUGE-L": "rougeLsum", "Sem-F1": "sem_f1", "Sem-Rec": "sem_recall", "SEMQA": "semqa"}


def finder(*words: str) -> FakeJudge:
    """Return a judge that answers with the first of some words that is in the passage."""
    return FakeJudge(
        answer=lambda reading: next(filter(None, (find(w, reading.passage) for w in words)), None)
    )


def question(qid: str, *, sub_questions: str = "") -> Question:
    sources = (Source("It came out in 1942."), Source("It came out in May 1943."))
    reference = Reference(
        f"{qid}_0",
        "In [ 1 1942 ] and in [ 2 May 1943 ] .",
        "[ 1 1942 ] [ 2 May 1943 ]",
        ("1942", "May 1943"),
        sub_questions,
    )
    return Question(qid, "When did it come out?", sources, (reference,))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two questions, of which one has sub-questions."""
    path = tmp_path / "two.jsonl"
    readings = "When in the US? | When in the UK?"
    write_quotesum(path, [question("AMBIG_1", sub_questions=readings), question("PAQ_2")])
    return path


def make(
    data: Path, folder: Path, answers: Sequence[str], judge: Any = None, **identity: Any
) -> None:
    """Leave a run that gave these answers, one a question, with this identity."""
    run(Plan(data, "lead-1"), folder)
    rows = (folder / "examples.jsonl").read_text("utf-8").splitlines()
    written = [
        json.loads(row) | {"prediction": answer} for row, answer in zip(rows, answers, strict=True)
    ]
    text = "".join(json.dumps(row) + "\n" for row in written)
    (folder / "examples.jsonl").write_text(text, "utf-8")
    run(Plan(data, "lead-1"), folder, judge=judge)
    told = json.loads((folder / "run.json").read_text("utf-8"))
    told |= {"engine": "transformers:m", "options": {"constraint": "off"}} | identity
    (folder / "run.json").write_text(json.dumps(told), "utf-8")


def prompts(template: str, shots: int = 2, strategy: str = "random", **more: Any) -> dict[str, Any]:
    chosen = {"strategy": strategy, "pool_sha256": "p"} | more if shots else None
    answers = "citations" if template in ("alce", "qsum-s") else "marks"
    return {
        "template": template,
        "sha256": template * 3,
        "answers": answers,
        "shots": shots,
        "exemplars": chosen,
    }


def table(report: BenchReport, key: str) -> Table:
    (found,) = [each for each in report.tables if each.key == key]
    return found


def cells(report: BenchReport, key: str) -> dict[str, dict[str, Any]]:
    found = table(report, key)
    return {row[0].text: dict(zip(found.columns, row, strict=True)) for row in found.rows}


def scored(data: Path, folder: Path) -> dict[str, float | None]:
    """Score a run by its rows, without the report."""
    rows = map(json.loads, (folder / "examples.jsonl").read_text("utf-8").splitlines())
    told = {row["qid"]: row["prediction"] for row in rows}
    examples = [
        Example(q.qid, told[q.qid], q.texts, q.short_answers, q.numbers)
        for q in read_quotesum(data)
    ]
    return {name: score(examples).value(metric) for name, metric in SCORES.items()}


def test_disambig_and_dr_by_hand(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    judge = finder("1943", "1942")
    make(data, folder, ["In [ 1 1942 ] [1] and [ 2 May 1943 ] [2, 3].", "[ 1 1942 ]"], judge)
    assert [reading.question for reading in judge.asked] == [
        "When in the US?",
        "When in the UK?",
    ]
    assert {reading.passage for reading in judge.asked} == {"In 1942 and May 1943."}
    judged = json.loads((folder / "results.json").read_text("utf-8"))["judged"]
    # The judge says 1943: nothing of "1942", and of "May 1943" all precision, half of the recall.
    assert judged["disambig_f1"]["value"] == pytest.approx(100 * (0 + 2 / 3) / 2)
    assert (judged["disambig_f1"]["n"], judged["disambig_em"]["value"]) == (1, 0)
    assert judged["disambig_f1"]["unscored"] == {"the question has no sub-questions": 1}
    # Its words without citations: in 1942 and may 1943, where people have another "in".
    rouge = 100 * 2 * (5 / 5) * (5 / 6) / (5 / 5 + 5 / 6)
    assert judged["dr"]["value"] == pytest.approx(math.sqrt(rouge * 100 / 3))
    assert judged["dr"]["interval"] is None  # one question
    assert "auto_ais" not in judged
    assert [
        row.get("disambig", {}).get("unscored")
        for row in map(json.loads, (folder / "judged.jsonl").read_text("utf-8").splitlines())
    ] == [None, "the question has no sub-questions"]


def test_prompts_are_compared_as_in_the_paper(data: Path, tmp_path: Path) -> None:
    answers = {
        "qsum": ["In [ 1 1942 ] and in [ 2 May 1943 ] .", "[ 1 1942 ]"],
        "alce": ["In 1942 [1] and in May 1943 [2].", "In 1942 [1]."],
    }
    folder = tmp_path / "runs"
    for template, given in answers.items():
        judge = finder("1942")
        make(data, folder / template, given, judge, prompts=prompts(template))
    make(data, folder / "zero", ["", "[ 1 1942 ]"], prompts=prompts("zero-shot", 0))
    make(data, folder / "other", ["", ""], prompts=prompts("qsum", 3))
    report = make_report(load_runs(folder))
    found = cells(report, "prompts")
    assert set(found) == {"qsum", "alce", "zero-shot"}
    assert [found[name]["shots"].value for name in ("qsum", "alce", "zero-shot")] == [2, 2, 0]
    for name, value in scored(data, folder / "qsum").items():
        assert found["qsum"][name].value == pytest.approx(value, abs=1e-9)
    # Without their citations the words are the reference's, and 2 of its 6.
    rouge = (100 + 100 * 2 * (2 / 6) / (1 + 2 / 6)) / 2
    assert found["alce"]["ROUGE-L"].value == pytest.approx(rouge)
    assert found["alce"]["Sem-F1"].text == found["alce"]["SEMQA"].text == "–"
    assert found["alce"]["ROUGE-L"].strong
    assert not found["qsum"]["ROUGE-L"].strong
    # Of two sub-questions one is answered exactly, and the other not at all.
    for name in answers:
        assert found[name]["Disambig-F1"].value == pytest.approx(50)
        assert found[name]["DR"].value == pytest.approx(math.sqrt(50 * 100))
        assert found[name]["Disambig-F1"].n == 1
    assert found["zero-shot"]["DR"].text == "–"
    notes = " ".join(table(report, "prompts").notes)
    assert "Table 3" in notes
    assert "Judged by fake." in notes
    assert "(1 of 2)" in notes
    for path in write_report(report, tmp_path / "out"):
        if path.suffix in (".html", ".md", ".tex"):
            text = path.read_text("utf-8")
            assert "Disambig-F1" in text
            assert "Table 3" in text
    rows = list(csv.reader((tmp_path / "out/prompts.csv").read_text("utf-8").splitlines()))
    assert {row[0] for row in rows[1:]} == set(found)
    assert float(rows[1][rows[0].index("DR")]) == pytest.approx(math.sqrt(5000))


def test_answers_that_changed_since_are_not_judged(data: Path, tmp_path: Path) -> None:
    for name in ("qsum", "alce"):
        make(data, tmp_path / name, ["1942", "1942"], finder("1942"), prompts=prompts(name))
    path = tmp_path / "qsum" / "examples.jsonl"
    path.write_text(path.read_text("utf-8").replace('"prediction": "1942"', '"prediction": "x"'))
    loaded = load_runs(tmp_path, [data])
    assert any("judge again" in note for note in loaded.notes)
    found = cells(make_report(loaded), "prompts")
    assert found["qsum"]["Disambig-F1"].value is None
    assert found["alce"]["Disambig-F1"].value is not None


def test_exemplars_are_compared_and_seeds_averaged(data: Path, tmp_path: Path) -> None:
    full, half = "In [ 1 1942 ] and in [ 2 May 1943 ] .", "In [ 1 1942 ] ."
    given = [
        ("random", 2, 0, full),
        ("random", 2, 1, half),
        ("knn", 2, 0, full),
        ("random", 5, 0, half),
        ("fixed", 2, 0, half),
    ]
    for strategy, shots, seed, answer in given:
        make(
            data,
            tmp_path / f"{strategy}{shots}{seed}",
            [answer, answer],
            prompts=prompts("qsum", shots, strategy),
            options={"seed": seed},
        )
    make(data, tmp_path / "none", ["", ""], prompts=prompts("zero-shot", 0), options={"seed": 0})
    report = make_report(load_runs(tmp_path))
    found = table(report, "exemplars")
    assert [(row[0].text, row[1].value, row[2].value) for row in found.rows] == [
        ("none", 0, 1),
        ("nearest", 2, 1),
        ("random", 2, 2),
        ("random", 5, 1),
        ("fixed", 2, 1),
    ]
    random = dict(zip(found.columns, found.rows[2], strict=True))
    both = [scored(data, tmp_path / name) for name in ("random20", "random21")]
    for name in SCORES:
        values = [value for each in both if (value := each[name]) is not None]
        assert random[name].value == pytest.approx(fmean(values), abs=1e-9)
        assert random[name].spread == pytest.approx(stdev(values), abs=1e-9)
        assert random[name].low is None
    # Of six words in, 1942, and, in, may, 1943 two: half of the F1 of all and of that.
    assert random["ROUGE-L"].value == pytest.approx((100 + 50) / 2)
    nearest = dict(zip(found.columns, found.rows[1], strict=True))
    assert nearest["SEMQA"].value == pytest.approx(100)
    assert nearest["SEMQA"].strong
    assert nearest["SEMQA"].spread is None
    assert "Table D.1" in found.notes[0]
    for path in write_report(report, tmp_path / "out"):
        if path.suffix in (".html", ".md", ".tex"):
            assert "nearest" in path.read_text("utf-8")
            assert f"SD {random['SEMQA'].spread:.2f}" in path.read_text("utf-8")
    lines = list(csv.DictReader((tmp_path / "out/exemplars.csv").read_text("utf-8").splitlines()))
    assert [line["SEMQA SD"] != "" for line in lines] == [False, False, True, False, False]
    assert float(lines[2]["SEMQA SD"]) == pytest.approx(random["SEMQA"].spread)


def test_runs_of_one_seed_are_no_average(data: Path, tmp_path: Path) -> None:
    """Two versions of a model, say: the same settings, and the same seed."""
    for name in ("a", "b"):
        make(data, tmp_path / name, ["x", "x"], prompts=prompts("qsum"), model=name)
    make(data, tmp_path / "c", ["x", "x"], prompts=prompts("own"))
    make(data, tmp_path / "d", ["x", "x"], prompts=prompts("qsum", 5))
    report = make_report(load_runs(tmp_path))
    assert set(cells(report, "prompts")) == {"qsum (1)", "qsum (2)", "own"}
    found = table(report, "exemplars")
    assert "seeds" not in found.columns
    assert [(row[0].text, row[1].value) for row in found.rows] == [
        ("random", 2), ("random", 2), ("random", 5),
    ]  # fmt: skip


def test_baselines_stand_in_their_order(data: Path, tmp_path: Path) -> None:
    for engine in ("tail-1", "lead-10", "lead-2", "human", "extractive"):
        run(Plan(data, engine), tmp_path / engine)
    report = make_report(load_runs(tmp_path))
    found = cells(report, "baselines")
    assert list(found) == ["lead-2", "lead-10", "tail-1"]
    for engine, row in found.items():
        for name, value in scored(data, tmp_path / engine).items():
            assert row[name].value == pytest.approx(value, abs=1e-9)
    # Of "it came out in 1942 it came out in may 1943" people wrote "in 1942 in may 1943" and "and".
    assert found["lead-2"]["ROUGE-L"].value == pytest.approx(
        100 * 2 * (5 / 11) * (5 / 6) / (5 / 11 + 5 / 6)
    )
    assert "human" in cells(report, "scores")


def test_tables_need_runs_that_differ(data: Path, tmp_path: Path) -> None:
    run(Plan(data, "lead-1"), tmp_path / "lead")
    run(Plan(data, "human"), tmp_path / "human")
    make(data, tmp_path / "a", ["x", "x"], prompts=prompts("qsum"))
    make(data, tmp_path / "b", ["x", "x"], engine="transformers:n", prompts=prompts("alce"))
    keys = {each.key for each in make_report(load_runs(tmp_path)).tables}
    assert not keys & {"prompts", "exemplars", "baselines", "judged"}


def test_what_judges_say_has_a_table(data: Path, tmp_path: Path) -> None:
    make(data, tmp_path / "both", ["[ 1 1942 ]", "The sun is cold."], create_judge("lexical"))
    make(data, tmp_path / "reader", ["In 1942.", ""], finder("1942"), engine="transformers:n")
    make(data, tmp_path / "none", ["x", "x"], engine="transformers:o")
    rows = {row.pop("run").text: row for row in cells_by_run(make_report(load_runs(tmp_path)))}
    assert set(rows) == {"transformers:m", "transformers:n"}
    both, reader = rows["transformers:m"], rows["transformers:n"]
    assert (both["judge"].text, reader["judge"].text) == ("lexical", "fake")
    # One sentence quotes its source, the other quotes nothing.
    assert both["AutoAIS, sentences"].value == 50
    assert both["AutoAIS, sentences"].n == 2
    assert both["citation recall"].value == 50
    assert both["Disambig-F1"].value is not None
    assert reader["AutoAIS, answers"].text == "–"
    assert reader["Disambig-F1"].value == 50
    judged = json.loads((tmp_path / "reader/results.json").read_text("utf-8"))["judged"]
    assert reader["DR"].value == pytest.approx(judged["dr"]["value"])


def cells_by_run(report: BenchReport) -> list[dict[str, Any]]:
    found = table(report, "judged")
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]
