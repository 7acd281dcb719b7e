"""Meta-evaluation in cases small enough to be worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from semqa.attribution.tofueval.data import AnnotatedSentence, SummaryKey
from semqa.attribution.tofueval.meta import ALL, Evaluator, Prediction, Run, compare, evaluate, tune
from semqa.errors import InputError

KEY = SummaryKey("a", "d1", "Rent", "m")


def sentence(
    index: int,
    wrong: bool,
    *errors: str,
    model: str = "m",
    split: str = "test",
    topic: str = "Rent",
) -> AnnotatedSentence:
    key = SummaryKey("a", "d1", topic, model)
    return AnnotatedSentence(key, index, f"Sentence {index}.", wrong, errors, split=split)


SENTENCES = [
    sentence(1, True, "Contradiction", "Reasoning Error"),
    sentence(2, False),
    sentence(1, False, model="n"),
    sentence(2, False, model="n"),
    sentence(1, True, "Contradiction", topic="Tax"),
]


def run(*wrong: bool | None) -> Run:
    return {(s.key, s.index): Prediction(w) for s, w in zip(SENTENCES, wrong, strict=True)}


def scored(*scores: float) -> Run:
    return {(s.key, s.index): Prediction(None, x) for s, x in zip(SENTENCES, scores, strict=True)}


def cells_of(found: dict[str, Any]) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(c["dataset"], c["category"], c["level"]): c for c in found["cells"]}


def counts_of(found: dict[str, Any]) -> dict[tuple[str, str, str], tuple[int, ...]]:
    names = ("tp", "fn", "fp", "tn")
    return {name: tuple(c[each] for each in names) for name, c in cells_of(found).items()}


def test_summaries_are_made_of_sentences() -> None:
    found = evaluate(SENTENCES, run(False, True, False, True, True), {"a": {"Tax": "marginal"}})
    cells = counts_of(found)
    assert cells["a", ALL, "sentence"] == (1, 1, 2, 1)
    # Summary m: wrong, and found so for another sentence; n: right, found wrong; Tax: found.
    assert cells["a", ALL, "summary"] == (2, 0, 1, 0)
    assert cells["a", "marginal", "sentence"] == cells[ALL, "marginal", "summary"] == (1, 0, 0, 0)
    assert found["recall_by_error_type"] == [
        {"error": "Reasoning Error", "n": 1, "hits": 0, "recall": 0},
        {"error": "Contradiction", "n": 2, "hits": 1, "recall": 50},
    ]
    (single,) = found["recall_by_single_error_type"]
    assert (single["error"], single["n"], single["hits"]) == ("Contradiction", 1, 1)


def test_what_is_not_read_is_left_out_and_counted() -> None:
    found = evaluate(SENTENCES, run(True, None, None, False, True), {})
    assert found["unread"] == {"sentence": 2, "summary": 1}  # m is found wrong whatever 2 says
    assert cells_of(found)["a", ALL, "sentence"]["n"] == 3
    assert counts_of(found)["a", ALL, "summary"] == (2, 0, 0, 0)


def test_a_whole_summary_may_be_judged() -> None:
    known = run(False, False, False, False, False)
    known[KEY._replace(dataset=""), None] = Prediction(inconsistent=True)
    found = evaluate(SENTENCES, known, {})
    assert counts_of(found)["a", ALL, "summary"] == (1, 1, 0, 1)


def test_scores_need_a_threshold_that_dev_gives() -> None:
    dev = [
        sentence(1, True, split="dev"),
        sentence(2, False, split="dev"),
        sentence(1, False, split="dev", model="n"),
    ]
    known: Run = {
        (s.key, s.index): Prediction(None, x) for s, x in zip(dev, (0.2, 0.9, 0.6), strict=True)
    }
    found = tune(dev, known)
    assert {level: each.value for level, each in found.items()} == {"sentence": 0.2, "summary": 0.2}
    values = {level: each.value for level, each in found.items()}
    judged = evaluate(SENTENCES, scored(0.1, 0.8, 0.2, 0.7, 0.3), {}, values)
    assert counts_of(judged)["a", ALL, "sentence"] == (1, 1, 1, 2)
    assert counts_of(judged)["a", ALL, "summary"] == (1, 1, 1, 0)
    with pytest.raises(InputError, match="Cannot tune"):
        tune(SENTENCES, known)
    assert evaluate(SENTENCES, scored(1, 1, 1, 1, 1), {})["unread"]["sentence"] == 5


def test_evaluators_are_compared_on_what_both_judged() -> None:
    first = Evaluator("x", {"": run(True, False, False, False, True)})
    second = Evaluator("y", {"": run(False, None, True, False, True)})
    test = compare(SENTENCES, first, second, resamples=200)
    assert (test.n, test.difference) == (4, 50)
    grouped = compare(SENTENCES, first, second, resamples=200, by_document=True)
    assert (grouped.groups, grouped.low, grouped.high) == (1, 50, 50)
