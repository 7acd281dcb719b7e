"""Figures of the released annotations, to the golden values."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semqa.attribution.tofueval.data import (
    EXTRA_MODEL,
    AnnotatedSentence,
    by_summary,
    count_duplicates,
    read_annotations,
    read_categories,
    read_key_points,
)
from semqa.attribution.tofueval.meta import (
    ALL,
    Evaluator,
    Prediction,
    Run,
    compare,
    error_rates,
    evaluate,
    self_agreement,
)
from tests.attribution.tofueval.test_meta import cells_of

Predict = Callable[[AnnotatedSentence], bool]


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "data/tofueval"


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((shared / "golden/tofueval.json").read_text("utf-8"))
    return content


@pytest.fixture(scope="module")
def sentences(folder: Path) -> list[AnnotatedSentence]:
    return read_annotations(sorted(folder.glob("*_factual_eval_*.csv")))


@pytest.fixture(scope="module")
def categories(folder: Path) -> dict[str, dict[str, str]]:
    return read_categories(sorted(folder.glob("*_topic_category.json")))


@pytest.fixture(scope="module")
def five(sentences: list[AnnotatedSentence]) -> list[AnnotatedSentence]:
    return [s for s in sentences if s.key.model != EXTRA_MODEL]


def chosen(sentences: list[AnnotatedSentence], group: str) -> list[AnnotatedSentence]:
    return [s for s in sentences if group.startswith("six") or s.key.model != EXTRA_MODEL]


def test_error_rates(
    five: list[AnnotatedSentence], categories: dict[str, dict[str, str]], golden: dict[str, Any]
) -> None:
    rates = {rate[:5]: rate for rate in error_rates(five, categories)}
    compared = 0
    expected = golden["error_rates"]["five_models"]
    for tables, axis in (("pooled", "split"), ("per_anonymous_model", "model")):
        for name, levels in expected[tables].items():
            dataset, category, *rest = name.split("/")
            split, model = ALL, ALL
            if rest:
                split, model = (rest[0], ALL) if axis == "split" else (ALL, rest[0])
            for level, cell in levels.items():
                rate = rates[dataset, category, split, model, level]
                assert (rate.errors, rate.n) == (cell["errors"], cell["n"]), name
                assert rate.percent == pytest.approx(cell["pct"], abs=1e-9)
                compared += 1
    assert compared >= 48


def test_marginal_averages_are_the_rates_of_marginal_topics(
    five: list[AnnotatedSentence], categories: dict[str, dict[str, str]], golden: dict[str, Any]
) -> None:
    rates = {rate[:5]: rate.percent for rate in error_rates(five, categories)}
    table = golden["table2_average_row"]["cells"]
    assert len(table) >= 4
    for name, cell in table.items():
        level, dataset, category = name.split("/")
        own = rates[dataset, category, ALL, ALL, level]
        pooled = rates[dataset, ALL, ALL, ALL, level]
        assert own == pytest.approx(cell["computed"], abs=1e-9)
        if category == "main":
            assert round(own, 1) == cell["paper"]
        else:  # what the paper prints is half this, half the rate of all topics
            halves = round(own, 1) + round(pooled, 1)
            assert abs(halves / 2 - cell["paper"]) <= 0.051
            assert round(own, 1) != cell["paper"]


def test_counts(
    sentences: list[AnnotatedSentence],
    five: list[AnnotatedSentence],
    folder: Path,
    categories: dict[str, dict[str, str]],
    golden: dict[str, Any],
) -> None:
    sizes = golden["counts"]["split_sizes"]
    for name, cell in sizes.items():
        group, dataset, split = name.split("/")
        rows = [s for s in chosen(sentences, group) if (s.key.dataset, s.split) == (dataset, split)]
        assert (len(rows), len(by_summary(rows))) == (cell["sentences"], cell["summaries"])
    media = [s for s in sentences if s.key.dataset == "mediasum"]
    for split, datasets in golden["counts"]["split_docs"].items():
        assert len({s.key.doc_id for s in media if s.split == split}) == datasets["mediasum"]
    table = golden["table5"]["mediasum"]
    assert len({s.key.doc_id for s in media}) == table["docs"]
    assert len(categories["mediasum"]) == table["topics"]
    assert list(categories["mediasum"].values()).count("main") == table["main"]
    assert count_duplicates(media) == 0


def noisy(run: int) -> Predict:
    def predict(s: AnnotatedSentence) -> bool:
        key = f"{run}|{s.key.doc_id}|{s.key.topic}|{s.key.model}|{s.index}|{s.text}"
        return digit(s) != (int(hashlib.sha256(key.encode()).hexdigest(), 16) % 5 == 0)

    return predict


def digit(s: AnnotatedSentence) -> bool:
    return re.search("[0-9]", s.text) is not None


def long(s: AnnotatedSentence) -> bool:
    return len(s.text.split()) >= 25


EVALUATORS: dict[str, Predict] = {
    "all_consistent": lambda _: False,
    "all_inconsistent": lambda _: True,
    "oracle": lambda s: s.inconsistent,
    "digit": digit,
    "len25": long,
    "noisy0": noisy(0),
    "noisy1": noisy(1),
    "noisy2": noisy(2),
}


def run_of(sentences: list[AnnotatedSentence], predict: Predict) -> Run:
    return {(s.key, s.index): Prediction(predict(s)) for s in sentences}


def check_cell(found: dict[str, Any], expected: dict[str, float]) -> None:
    for name in ("tp", "fn", "fp", "tn"):
        assert found[name] == expected[name]
    for name, theirs in (("fpr", "fpr"), ("fnr", "fnr"), ("balanced_accuracy", "bacc")):
        assert found[name] == pytest.approx(expected[theirs], abs=1e-9)


def test_evaluators(
    five: list[AnnotatedSentence], categories: dict[str, dict[str, str]], golden: dict[str, Any]
) -> None:
    rows = [s for s in five if s.split == "test"]
    expected = golden["meta_evaluation"]["five_models_test"]
    runs = {name: run_of(rows, predict) for name, predict in EVALUATORS.items()}
    found = {name: cells_of(evaluate(rows, run, categories)) for name, run in runs.items()}
    compared = 0
    for name, levels in expected["cells"].items():
        evaluator, dataset, category = name.split("/")
        for level, cell in levels.items():
            check_cell(found[evaluator][dataset, category, level], cell)
            compared += 1
    assert compared >= 8 * 3 * 2


def test_kappa(five: list[AnnotatedSentence], golden: dict[str, Any]) -> None:
    rows = [s for s in five if (s.key.dataset, s.split) == ("mediasum", "test")]
    expected = golden["meta_evaluation"]["five_models_test"]["kappa"]["mediasum"]
    runs = {str(r): run_of(rows, noisy(r)) for r in range(3)}
    pairs, mean = self_agreement(rows, Evaluator("noisy", runs))
    for a, b in ("01", "02", "12"):
        assert pairs[a, b].value == pytest.approx(expected[f"pair{a}{b}"], abs=1e-12)
    assert mean.value == pytest.approx(expected["mean"], abs=1e-12)
    for name, predicts in (
        ("digit_self", (digit, digit)),
        ("digit_vs_human", (digit, EVALUATORS["oracle"])),
    ):
        both = {str(i): run_of(rows, p) for i, p in enumerate(predicts)}
        _, kappa = self_agreement(rows, Evaluator(name, both))
        assert kappa.value == pytest.approx(expected[name], abs=1e-12)
    constant = run_of(rows, EVALUATORS["all_consistent"])
    _, kappa = self_agreement(rows, Evaluator("same", {"a": constant, "b": constant}))
    assert kappa.value is None
    assert "all labels are the same" in str(kappa.unscored)


def scores(sentences: list[AnnotatedSentence]) -> Run:
    return {(s.key, s.index): Prediction(None, 1 / len(s.text.split())) for s in sentences}


@pytest.mark.parametrize("level", ["sentence", "summary"])
def test_thresholds_as_given(
    five: list[AnnotatedSentence],
    categories: dict[str, dict[str, str]],
    golden: dict[str, Any],
    level: Any,
) -> None:
    """The thresholds are tuned on both datasets; here they are taken as they are."""
    rows = [s for s in five if s.split == "test"]
    expected = golden["meta_evaluation"]["thresholds"][f"five_models/{level}"]
    found = evaluate(rows, scores(rows), categories, {level: expected["threshold"]})
    for name, cell in expected["test"].items():
        check_cell(cells_of(found)[(*name.split("/"), level)], cell)


def test_paired_bootstrap(five: list[AnnotatedSentence], golden: dict[str, Any]) -> None:
    expected = golden["meta_evaluation"]["paired_bootstrap_digit_minus_len25"]["mediasum"]
    rows = [s for s in five if (s.key.dataset, s.split) == ("mediasum", "test")]
    a, b = (Evaluator(name, {"": run_of(rows, EVALUATORS[name])}) for name in ("digit", "len25"))
    found = compare(rows, a, b, resamples=expected["resamples"])
    assert found.n == expected["n"]
    assert found.difference == pytest.approx(expected["delta"], abs=1e-9)
    assert (found.low, found.high) == pytest.approx(tuple(expected["ci95"]), abs=0.3)
    p = 2 * min(expected["p_le_0"], expected["p_ge_0"])
    assert abs(found.p - p) <= 6 * math.sqrt(p * (1 - p / 2) / expected["resamples"])


def test_key_points(folder: Path, golden: dict[str, Any]) -> None:
    from semqa.attribution.tofueval.judging import completeness, mean_completeness

    rows = read_key_points([folder / "mediasum_completeness_final.csv"])
    expected = golden["completeness"]["data"]["mediasum"]
    sizes = [len(row.points) for row in rows]
    assert (len(rows), sum(sizes)) == (expected["rows"], expected["key_points_total"])
    assert len({row.doc_id for row in rows}) == expected["docs"]
    assert {str(n): sizes.count(n) for n in sorted(set(sizes))} == expected["histogram"]
    empty = [{"doc_id": row.doc_id, "topic": row.topic} for row in rows if not row.points]
    assert empty == expected["rows_with_empty_key_points"]
    assert not any(re.match(r"\d+\.", point) for row in rows for point in row.points)
    for case in golden["completeness"]["synthetic"]:
        found = [completeness(made) for made in case["judgements"]]
        assert [score.value for score in found] == pytest.approx(case["per_summary"])
        mean = mean_completeness(found)
        assert mean.value == (pytest.approx(case["mean"]) if "mean" in case else None)
