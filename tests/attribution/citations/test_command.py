"""`semqa eval citations` and `semqa eval disambig`, as a user gives them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.attribution.commands import Command, command_in
from tests.judge_models import save_classifier, save_reader

SONG = {"title": "White Christmas", "text": "White Christmas was sung by Bing Crosby in 1942."}
AUTHOR = {"title": "Irving Berlin", "text": "White Christmas was written by Irving Berlin."}
RUN: dict[str, Any] = {
    "args": {"shot": 2},
    "data": [
        {
            "question": "Who sang White Christmas?",
            "output": "White Christmas was sung by Bing Crosby in 1942 [1]. "
            "It was written by Irving Berlin. [2] It was sung in 1999 [1][2].\nMore [7].",
            "docs": [SONG, AUTHOR],
            "qa_pairs": [
                {"question": "Who sang White Christmas?", "short_answers": ["Bing Crosby"]},
                {"question": "Who wrote it?", "short_answers": ["Berlin", "Irving Berlin"]},
                {"question": "Where?", "short_answers": ["Hollywood"]},
            ],
            "annotations": [
                {"long_answer": "Irving Berlin wrote it."},
                {"long_answer": "White Christmas was sung by Bing Crosby in 1942."},
            ],
        },
        {
            "question": "Why?",
            "output": "Nobody knows.",
            "docs": [{"title": "A", "text": "b", "sent": "c"}],
            "qa_pairs": None,
            "answer": "Nobody knows.",
        },
    ],
}


@pytest.fixture
def semqa(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    (tmp_path / "run.json").write_text(json.dumps(RUN), encoding="utf-8")
    run = command_in(tmp_path, monkeypatch, capsys)
    return lambda *args: run("eval", *args)


def test_a_run_of_alce(semqa: Command) -> None:
    record = semqa("citations", "run.json", "-o", "r.json", "--json").json
    results, (first, second) = record["results"], record["rows"]
    assert [s["citations"] for s in first["sentences"]] == [[1], [2], [1, 2], [7]]
    assert [s["supported"] for s in first["sentences"]] == [True, True, False, False]
    assert (first["recall"], first["precision"]) == (50, 40)
    assert first["str_em"] == pytest.approx(200 / 3)
    assert (second["recall"], second["precision"]) == (0, None)
    assert second["rouge_l"] == pytest.approx(100)
    assert second["unscored"]["precision"] == "the answer has no citations"
    assert (results["recall"]["value"], results["recall"]["n"]) == (25, 2)
    assert (results["precision"]["value"], results["precision"]["n"]) == (40, 1)
    assert results["precision"]["unscored"] == {"the answer has no citations": 1}
    assert (results["sentences"], results["sentences_uncited"]) == (5, 1)
    assert json.loads(Path("r.json").read_text("utf-8")) == record
    table = semqa("citations", "run.json")
    assert "citation recall" in table.out
    assert "judge: lexical" in table.err


def test_quoted_answers(semqa: Command) -> None:
    sources = [
        {"text": "Bing Crosby sang it in 1943."},
        {"text": "It sold well.", "title": "Sales"},
    ]
    answer = {
        "qid": "q",
        "question": "Who?",
        "answer": "[ 1 Bing Crosby sang it ]. [ 2 It sold well ].",
        "sources": sources,
    }
    Path("a.json").write_text(json.dumps(answer), encoding="utf-8")
    record = semqa("citations", "a.json", "--json").json
    (row,) = record["rows"]
    assert (row["id"], row["recall"], row["precision"]) == ("q", 100, 100)
    assert row["output"] == "Bing Crosby sang it [1]. It sold well [2]."
    official = semqa("citations", "a.json", "--official", "--json").json
    assert official["rows"][0]["recall"] == 100


def test_predictions_with_references(semqa: Command) -> None:
    row = {
        "qid": "q",
        "unique_id": "u",
        "question": "Who?",
        "summary": "By [ 1 Bing Crosby ].",
        "source1": "Bing Crosby sang it.",
    }
    Path("refs.jsonl").write_text(json.dumps(row), encoding="utf-8")
    Path("p.jsonl").write_text(
        '{"qid": "q", "prediction": "By [ 1 Bing Crosby ]."}', encoding="utf-8"
    )
    record = semqa("citations", "p.jsonl", "-r", "refs.jsonl", "--json").json
    (scores,) = record["rows"]
    assert scores["sentences"][0]["citations"] == [1]
    assert scores["rouge_l"] == pytest.approx(100)
    assert "semqa score" in semqa("citations", "p.jsonl", "-r", "refs.jsonl").err


def test_disambig(semqa: Command) -> None:
    record = semqa("disambig", "run.json", "-o", "d.json", "--json").json
    first, second = record["rows"]
    assert first["pairs"][0]["found"] == "Bing Crosby"
    assert first["disambig_f1"] == pytest.approx(
        100 * sum(pair["f1"] for pair in first["pairs"]) / 3
    )
    assert second["unscored"]["disambig_f1"] == "the question has no short answers"
    results = record["results"]
    # DR rests on the answers that have both.
    assert results["dr_n"] == 1
    assert results["dr"] == pytest.approx((first["disambig_f1"] * first["rouge_l"]) ** 0.5)
    assert "DR: " in semqa("disambig", "run.json").out


def test_disambig_of_asqa(semqa: Command) -> None:
    pair = {"question": "Who sang it?", "short_answers": ["Bing"], "context": "", "wikipage": None}
    instance = {
        "ambiguous_question": "Who?",
        "qa_pairs": [pair],
        "annotations": [{"long_answer": "Bing."}],
    }
    Path("asqa.json").write_text(
        json.dumps({"dev": {"1": instance}, "train": {}}), encoding="utf-8"
    )
    Path("t5.json").write_text('{"1": "Bing sang it."}', encoding="utf-8")
    Path("t5.jsonl").write_text('{"qid": "1", "prediction": "Bing sang it."}', encoding="utf-8")
    record = semqa("disambig", "asqa.json", "-p", "t5.json", "--json").json
    assert record["results"]["disambig_f1"]["value"] == 100
    assert semqa("disambig", "asqa.json", "-p", "t5.jsonl", "--json").json == record
    wrong = semqa("disambig", "asqa.json", "-p", "t5.json", "--split", "test")
    assert (wrong.code, "split must be dev or train" in wrong.err) == (2, True)
    Path("t5.json").write_text('{"2": "Bing sang it."}', encoding="utf-8")
    assert 'such as "2"' in semqa("disambig", "asqa.json", "-p", "t5.json").err
    Path("t5.json").write_text("{}", encoding="utf-8")
    assert "1 of 1 instances have no answer" in semqa("disambig", "asqa.json", "-p", "t5.json").err


def test_what_is_too_long_for_a_model_ends_no_run(semqa: Command, tmp_path: Path) -> None:
    save_classifier(tmp_path / "nli")
    save_reader(tmp_path / "qa")
    long = {**RUN["data"][0], "output": "word " * 3000 + "[1].", "qa_pairs": [
        {"question": "why " * 3000, "short_answers": ["no"]},
    ]}  # fmt: skip
    Path("long.json").write_text(json.dumps({**RUN, "data": [*RUN["data"], long]}), "utf-8")
    for command, kind, taken_for in (
        ("citations", "nli", "neutral"),
        ("disambig", "qa", "no answer"),
    ):
        spec = f"transformers:{kind}={tmp_path / kind}"
        told = semqa(command, "long.json", "--judge", spec, "--judge-device", "cpu", "-o", "r.json")
        assert told.code == 0
        assert f"1 input was too long for the judge, and counts as {taken_for}" in told.err
        record = json.loads(Path("r.json").read_text("utf-8"))
        assert (record["config"]["too_long"], len(record["rows"])) == (1, 3)
