"""Labels of outputs and their scores: ours, and those of the released code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from semqa.attribution.attrscore.examples import FAMILIES, official_label, parse_label
from semqa.attribution.attrscore.scores import official_scores, score_labels

RELEASED = {
    "attribution-no-definition": "attribution",
    "attribution-with-definition": "attribution-defined",
}


def test_the_released_parser_is_reproduced(shared: Path) -> None:
    golden = json.loads((shared / "golden/attrscore.json").read_text(encoding="utf-8"))["parsing"]
    assert len(golden["cases"]) == 42
    for case in golden["cases"]:
        family = RELEASED.get(case["prompt_type"], case["prompt_type"])
        assert (official_label(case["output"], family) or "None") == case["expected"], case
    for name, words in golden["label_maps"].items():
        assert dict(FAMILIES[RELEASED.get(name, name)].words) == words


@pytest.mark.parametrize(
    ("output", "family", "wrong", "right"),
    [
        ("Not Enough Information", "fact-checking", None, "Extrapolatory"),
        ("Unsupported", "fact-checking", "Attributable", "Extrapolatory"),
        ("Extrapolatory or Contradictory? Contradictory", "nli", None, "Contradictory"),
        ("Non-contradictory", "attribution", "Contradictory", None),
    ],
)
def test_its_defects_are_kept_apart(
    output: str, family: str, wrong: str | None, right: str | None
) -> None:
    assert official_label(output, family) == wrong
    assert parse_label(output) == right


def test_figures_equal_the_golden_ones(shared: Path) -> None:
    golden = json.loads((shared / "golden/attrscore.json").read_text(encoding="utf-8"))
    assert len(golden["metric_cases"]) == 5
    for case in golden["metric_cases"]:
        expected, true = case["expected"], case["true"]
        predicted: list[Any] = [None if each == "None" else each for each in case["pred"]]
        ours = score_labels(true, predicted)
        assert [each["f1"] for each in ours["labels"].values()] == expected["f1_zero_division_0"]
        assert ours["micro_f1"] == expected["accuracy_over_all"]
        assert ours["micro_f1_labels"] == expected["micro_f1_sklearn_over_3_labels"]
        assert (ours["n"], ours["unparsed"]) == (expected["n"], expected["unparsed"])
        theirs = official_scores(list(zip(true, predicted, strict=True)))

        def figure(name: str, theirs: dict[str, Any] = theirs) -> float | str:
            return "NaN" if name in theirs["nan"] else theirs[name]

        assert theirs["confusion"] == expected["confusion_rows_true_cols_pred"]
        for name in ("precision", "recall", "f1"):
            assert [figure(f"{name} {label}") for label in expected["labels"]] == expected[name]
        assert figure("micro_f1") == expected["official_micro_f1"]
        assert figure("macro_f1") == expected["official_macro_f1"]
