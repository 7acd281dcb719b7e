"""Scores and reports: equal to the slow scorer, bounded, complete, and never NaN by default."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa import InputError
from semqa.metrics import (
    METRICS,
    Example,
    ExampleScores,
    NoReferenceError,
    Target,
    leave_one_out,
    score,
    score_example,
    summarise,
)
from semqa.metrics.scores import quoted_f1
from tests.reference import scores as reference

REFERENCES = ("Sung by [ 1 Bing Crosby ] in [ 2 May 1942 ].", "In [ 2 1942 ] by [ 1 Crosby ].")
SHORTS = ("[ 1 Bing Crosby ] [ 2 1942 ]", "[ 2 1942 ]")


def example(prediction: str, **changes: Any) -> Example:
    fields = {"qid": "q1", "references": REFERENCES, "short_answers": SHORTS, "present": (1, 2)}
    return Example(prediction=prediction, **{**fields, **changes})


free = st.lists(st.sampled_from(["a", "b", "c", "the", "é"]), max_size=4).map(" ".join)
quote = st.builds("[ {} {} ]".format, st.integers(1, 4), free)
answers = st.lists(free | quote, max_size=6).map(" ".join)
questions = st.tuples(
    answers,
    st.lists(answers, min_size=1, max_size=3),
    st.lists(answers, max_size=3),
    st.sets(st.integers(1, 4), min_size=1).map(tuple),
)


def close(a: float | None, b: float | None) -> bool:
    return a is b is None or bool(a == pytest.approx(b or 0, rel=0, abs=1e-9))


def assert_equals_reference(got: ExampleScores, expected: dict[str, float | None]) -> None:
    for metric, value in expected.items():
        assert close(got.value(metric), value), (metric, got.value(metric), value)


@given(questions, st.booleans())
def test_equals_the_slow_scorer(
    question: tuple[str, list[str], list[str], tuple[int, ...]], official: bool
) -> None:
    prediction, references, shorts, present = question
    got = Target.read(references, shorts, present, official=official).score(prediction)
    expected = reference.scores(prediction, references, shorts, present)
    if official and expected["sem_recall"] is None and any(shorts):
        del expected["sem_recall"]
        assert math.isnan(got.sem_recall or 0)
    assert_equals_reference(got, expected)


def test_released_human_row(shared: Path) -> None:
    rows = [
        row
        for place, (targets, shorts, present, _) in enumerate(released(shared))
        for row in leave_one_out(f"q{place}", targets, shorts, present)
    ]
    report = summarise(rows)
    assert (report.n, report.estimates["semqa"].n) == (129, 128)
    assert report.estimates["semqa"].unscored == {"no other reference to compare with": 1}
    figures = {m: round(report.value(m) or 0, 1) for m in ("rougeLsum", "sem_f1", "sem_recall")}
    assert figures == {"rougeLsum": 62.7, "sem_f1": 79.0, "sem_recall": 90.2}
    assert round(report.value("semqa") or 0, 1) == 70.4


def released(shared: Path) -> list[tuple[list[str], list[str], tuple[int, ...], dict[int, str]]]:
    """Answers, short answers, source numbers and sources of each released question."""
    rows = defaultdict(list)
    path = shared / "data/quotesum/dev_a.jsonl"
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        rows[row["qid"]].append(row)
    questions = []
    for group in rows.values():
        sources = {k: text for k in range(1, 9) if (text := group[0][f"source{k}"])}
        targets = [row["summary"] for row in group]
        shorts = [row["covered_short_answers"] for row in group]
        questions.append((targets, shorts, tuple(sources), sources))
    return questions


def test_an_example_without_sources_is_left_out_and_counted() -> None:
    good, bad = example(REFERENCES[0]), example(REFERENCES[0], qid="q2", present=())
    report = score([good, bad])
    estimate = report.estimates["sem_f1"]
    assert (estimate.value, estimate.n) == (100, 1)
    assert estimate.unscored == {"no scored source is present": 1}
    assert report.estimates["rougeLsum"].n == 2
    row = report.to_dict()
    assert row["n"] == 2
    assert row["scored"]["semqa"] == 1
    assert row["unscored"]["semqa"] == {"no scored source is present": 1}


def test_official_reports_nan_and_the_published_figures() -> None:
    report = score([example(REFERENCES[0], present=(8,))], official=True)
    assert math.isnan(report.value("sem_f1") or 0)
    row = report.to_dict()
    assert json.loads(json.dumps(row, allow_nan=False)) == row
    assert row["nan"] == ["sem_f1", "semqa"]
    assert row["sem_f1"] is None
    assert row["sem_f1_harmonic"] is None
    assert row["published"] == {
        "rouge1": 100, "rouge2": 100, "rougeLsum": 100,
        "sem_f1": None, "sem_recall": 100, "semqa": None,
    }  # fmt: skip
    assert report.examples[0].to_dict()["unscored"]["sem_f1"] == "NaN in the official scorer"


def test_no_examples_is_no_score() -> None:
    report = score([])
    assert report.n == 0
    assert all(report.value(metric) is None for metric in METRICS)
    assert report.estimates["semqa"].unscored == {"no examples": 0}
    official = score([], official=True)
    assert all(math.isnan(official.value(metric) or 0) for metric in METRICS)
    assert json.loads(json.dumps(official.to_dict(), allow_nan=False))["semqa"] is None


@pytest.mark.parametrize("official", [False, True])
def test_no_reference_names_the_question(official: bool) -> None:
    with pytest.raises(NoReferenceError) as caught:
        score_example(example("x", references=()), official=official)
    assert str(caught.value) == ("Question q1 has no reference.")
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, ValueError)


def test_leave_one_out_pairs_short_answers_with_references() -> None:
    rows = leave_one_out("q1", REFERENCES, SHORTS, (1, 2))
    others = []
    for k, other in ((0, slice(1, 2)), (1, slice(0, 1))):
        alone = example(REFERENCES[k], references=REFERENCES[other], short_answers=SHORTS[other])
        others.append(score_example(alone))
    assert rows == others
    with pytest.raises(InputError):
        leave_one_out("q1", REFERENCES, SHORTS[:1], (1, 2))
    with pytest.raises(NoReferenceError):
        leave_one_out("q1", [], [], (1, 2))


MARKS = st.lists(
    st.tuples(
        st.integers(1, 8), st.lists(st.sampled_from(["a", "b", "c", "the", "d"]), max_size=4)
    ),
    max_size=4,
)
TEXTS = MARKS.map(lambda marks: " x ".join(f"[ {n} {' '.join(words)} ]" for n, words in marks))


def bags(text: str) -> dict[int, Counter[str]]:
    """The words quoted from each source, by the marks of a text of the strategy above."""
    found: dict[int, Counter[str]] = {}
    for part in text.split("[ ")[1:]:
        number, _, words = part.partition(" ")
        found.setdefault(int(number), Counter()).update(
            reference.normalise(words.partition("]")[0]).split()
        )
    return {source: bag for source, bag in found.items() if bag}


def by_definition(prediction: str, references: list[str], present: tuple[int, ...]) -> float | None:
    said, wanted = bags(prediction), [bags(text) for text in references]
    quoted = {s for bag in wanted for s in bag if s in present} | set(said)
    scores = []
    for source in (s for s in quoted if s <= 7):
        best = 0.0
        for bag in wanted:
            if source in bag and source in said and source in present:
                shared = (bag[source] & said[source]).total()
                best = max(best, 2 * shared / (bag[source].total() + said[source].total()))
        scores.append(best)
    return 100 * fmean(scores) if scores else None


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), st.sets(st.integers(1, 8)))
def test_as_defined(prediction: str, references: list[str], present: set[int]) -> None:
    numbers = tuple(sorted(present))
    found = quoted_f1(Example("q", prediction, tuple(references), ("",) * len(references), numbers))
    expected = by_definition(prediction, references, numbers)
    assert (found.f1 is None) == (expected is None)
    assert found.f1 == (expected if expected is None else pytest.approx(expected, abs=1e-9))


def test_precision_and_recall() -> None:
    found = quoted_f1(Example("q", "[ 1 e b ] [ 2 c ]", ("[ 1 b ] [ 3 d ]",), ("",), (1, 2, 3)))
    assert found.precision == pytest.approx((50 + 0) / 2)
    assert found.recall == pytest.approx((100 + 0) / 2)
    assert found.f1 == pytest.approx(100 * (2 / 3) / 3)
