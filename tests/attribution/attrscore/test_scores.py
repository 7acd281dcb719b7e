"""Scores of labels: the paper's, and the released code's."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.attribution.attrscore.labels import LABELS, Label
from semqa.attribution.attrscore.scores import official_scores, score_by_domain, score_labels


def none(labels: list[str]) -> list[Any]:
    return [None if label == "None" else label for label in labels]


def written(values: Any) -> list[Any]:
    return ["NaN" if math.isnan(value) else value for value in values]


def test_figures_equal_the_golden_ones(shared: Path) -> None:
    golden = json.loads((shared / "golden/attrscore.json").read_text(encoding="utf-8"))
    assert len(golden["metric_cases"]) == 5
    for case in golden["metric_cases"]:
        expected, true, predicted = case["expected"], case["true"], none(case["pred"])
        assert list(LABELS) == expected["labels"]
        ours = score_labels(true, predicted)
        assert [each["f1"] for each in ours["labels"].values()] == expected["f1_zero_division_0"]
        assert ours["micro_f1"] == expected["accuracy_over_all"]
        assert ours["micro_f1_labels"] == expected["micro_f1_sklearn_over_3_labels"]
        assert (ours["n"], ours["unparsed"]) == (expected["n"], expected["unparsed"])
        theirs = official_scores(true, predicted)
        assert [list(row) for row in theirs.confusion] == expected["confusion_rows_true_cols_pred"]
        assert written(theirs.precision) == expected["precision"]
        assert written(theirs.recall) == expected["recall"]
        assert written(theirs.f1) == expected["f1"]
        assert written([theirs.micro_f1]) == [expected["official_micro_f1"]]
        assert written([theirs.macro_f1]) == [expected["official_macro_f1"]]


LABELLED = st.lists(
    st.tuples(st.sampled_from(LABELS), st.sampled_from([*LABELS, None])), min_size=1, max_size=40
)


@given(LABELLED)
def test_scores_equal_scikit_learn_s(pairs: list[tuple[Label, Label | None]]) -> None:
    from sklearn.metrics import accuracy_score, precision_recall_fscore_support

    true = [gold for gold, _ in pairs]
    predicted = [guess or "None" for _, guess in pairs]
    precision, recall, f1, _ = precision_recall_fscore_support(
        true, predicted, labels=list(LABELS), zero_division=0
    )
    micro = precision_recall_fscore_support(
        true, predicted, labels=list(LABELS), average="micro", zero_division=0
    )[2]
    ours = score_labels(true, [guess for _, guess in pairs], resamples=0)
    assert ours["micro_f1"] == pytest.approx(accuracy_score(true, predicted))
    assert ours["micro_f1_labels"] == pytest.approx(micro)
    for i, each in enumerate(ours["labels"].values()):
        assert (each["precision"] or 0) == pytest.approx(precision[i])
        assert (each["recall"] or 0) == pytest.approx(recall[i])
        assert (each["f1"] or 0) == pytest.approx(f1[i])
        assert (each["f1"] is None) is (each["n"] == 0 and each["predicted"] == 0)
        assert {"precision", "recall", "f1"} >= set(each["unscored"])
        assert (each["precision"] is None) is ("precision" in each["unscored"])


@given(LABELLED)
def test_nothing_that_is_written_is_nan(pairs: list[tuple[Label, Label | None]]) -> None:
    scores = score_labels([gold for gold, _ in pairs], [guess for _, guess in pairs], resamples=50)
    json.dumps(scores, allow_nan=False)
    for name, (low, high) in scores["intervals"].items():
        assert 0 <= low <= high <= 1, name


def test_intervals_are_those_of_examples_drawn_again() -> None:
    """Drawing cells of the table is drawing examples: the plain bootstrap gives the same bounds."""
    import numpy as np

    true: list[Label] = [LABELS[i % 3] for i in range(60)]
    guesses: list[Label | None] = [LABELS[i * i % 3] if i % 7 else None for i in range(60)]
    right = np.array([gold == guess for gold, guess in zip(true, guesses, strict=True)])
    draws = np.random.default_rng(5).integers(0, 60, size=(20_000, 60))
    low, high = np.quantile(right[draws].mean(axis=1), [0.025, 0.975])
    found = score_labels(true, guesses, resamples=20_000, seed=1)["intervals"]["micro_f1"]
    assert found == pytest.approx((low, high), abs=0.02)
    assert found == score_labels(true, guesses, resamples=20_000, seed=1)["intervals"]["micro_f1"]


def test_domains_are_scored_apart() -> None:
    a, c, e = LABELS
    rows = [
        ("law", a, a),
        ("art", c, a),
        ("law", c, e),
        ("art", a, a),
        ("law", c, c),
        ("art", e, None),
    ]
    found = score_by_domain(rows)
    assert list(found) == ["law", "art"]
    law, art = found["law"], found["art"]
    assert (law["micro_f1"], law["labels"][c]["f1"]) == (2 / 3, 2 / 3)
    assert law["macro_f1"] == (1 + 2 / 3 + 0) / 3
    assert (art["micro_f1"], art["unparsed"], art["labels"][a]["f1"]) == (1 / 3, 1, 2 / 3)
    assert score_by_domain(rows[::2]) == {}
