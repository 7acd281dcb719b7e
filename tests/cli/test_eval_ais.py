"""`semqa eval ais`: tables, JSON and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from semqa.attribution.ais.ratings import Verdict
from semqa.attribution.ais.released import released_table
from semqa.data.csv_rows import encode_csv
from tests.attribution.ais.makers import ROW, released_csv, said, verdicts, write_ratings
from tests.cli.conftest import Command


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """Three systems: the best, one close to it, and one far below."""
    rows: list[Verdict] = [
        *verdicts("good", not_ais=10, ais=90),
        *verdicts("close", unclear=2, not_ais=15, ais=83),
        *verdicts("bad", flagged=4, unclear=30, not_ais=36, ais=30),
    ]
    path = tmp_path / "ann_toy.csv"
    path.write_bytes(b"".join(encode_csv(released_table(rows))))
    return path


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    answers = {"two-step": ["yyy", "nnn", "uuu", "yyn"], "one-step": ["yyy", "yyy", "yyn", "fff"]}
    lines = [
        rating
        for design, outputs in answers.items()
        for item, letters in enumerate(outputs)
        for rating in said(letters, item=str(item), design=design, task="t", seconds=20.0 + item)
    ]
    path = tmp_path / "ratings.jsonl"
    write_ratings(path, lines)
    return path


def cell(table: str, system: str, column: int) -> str:
    (row,) = [line for line in table.splitlines() if line.split()[:1] == [system]]
    return row.split()[column]


def test_a_table_with_stars(semqa: Command, toy: Path) -> None:
    outcome = semqa("eval", "ais", toy)
    assert (outcome.code, outcome.err) == (0, "")
    # system, n, then rate and interval of Flag, Int, AIS, Int & AIS
    assert [cell(outcome.out, "bad", k) for k in (1, 2, 4, 6)] == ["100", "4.0", "68.8*", "45.5*"]
    assert [cell(outcome.out, "close", k) for k in (4, 6)] == ["98.0", "84.7"]
    assert cell(outcome.out, "good", 7) == "83–94"
    assert "toy: best: Int good, AIS good" in outcome.out
    assert "p < 0.01: pooled z-test of two rates, two-sided" in outcome.out


def test_json_has_every_figure(semqa: Command, toy: Path) -> None:
    record = semqa("eval", "ais", toy, "--json").json
    (task,) = record["tasks"]
    bad = task["systems"][2]
    assert bad["ais"]["percent"] == pytest.approx(100 * 30 / 66)
    assert bad["int"]["interval"] == pytest.approx([58.9, 77.2], abs=0.1)
    stars = {(c["system"], c["measure"]) for c in task["comparisons"] if c["significant"]}
    assert stars == {("bad", "int"), ("bad", "ais"), ("bad", "int_and_ais")}
    for option in ("--baseline", "--without"):
        assert semqa("eval", "ais", toy, option, "gpt").code == 2


def test_another_test_and_a_baseline(semqa: Command, toy: Path) -> None:
    options = ("--test", "mcnemar", "--baseline", "close", "--correction", "holm", "--json")
    record = semqa("eval", "ais", toy, *options).json
    found = {(c["system"], c["measure"]): c for c in record["tasks"][0]["comparisons"]}
    assert {c["other"] for c in found.values()} == {"close"}
    worse = found["bad", "int"]
    assert worse["significant"]
    assert worse["adjusted"] >= worse["p"]


def test_ratings_give_rates_agreement_designs_and_times(semqa: Command, ratings: Path) -> None:
    record = semqa("eval", "ais", "--ratings", ratings, "--by", "design", "--json").json
    tasks = {task["design"]: task for task in record["tasks"]}
    two, one = tasks["two-step"], tasks["one-step"]
    assert (two["systems"][0]["int"]["count"], two["systems"][0]["ais"]["count"]) == (3, 2)
    assert one["systems"][0]["flag"]["percent"] == 25
    assert [each["question"] for each in two["agreement"]] == ["flag", "int", "ais"]
    designs = {each["measure"]: each for each in record["designs"]}
    assert (designs["ais"]["n"], designs["ais"]["only_second"]) == (2, 1)
    assert [(t["design"], t["n"], t["median_seconds"]) for t in record["times"]] == [
        ("two-step", 12, 21.5),
        ("one-step", 12, 21.5),
    ]
    shown = semqa("eval", "ais", "--ratings", ratings, "--by", "design").out
    assert "t, one-step   12     21.5   21.5   1.2         0" in shown


def test_ties_and_a_single_design_are_told(semqa: Command, tmp_path: Path) -> None:
    rows = [*verdicts("one", ais=9, not_ais=1), *verdicts("two", ais=18, not_ais=2)]
    path = tmp_path / "ann_even.csv"
    path.write_bytes(b"".join(encode_csv(released_table([*rows, *verdicts("bad", not_ais=5)]))))
    told = semqa("eval", "ais", path).out
    assert "even: best: Int one (tied with two, bad), AIS one (tied with two)," in told
    assert "designs: not compared" not in told
    write_ratings(tmp_path / "ratings.jsonl", said("yyn", design="two-step", task="t"))
    told = semqa("eval", "ais", "--ratings", tmp_path / "ratings.jsonl", "--by", "design").out
    assert "designs: not compared: no task was rated under two designs" in told


def test_doubles_and_systems_can_be_left_out(semqa: Command, tmp_path: Path) -> None:
    rows: list[dict[str, str]] = [{}, {}, {"model-name": "other", "INT & AIS": "0"}]
    (tmp_path / "a.csv").write_text(released_csv(rows), encoding="utf-8")
    both = semqa("eval", "ais", "a.csv")
    assert "a: 1 row: identical to an earlier row" in both.out
    assert cell(both.out, "m", 1) == "2"
    left = semqa("eval", "ais", "a.csv", "--without", "other", "--drop-doubles")
    assert cell(left.out, "m", 1) == "1"
    assert "other " not in left.out


def test_agreement_from_counts_only_when_asked(semqa: Command, toy: Path, tmp_path: Path) -> None:
    rows = [ROW | {"ex-idx": str(k), "INT & AIS": str(k % 2)} for k in range(9)]
    (tmp_path / "a.csv").write_text(released_csv(rows), encoding="utf-8")
    outcome = semqa("eval", "ais", "a.csv", toy, "--agreement", "--json")
    first, second = (task["agreement"] for task in outcome.json["tasks"])
    assert first[1]["pairwise_agreement"]["value"] == pytest.approx(0.6)
    assert first[0]["krippendorff_alpha"]["unscored"].startswith("all labels are the same")
    # The other file has no counts.
    assert second[0]["krippendorff_alpha"]["unscored"] == "no item has at least two labels"
    assert second[0]["dropped"] == 296
