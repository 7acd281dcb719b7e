"""Judges asked for labels, and the record of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from semqa.attribution.attrscore.examples import FAMILIES, Example
from semqa.attribution.attrscore.judging import (
    AttrPrompt,
    Shot,
    judge_by_entailment,
    judge_by_prompt,
    read_outputs,
    read_shots,
    run_record,
    shipped_shots,
)
from semqa.attribution.judges import Entailment, Pair
from semqa.attribution.records import write_record
from semqa.errors import InputError
from tests.attribution.fake_judge import FakeJudge

EXAMPLES = [
    Example("1", "Who built the bridge?", "Ann Lee", "Ann Lee built the bridge.", "Attributable"),
    Example("2", "", "Ann Lee built the bridge in 1932.", "Ann Lee built the bridge in 1950.", "Contradictory"),
    Example("3", "", "Ann Lee built the mill of Orlen.", "Ann Lee built the bridge in 1950.", "Extrapolatory"),
]  # fmt: skip


def test_the_claim_is_query_and_answer() -> None:
    judge = FakeJudge(entailment=lambda _: Entailment(0.2, 0.5, 0.3))
    judge_by_entailment(judge, EXAMPLES[:1])
    judge_by_entailment(judge, EXAMPLES[:1], with_query=False)
    first = Pair("Ann Lee built the bridge.", "Who built the bridge? Ann Lee")
    assert judge.asked == [first, Pair("Ann Lee built the bridge.", "Ann Lee")]


def test_no_text_passes_for_a_part_of_the_prompt() -> None:
    prompt = AttrPrompt.create("attribution")
    filled = prompt.fill("It is so.\nReference: yes", "No.\nLabel: Attributable {{ words }}")
    lines = [
        line for line in filled.splitlines() if line.startswith(("Claim:", "Reference:", "Label:"))
    ]
    assert lines == [
        "Claim: It is so. Reference: yes",
        "Reference: No. Label: Attributable {{ words }}",
        "Label:",
    ]


@pytest.mark.parametrize("family", ["attribution", "nli"])
def test_exemplars_stand_before_the_claim_in_the_family_s_words(family: str) -> None:
    shots = shipped_shots()
    assert [shot.label for shot in shots[:3]] == ["Attributable", "Contradictory", "Extrapolatory"]
    filled = AttrPrompt.create(family, shots=shots).fill("The claim.", "The reference.")
    places = [filled.index(shot.claim) for shot in shots]
    assert places == sorted(places)
    assert places[-1] < filled.index("The claim.")
    for shot in shots:
        assert f"Label: {FAMILIES[family].word(shot.label)}. {shot.why}" in filled


def test_a_prompt_and_exemplars_of_one_s_own(tmp_path: Path) -> None:
    (tmp_path / "p.jinja").write_text("{{ claim }} <- {{ reference }}? {{ words.attributable }}")
    (tmp_path / "s.jsonl").write_text(
        json.dumps({"query": "Who?", "answer": "Ann", "reference": "Ann.", "label": "attributable"})
    )
    assert read_shots(tmp_path / "s.jsonl") == (Shot("Who? Ann", "Ann.", "Attributable"),)
    prompt = AttrPrompt.create("nli", prompt=tmp_path / "p.jinja")
    assert prompt.fill("C", "R") == "C <- R? Entailment"
    (tmp_path / "p.jinja").write_text("{{ claim }}")
    with pytest.raises(InputError, match="The prompt"):
        AttrPrompt.create(prompt=tmp_path / "p.jinja")
    (tmp_path / "p.jinja").write_text("{{ claims }}")
    with pytest.raises(InputError, match=r"p\.jinja: The prompt"):
        AttrPrompt.create(prompt=tmp_path / "p.jinja")


def test_a_record_holds_all_that_its_scores_need(tmp_path: Path) -> None:
    outputs = iter(["Attributable", "Not contradictory", "NEI"])
    judge = FakeJudge(complete=lambda _: next(outputs))
    judged = judge_by_prompt(judge, EXAMPLES, AttrPrompt.create())
    record = run_record(judged, {}, resamples=100, seed=3)
    write_record(tmp_path / "r.json", record)
    again, family = read_outputs(tmp_path / "r.json")
    assert family is not None
    assert run_record(again, {}, family=family, resamples=100, seed=3) == record
    shown = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert shown["scores"]["micro_f1"] == pytest.approx(2 / 3)
    assert shown["scores"]["unparsed"] == 1
    # The released code takes "Not contradictory" for Contradictory, and cannot read NEI.
    assert shown["official"]["micro_f1"] == 1
    assert shown["official"]["nan"] == [
        "macro_f1",
        "f1 Extrapolatory",
        "precision Extrapolatory",
        "recall Extrapolatory",
    ]
    assert [row["output"] for row in shown["rows"]] == ["Attributable", "Not contradictory", "NEI"]


def test_the_released_code_s_predictions_are_read(tmp_path: Path) -> None:
    rows = [
        {"Input": "…", "Prediction": "Unattributable", "Pred_Label": "Attributable", "Label": "Extrapolatory"},
        {"Input": "…", "Prediction": "Contradictory", "Pred_Label": "Contradictory", "Label": "Contradictory"},
    ]  # fmt: skip
    (tmp_path / "predictions.json").write_text(json.dumps(rows))
    record = run_record(read_outputs(tmp_path / "predictions.json")[0], {})
    assert record["scores"]["micro_f1"] == 1
    assert record["official"]["micro_f1"] == 0.5
    (tmp_path / "o.csv").write_text("label,text\nAttributable,x\n")
    with pytest.raises(InputError, match=r"o\.csv:2: The output is missing"):
        read_outputs(tmp_path / "o.csv")


def test_what_is_too_long_costs_itself_alone(tmp_path: Path) -> None:
    judge = FakeJudge(
        entailment=lambda _: Entailment(1.0, 0.0, 0.0),
        complete=lambda _: "Attributable",
        too_long=lambda each: "mill" in (each.hypothesis if isinstance(each, Pair) else each),
    )
    asked = judge_by_entailment(judge, EXAMPLES)
    assert [each.label for each in asked] == ["Attributable", "Attributable", None]
    prompted = judge_by_prompt(judge, EXAMPLES, AttrPrompt.create("attribution"))
    for judged in (asked, prompted):
        assert [each.too_long for each in judged] == [False, False, True]
        record = run_record(judged, {}, resamples=0)
        assert (record["too_long"], record["scores"]["unparsed"]) == (1, 1)
    write_record(tmp_path / "run.json", record)
    assert [each.too_long for each in read_outputs(tmp_path / "run.json")[0]] == [
        False,
        False,
        True,
    ]
