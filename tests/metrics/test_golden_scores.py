"""The released scorer's behaviour, case by case, from the golden file."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from semqa.metrics import Example, score
from semqa.metrics.text import strip_marks as strip
from tests.metrics.marks import non_quoted, quoted_sources, quotes_by_source
from tests.reference.scores import normalise

if TYPE_CHECKING:
    from pathlib import Path

Case = dict[str, Any]


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((shared / "golden/semqa_cases.json").read_text("utf-8"))
    assert len(content["cases"]) == 44
    return content


def agrees(got: Any, expected: Any) -> bool:
    if expected == "NaN":
        return isinstance(got, float) and math.isnan(got)
    return bool(got == pytest.approx(expected, rel=0, abs=1e-9))


def test_marks_are_read_as_officially(golden: dict[str, Any]) -> None:
    for case in golden["cases"]:
        expected, predictions = case["expected"], case["predictions"]
        stripped = [strip(text) for text in predictions]
        assert stripped == expected["stripped_predictions"], case["name"]
        free = [non_quoted(text) for text in predictions]
        assert free == expected["non_quoted_predictions"], case["name"]
        sources = [quoted_sources(text) for text in predictions]
        assert sources == expected["quoted_sources"], case["name"]
        quotes = [
            {
                str(source): words
                for source, span in sorted(quotes_by_source(text).items())
                if source <= 7 and (words := normalise(span))
            }
            for text in predictions
        ]
        assert quotes == expected["normalized_quotes_by_source"], case["name"]


# Cases whose official figure is a defect, with the default's answer instead.
UNSCORED = {
    ("short_whitespace", "sem_recall"): "no short answer is marked with a source",
    ("short_unmarked", "sem_recall"): "no short answer is marked with a source",
    ("no_sources_present", "sem_f1"): "no scored source is present",
    ("no_sources_present", "semqa"): "no scored source is present",
    ("no_sources_present", "sem_f1_harmonic"): "no scored source is present",
    ("source_8_only", "sem_f1"): "no scored source is present",
    ("source_8_only", "semqa"): "no scored source is present",
    ("source_8_only", "sem_f1_harmonic"): "no scored source is present",
    ("source_8_only", "sem_recall"): "no short answer is marked with a source",
}
NOT_EXAMPLES = {"no_references", "mismatched_lengths", "empty_corpus"}
NAMES = {"sem_recall": "sem_rec"}


@pytest.mark.parametrize("official", [False, True])
def test_reports_equal_the_official_scorer_where_it_has_a_figure(
    golden: dict[str, Any], official: bool
) -> None:
    compared = 0
    for case in golden["cases"]:
        name = case["name"]
        if name in NOT_EXAMPLES:
            continue
        report = score(_examples(case), official=official, resamples=0)
        for metric in (
            "rouge1", "rouge2", "rougeL", "rougeLsum",
            "sem_f1", "sem_f1_harmonic", "sem_recall", "semqa",
        ):  # fmt: skip
            expected = case["expected"][NAMES.get(metric, metric)]
            estimate = report.estimates[metric]
            if not official and (name, metric) in UNSCORED:
                assert estimate.value is None
                assert estimate.unscored == {UNSCORED[name, metric]: 1}
            elif not official and expected == "NaN":
                # One good example beside a bad one: the good one's figure, and a count.
                assert (name, metric) == ("two_examples_one_nan", "sem_recall")
                assert (estimate.value, estimate.n) == (100.0, 1)
                assert estimate.unscored == {"no short answer is marked with a source": 1}
            elif isinstance(expected, dict):
                assert official
                assert estimate.value is None
                assert expected["error"] in " ".join(estimate.unscored)
            else:
                assert agrees(estimate.value, expected), (name, metric, estimate.value, expected)
                compared += 1
    assert compared == (326 if official else 318)


def test_sources_beyond_7_count_where_asked_for(golden: dict[str, Any]) -> None:
    cases = {case["name"]: case for case in golden["cases"]}
    only = score(_examples(cases["source_8_only"]), all_sources=True, resamples=0)
    assert (only.value("sem_f1"), only.value("sem_recall")) == (100.0, 100.0)
    swapped = dict(cases["source_8"], predictions=["It aired on [ 1 May 4, 1990 ]."])
    assert score(_examples(swapped), all_sources=True, resamples=0).value("sem_f1") == 50.0
    assert score(_examples(swapped), resamples=0).value("sem_f1") == 100.0


def _examples(case: Case) -> Any:
    lists = [case[k] for k in ("predictions", "references", "short_answers", "sources_present")]
    return [
        Example("q", text, tuple(answers), tuple(shorts), tuple(numbers))
        for text, answers, shorts, numbers in zip(*lists, strict=True)
    ]
