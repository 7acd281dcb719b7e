"""The paper's numbers and the released code's behaviour, from the golden files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from semqa.attribution.q2 import Response, summarise
from semqa.attribution.q2.baselines import Overlap, baseline_scores
from semqa.attribution.q2.measure import compare_answers
from semqa.attribution.q2.meta import INCONSISTENT, annotation_counts, contexts_of, system_level
from semqa.attribution.q2.reading import read_responses, scores_of_steps
from semqa.attribution.q2.responses import clean_officially, overlap_of_answers
from semqa.data.jsonl import Row
from tests.attribution.fake_judge import by_tables

FILES = ("dodeca_inconsistent", "dodeca_consistent")


def mean_of(scores: Sequence[float | None]) -> float:
    assert None not in scores
    return fmean(score for score in scores if score is not None)


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "golden/q2.json").read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def golden_scores(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "golden/q2_scores.json").read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def cross(shared: Path) -> list[Response]:
    """The cross annotation with both baselines."""
    file = read_responses(shared / "data/q2/cross_annotation.csv")
    assert (file.kind, len(file.responses)) == ("contexts", 1088)
    columns = {name: baseline_scores(name, file.responses) for name in ("overlap", "bleu")}
    return [
        replace(each, scores={name: values[place] for name, values in columns.items()})
        for place, each in enumerate(file.responses)
    ]


@pytest.mark.parametrize("name", FILES)
def test_baselines_of_every_response(
    shared: Path, golden: dict[str, Any], golden_scores: dict[str, Any], name: str
) -> None:
    file = read_responses(shared / f"data/q2/{name}.csv")
    table = golden["table2"][name.replace("_", "/")]
    assert {each.inconsistent for each in file.responses} == {"inconsistent" in name.split("_")}
    for baseline, key, mean in (
        ("overlap", "overlap", "overlap"),
        ("bleu", "bleu", "bleu"),
        ("words", "plain", "overlap_plain"),
    ):
        scores = baseline_scores(baseline, file.responses)
        wanted = golden_scores["files"][name][key]
        assert scores == pytest.approx(wanted, rel=0, abs=1e-9)
        assert mean_of(scores) == pytest.approx(table[mean], rel=0, abs=1e-9)
    assert round(mean_of(baseline_scores("overlap", file.responses)), 3) == table["paper_overlap"]


def test_bleu_is_the_papers_without_the_repeated_response(
    shared: Path, golden: dict[str, Any]
) -> None:
    path = shared / "data/q2/dodeca_consistent.csv"
    table = golden["table2"]["dodeca/consistent"]
    whole, once = read_responses(path), read_responses(path, drop_repeated=True)
    rows = table["after_drop_duplicates_response_knowledge"]["duplicate_rows"]
    assert [each.id for each in whole.repeated] == [str(rows[1])]
    assert (len(once.responses), once.dropped) == (149, 1)
    assert round(mean_of(baseline_scores("bleu", whole.responses)), 3) == 5.124
    assert (
        round(mean_of(baseline_scores("bleu", once.responses)), 3) == table["paper_bleu"] == 5.136
    )


def test_cross_annotation_is_counted(cross: list[Response], golden: dict[str, Any]) -> None:
    counts, wanted = annotation_counts(cross), golden["cross_annotation"]
    assert counts["contexts"] == wanted["contexts"] == 544
    assert counts["inconsistent"] == {"dodeca": 186, "memnet": 274}
    assert counts["exactly_one"] == wanted["exactly_one_inconsistent"] == 244
    assert (counts["both"], counts["none"]) == (wanted["both"], wanted["none"])


@pytest.mark.parametrize("measure", ["overlap", "bleu"])
def test_simulated_systems_are_ranked_as_in_the_paper(
    cross: list[Response], golden: dict[str, Any], measure: str
) -> None:
    wanted = golden["table4"]["metrics"][measure]
    contexts = contexts_of(cross, measure)
    assert len(contexts) == golden["table4"]["contexts"]
    assert list(INCONSISTENT) == golden["table4"]["inconsistent_counts_per_350"]

    released = system_level(contexts, iterations=300, official=True)
    assert released is not None
    assert released["gap"] == pytest.approx(golden["table4"]["mean_gap"][measure], abs=1e-9)
    mean, low, high = wanted["official_code_np_random_seed_0_n_iter_300"]
    assert released["spearman"] == pytest.approx(mean, rel=0, abs=1e-9)
    assert released["interval"] == pytest.approx((low, high), rel=0, abs=1e-9)

    own = system_level(contexts, seed=1)
    assert own is not None
    mean, low, high = wanted["runs_mean_lo_hi"][1]
    assert own["spearman"] == pytest.approx(mean, rel=0, abs=1e-9)
    assert own["interval"] == pytest.approx((low, high), rel=0, abs=1e-9)
    assert own["unscored"] == 0
    # The paper's figure is one such run, of other draws.
    spread = 4 * wanted["sd_of_means"]
    assert own["spearman"] == pytest.approx(wanted["mean_of_means"], abs=spread)
    assert own["spearman"] == pytest.approx(wanted["paper"][0], abs=spread)


def test_answers_are_compared_as_in_the_released_code(golden: dict[str, Any]) -> None:
    cases = golden["answer_f1_cases"]["cases"]
    assert len(cases) == 11
    for case in cases:
        gold, predicted = case["gold"], case["pred"]
        assert clean_officially(gold) == case["clean_gold"], case
        assert clean_officially(predicted) == case["clean_pred"], case
        found = overlap_of_answers(gold, predicted, official=True)
        assert found == pytest.approx(case["f1"], rel=0, abs=1e-12), case


def test_overlap_cases(golden: dict[str, Any]) -> None:
    overlap = Overlap()
    for case in golden["overlap_cases"]:
        assert overlap.tokens(case["knowledge"].lower()) == case["tokens_knowledge"]
        assert overlap.tokens(case["response"]) == case["tokens_response"]
        found = overlap.score(case["response"], case["knowledge"])
        assert found == pytest.approx(case["overlap"], rel=0, abs=1e-12)


def test_answers_are_aggregated_as_in_the_released_code(golden: dict[str, Any]) -> None:
    case = golden["aggregation_case"]
    rows = [
        Row(f"steps.csv:{line}", {name: str(value) for name, value in row.items()})
        for line, row in enumerate(case["rows"], start=2)
    ]
    labels = {(each["premise"], each["hypothesis"]): each["label"] for each in case["nli_labels"]}
    judge = by_tables(labels=labels)
    scores = compare_answers(scores_of_steps(rows, official=True), judge)

    wanted = case["per_response"]
    assert [score.response.id for score in scores] == list(wanted)
    for score in scores:
        for measure in ("q2", "q2_no_nli"):
            assert score.value(measure) == pytest.approx(wanted[score.response.id][measure])
    by_question = [
        (question.worth, question.overlap) for score in scores for question in score.questions
    ]
    stated = [
        row
        for row, step in zip(case["per_question"], case["rows"], strict=True)
        if step["score"] >= 0
    ]
    assert by_question == [(row["q2"], row["q2_no_nli"]) for row in stated]
    system = summarise(scores, resamples=0)
    for measure in ("q2", "q2_no_nli"):
        assert system[measure]["value"] == pytest.approx(case["system"][measure], abs=1e-12)
    # Equal bags, no answer, and "nan" are not worth a call.
    assert len(judge.asked) == 4 + 3
    assert ("some knowledge", "hi there") in judge.asked


def test_default_differs_from_the_released_code_where_that_is_said(golden: dict[str, Any]) -> None:
    rows = [
        Row(f"steps.csv:{line}", {name: str(value) for name, value in row.items()})
        for line, row in enumerate(golden["aggregation_case"]["rows"], start=2)
    ]
    scores = {s.response.id: s for s in compare_answers(scores_of_steps(rows), by_tables())}
    # No valid question: NLI stands in for Q², and for nothing where there is to be no NLI.
    assert scores["4"].q2 == 0.5
    assert scores["4"].q2_no_nli is None
    assert scores["4"].unscored("q2_no_nli") == "no valid question"
    assert scores["2"].fallback is not None
    # A knowledge that answers "nan" has answered.
    assert scores["5"].questions[0].needs_entailment
    # "half" and "a half" are the same answer: nobody is asked, and it is worth 1.
    assert scores["6"].q2 == 1.0
    mean = summarise(list(scores.values()), resamples=0)["q2_no_nli"]
    assert (mean["n"], mean["unscored"]) == (4, {"no valid question": 3})
