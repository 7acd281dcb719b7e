"""The paper's tables from the released files, cell by cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from semqa.attribution.ais.rates import (
    Measure,
    agreement_of_counts,
    compare_paired,
    compare_systems,
    system_rates,
)
from semqa.attribution.ais.released import ReleasedFile, read_released

TASKS = ("qrecc", "wow")

NOT_EXACT = {
    ("qrecc", "t5-base-pretrained", "int"),
    ("qrecc", "t5-small-no-evidence", "int"),
    ("qrecc", "t5-base-no-evidence", "int"),
    ("wow", "wow-dodeca", "flag"),
    ("wow", "wow-t5", "flag"),
}
"""Cells of tables 3 and 4 that the released rows, of which some are missing, do not give."""


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((shared / "golden/ais.json").read_text("utf-8"))
    return content["tables"]  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def released(shared: Path) -> dict[str, ReleasedFile]:
    return {task: read_released(shared / f"data/ais/ann_{task}.csv") for task in TASKS}


def printed(rates: dict[str, Any], measure: Measure) -> str:
    return f"{rates[measure]['percent']:.1f}"


@pytest.mark.parametrize("task", TASKS)
def test_rates(task: str, golden: dict[str, Any], released: dict[str, ReleasedFile]) -> None:
    expected = golden[task]["rows"]
    found = {each["system"]: each for each in system_rates(released[task].verdicts)}
    assert found.keys() == expected.keys()
    for system, row in expected.items():
        rates = found[system]
        assert rates["n"] == row["n"]
        assert rates["flag"]["count"] == row["flagged"]
        assert rates["int"]["count"] == rates["ais"]["n"] == row["n_int"]
        assert rates["ais"]["count"] == row["n_int_and_ais"]
        for measure in ("flag", "int", "ais", "int_and_ais"):
            assert rates[measure]["percent"] == pytest.approx(row[f"{measure}_pct"], abs=1e-9)


@pytest.mark.parametrize("task", TASKS)
def test_printed_cells_with_their_stars(
    task: str, golden: dict[str, Any], released: dict[str, ReleasedFile]
) -> None:
    verdicts = released[task].verdicts
    stars = {
        (each["system"], each["measure"])
        for measure in ("int", "ais")
        for each in compare_systems(verdicts, measure)
        if each["significant"]
    }
    rates = {each["system"]: each for each in system_rates(verdicts)}
    differing = set()
    for system, row in golden[task]["rows"].items():
        for measure, cell in row["paper"].items():
            if cell is None:  # not printed
                continue
            assert ((system, measure) in stars) is cell.endswith("*")
            if printed(rates[system], measure) != cell.rstrip("*"):
                differing.add((task, system, measure))
    assert differing == {cell for cell in NOT_EXACT if cell[0] == task}


@pytest.mark.parametrize("task", TASKS)
def test_significance(task: str, golden: dict[str, Any], released: dict[str, ReleasedFile]) -> None:
    expected = golden[task]["significance"]
    seen = 0
    for measure in ("int", "ais"):
        for found in compare_systems(released[task].verdicts, measure):
            row = expected[f"{measure}:{found['system']}"]
            seen += 1
            assert found["other"] == row["best"]
            assert found["significant"] is row["paper_star"]
            if row["ztest_two_sided"] is None:
                assert found["unscored"]
            else:
                assert found["p"] == pytest.approx(row["ztest_two_sided"], rel=1e-6)
    assert seen == len(expected)


@pytest.mark.parametrize("task", TASKS)
def test_mcnemar_on_shared_examples(
    task: str, golden: dict[str, Any], released: dict[str, ReleasedFile]
) -> None:
    verdicts = released[task].verdicts
    for name, row in golden[task]["significance"].items():
        measure, system = name.split(":")
        pairs, expected = (
            compare_paired(verdicts, system, row["best"], measure),
            row["mcnemar_exact"],
        )
        assert pairs.n == expected["shared_examples"]
        assert pairs.only_first == expected["only_this_positive"]
        assert pairs.only_second == expected["only_best_positive"]
        assert pairs.p == pytest.approx(expected["p_two_sided"], rel=1e-9)


def test_mcnemar_is_refused_where_systems_had_other_examples(
    released: dict[str, ReleasedFile],
) -> None:
    for found in compare_systems(released["wow"].verdicts, "ais", test="mcnemar"):
        assert found["p"] is None
        assert found["unscored"].startswith("rated on different examples: only ")
    assert all(
        found["p"] is not None
        for found in compare_systems(released["qrecc"].verdicts, "int", test="mcnemar")
    )


@pytest.mark.parametrize("task", TASKS)
def test_agreement_derived_from_counts(
    task: str, golden: dict[str, Any], released: dict[str, ReleasedFile]
) -> None:
    expected = golden[task]["agreement_from_counts"]["all_models"]
    for found, name in zip(
        agreement_of_counts(released[task].verdicts), ("INT", "AIS_given_INT"), strict=True
    ):
        row = expected[name]
        assert (found["items"], found["dropped"]) == (row["items"], row["dropped"])
        figures = {
            "pairwise_agreement": "pairwise_agreement",
            "krippendorff_alpha": "krippendorff_alpha_nominal",
            "f1_yes": "f1_pos",
            "f1_no": "f1_neg",
            "f1_macro": "f1_macro",
            "accuracy": "accuracy_vs_majority",
            "unanimous": "unanimous",
        }
        for ours, theirs in figures.items():
            assert found[ours]["value"] == pytest.approx(row[theirs], abs=1e-9), ours
