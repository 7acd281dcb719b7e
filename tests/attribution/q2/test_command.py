"""`semqa eval q2` and `semqa eval q2 meta`, as a user gives them."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from tests.attribution.commands import Command, command_in

CONSISTENT = (
    "response,knowledge\nAnn built the bridge in 1932 .,Ann built the old bridge in 1932.\n"
)
CONTEXTS = (
    "knowledge,a_response,b_response,a_label,b_label,a_mine,b_mine\n"
    "Ann built the bridge in 1932.,ann built it .,bob painted 3 doors .,0,1,.9,.1\n"
    "Rome is old.,rome is new .,rome is old .,1,0,.2,.8\n"
    "Tea is hot.,tea is hot .,tea is hot .,0,0,.5,.5\n"
)


FEW = ("--iterations", "20", "--json")


@pytest.fixture
def semqa(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    run = command_in(tmp_path, monkeypatch, capsys)
    (tmp_path / "consistent.csv").write_text(CONSISTENT, encoding="utf-8")
    (tmp_path / "contexts.csv").write_text(CONTEXTS, encoding="utf-8")
    return partial(run, "eval", "q2")


def test_a_file_is_scored(semqa: Command) -> None:
    first = semqa("consistent.csv", "--json", "-o", "record.json", "--baseline", "overlap")
    assert first.code == 0, first.err
    found = first.json
    assert found["scores"]["q2"]["value"] == 1.0
    assert (found["n"], found["judge"]["name"], found["spans"]) == (1, "lexical", "rules")
    assert found["files"][0]["kind"] == "responses"
    assert "rows" not in found
    assert semqa("run", "consistent.csv", "--json", "--baseline", "overlap").json == found

    record = json.loads(Path("record.json").read_text("utf-8"))
    (row,) = record["rows"]
    assert row["inconsistent"] is False
    assert {q["span"] for q in row["questions"] if q["rejected"] is None} >= {"1932"}
    assert {k: v for k, v in record.items() if k != "rows"} == found


def test_measures_are_correlated_with_ratings(semqa: Command) -> None:
    rows = (("red green blue", 1), ("red", 2 / 3), ("grey", 0))
    lines = [
        {"response": text, "knowledge": "red green blue", "rating": rating} for text, rating in rows
    ]
    Path("rated.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rated = ("meta", "rated.jsonl", "--baseline", "words")
    (found,) = semqa(*rated, "--json").json["ratings"].values()  # F1 of words: 1, 0.5, 0
    # By hand: sums of squares 1/2 and 14/27, of products 1/2.
    assert found == {"n": 3, "pearson": pytest.approx(0.5 / (0.5 * 14 / 27) ** 0.5), "spearman": 1}
    assert "human ratings" in semqa(*rated).out
    record = semqa("rated.jsonl", "--baseline", "words", "-o", "record.json")
    assert record.code == 0, record.err
    again = semqa("meta", "record.json", "--json").json["ratings"]
    assert again["words"] == found
    assert "q2" in again


def test_meta_of_files_and_of_records(semqa: Command) -> None:
    files = semqa("meta", "contexts.csv", "consistent.csv", *FEW, "-o", "meta.json")
    assert files.code == 0, files.err
    found = files.json
    assert set(found["responses"]["response_level"]) == {"overlap", "bleu"}
    assert found["contexts"]["annotation"]["exactly_one"] == 2
    assert found["contexts"]["system_level"]["overlap"]["contexts"] == 2
    curves = json.loads(Path("meta.json").read_text("utf-8"))["contexts"]["response_level"]
    assert curves["overlap"]["curves"]["consistent"]["recall"][-1] == 0.0

    semqa("contexts.csv", "-o", "record.json", "--baseline", "overlap")
    record = semqa("meta", "record.json", *FEW).json
    assert set(record["contexts"]["response_level"]) == {"q2", "q2_no_nli", "overlap"}
    for level in ("response_level", "system_level"):
        assert record["contexts"][level]["overlap"] == found["contexts"][level]["overlap"]


def test_meta_of_a_measure_of_ones_own(semqa: Command) -> None:
    options = ("--measure", "mine", "--threshold", "mine=.5", "--iterations", "20", "--json")
    found = semqa("meta", "contexts.csv", *options).json["contexts"]
    assert set(found["response_level"]) == {"mine"}
    assert found["response_level"]["mine"]["confusion"] == {
        "inconsistent_as_inconsistent": 2,
        "inconsistent_as_consistent": 0,
        "consistent_as_inconsistent": 2,
        "consistent_as_consistent": 2,
    }
    assert found["system_level"]["mine"]["spearman"] > 0.8
    both = ("--measure", "mine", "--threshold", ".1", "--threshold", ".8", "--json")
    level = semqa("meta", "contexts.csv", *both).json["contexts"]["response_level"]["mine"]
    assert [at["threshold"] for at in level["thresholds"]] == [0.1, 0.8]
    assert level["thresholds"][1]["confusion"]["consistent_as_inconsistent"] == 3
    assert found["simulation"]["iterations"] == 20
    shown = semqa("meta", "contexts.csv", *options[:-1]).out
    assert "3 contexts; inconsistent: 1 of a, 1 of b" in shown
    row = next(line.split() for line in shown.splitlines() if line.split()[:1] == ["mine"])
    assert row[1:4] == ["6", "0.5", "0.667"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["consistent.csv", "--baseline", "rouge"], "--baseline"),
        (["consistent.csv", "--spans", "x"], "--spans"),
        (["missing.csv", "--judge", "x"], "missing.csv: cannot be read"),
        (["consistent.csv", "-o", "consistent.csv"], "would overwrite an input"),
        (["meta"], "Name records"),
        (["meta", "consistent.csv", "--threshold", "q=1"], "--threshold"),
        (["meta", "contexts.csv", "--measure", "x"], "contexts.csv:2: a_x is missing"),
    ],
)  # fmt: skip
def test_mistakes_end_in_one_line(semqa: Command, arguments: list[str], message: str) -> None:
    done = semqa(*arguments)
    assert done.code == 2
    assert message in done.err
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1


def test_steps_of_the_released_code_are_finished(semqa: Command) -> None:
    Path("x.steps.csv").write_text(
        "id,response,cand,question,knowledge,knowledge_ans,score\n"
        "4,built in 1932,1932,When was it built?,in 1933,1933,0\n"
        "9,hello,NO_Q,NO_Q,hello,NO_Q,-1\n",
        encoding="utf-8",
    )
    found = semqa("x.steps.csv", "--json", "-o", "record.json").json
    assert found["files"][0]["kind"] == "steps"
    rows = json.loads(Path("record.json").read_text("utf-8"))["rows"]
    assert [row["id"] for row in rows] == ["4", "9"]
    assert rows[0]["q2"] == 0.0
    assert rows[1]["fallback"] is not None
