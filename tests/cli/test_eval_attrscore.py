"""`semqa eval attrscore`: runs, scores of outputs, and converted data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.engines.openai.server import Answer, serving


def test_a_run_is_cached_recorded_and_scored_again(semqa: Command, tmp_path: Path) -> None:
    lines = "".join(
        f"q{i},a{i},r{i},{('Attributable', 'Extrapolatory')[i % 2]}\n" for i in range(24)
    )
    (tmp_path / "s.csv").write_text("query,answer,reference,label\n" + lines)
    run = ("eval", "attrscore", "run", "s.csv", "--judge-cache", "cache", "--out", "r.json")
    with serving(lambda _: Answer("Neutral")) as server:
        model = ("--judge", "engine:openai:m", "--judge-url", server.url)
        asked = (*run, *model, "--family", "nli", "--shots", "2")
        shown = semqa(*asked, "--json").json
    assert shown["scores"]["n"] == 24
    assert shown["scores"]["unparsed"] == 0
    assert (shown["way"], shown["prompt"]["shots"]) == ("prompt", 2)
    record = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert {row["output"] for row in record["rows"]} == {"Neutral"}
    assert "0 of 24 claims were sent to the judge" in semqa(*asked).err
    scored = semqa("eval", "attrscore", "score", "r.json", "--official", "--json").json
    assert scored["scores"] == shown["scores"]
    assert scored["official"]["unparsed"] == 0


def test_f1_by_domain(semqa: Command, tmp_path: Path) -> None:
    rows = [
        {"domain": "law", "label": "Attributable", "output": "Attributable"},
        {"domain": "art", "label": "Contradictory", "output": "Attributable"},
    ]
    (tmp_path / "o.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    score = ("eval", "attrscore", "score", "o.jsonl")
    found = semqa(*score, "--json").json["scores"]["domains"]
    assert {name: own["micro_f1"] for name, own in found.items()} == {"law": 1.0, "art": 0.0}
    table = [line.split() for line in semqa(*score).out.splitlines()]
    assert ["law", "1", "100.0", "unscored", "unscored", "100.0", "100.0"] in table


def test_the_mean_over_the_papers_four_prompts(semqa: Command, tmp_path: Path) -> None:
    rows = [
        {"answer": "It is red.", "reference": "It is red.", "label": "Attributable"},
        {"answer": "It is blue.", "reference": "It rained.", "label": "Extrapolatory"},
    ]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = ("eval", "attrscore", "run", "d.jsonl", "--family", "all")
    with serving(lambda _: Answer("Yes")) as server:
        asked = (*run, "--judge", "engine:openai:m", "--judge-url", server.url)
        found = semqa(*asked, "--out", "r.json", "--json").json
    values = [each["micro_f1"] for each in found["families"].values()]
    assert found["mean"]["micro_f1"] == pytest.approx(sum(values) / 4)
    assert (tmp_path / "r.nli.json").exists()
    assert "mean" in semqa(*asked).out


def test_outputs_from_elsewhere_are_scored(semqa: Command) -> None:
    rows = [
        {"label": "Extrapolatory", "output": "Not Enough Information"},
        {"label": "Attributable", "output": "Supported"},
        {"label": "Attributable", "output": "Unsupported"},
    ]
    stdin = "".join(json.dumps(row) + "\n" for row in rows).encode()
    command = ("eval", "attrscore", "score", "-", "--family", "fact-checking", "--official")
    shown = semqa(*command, "--json", stdin=stdin).json
    assert shown["scores"]["micro_f1"] == pytest.approx(2 / 3)
    assert shown["scores"]["labels"]["Contradictory"]["f1"] is None
    assert shown["official"]["micro_f1"] == 1.0
    assert shown["official"]["f1 Extrapolatory"] is None
    assert "the released code leaves out 1 outputs" in semqa(*command, stdin=stdin).out


def test_related_data_are_mapped(semqa: Command, tmp_path: Path) -> None:
    rows = [
        {"premise": f"p{i}", "hypothesis": f"h{i}", "label": (0, 1, 2, -1)[i % 4]}
        for i in range(12)
    ]
    (tmp_path / "nli.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    mapped = ("eval", "attrscore", "map", "nli.jsonl", "--as", "nli", "--out", "m.jsonl")
    told = semqa(*mapped)
    assert "9 examples: 3 Attributable, 3 Contradictory, 3 Extrapolatory" in told.out
    assert "skipped: 3 (no agreed label)" in told.out
    judged = semqa("eval", "attrscore", "run", "m.jsonl", "--no-judge-cache", "--json").json
    assert judged["scores"]["n"] == 9
