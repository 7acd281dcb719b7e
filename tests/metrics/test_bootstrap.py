"""Intervals and the paired test: repeatable, by the corpus formula, fair to both sides."""

from __future__ import annotations

import math
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa import InputError
from semqa.metrics import Example, ExampleScores, summarise
from semqa.metrics.bootstrap import (
    Mean,
    bootstrap_intervals,
    geometric_interval,
    mean_interval,
    mean_with_interval,
    paired_bootstrap,
)
from semqa.metrics.report import rouge_percentiles
from semqa.metrics.scores import score_example


def row(qid: object, value: float, *, sem_f1: float | None = -1, **changes: Any) -> ExampleScores:
    """A row of which every score is `value`."""
    scores: dict[str, Any] = dict.fromkeys(
        ("rouge1", "rouge2", "rougeL", "rougeLsum", "sem_f1_harmonic", "sem_recall", "semqa"), value
    )
    return ExampleScores(
        qid=str(qid), sem_f1=value if sem_f1 == -1 else sem_f1, **{**scores, **changes}
    )


VALUES = [float(v) for v in np.random.default_rng(3).uniform(0, 80, size=60)]
ROWS = [row(k, value) for k, value in enumerate(VALUES)]


def shifted(points: float) -> list[ExampleScores]:
    """The rows of a system that is so many points better, and unsteady."""
    noise = np.random.default_rng(4).uniform(-5, 5, size=60)
    noise -= noise.mean()
    return [
        row(k, v + points + float(e)) for (k, v), e in zip(enumerate(VALUES), noise, strict=True)
    ]


def test_equal_seeds_give_equal_intervals_and_leave_the_global_generator_alone() -> None:
    np.random.seed(5)
    before = np.random.get_state()[1].tolist()  # type: ignore[index]
    first = bootstrap_intervals(ROWS, seed=7)
    rouge_percentiles(ROWS)
    assert first == bootstrap_intervals(ROWS, seed=7)
    assert first != bootstrap_intervals(ROWS, seed=8)
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index]


def test_semqa_is_recomputed_on_each_resample() -> None:
    # Every question has F1 * Lsum = 0, so each row's SEMQA is 0; the corpus formula is not.
    rows = [row(k, 0, sem_f1=100.0, semqa=0) for k in range(10)]
    rows += [row(k, 100, sem_f1=0.0, semqa=0) for k in range(10, 20)]
    report = summarise(rows)
    assert report.value("semqa") == 50
    interval = report.estimates["semqa"].interval
    assert interval is not None
    assert interval[0] > 25
    assert interval[1] == 50


def test_the_interval_of_a_geometric_mean_is_that_of_semqa() -> None:
    pairs = [(value, 80 - value) for value in VALUES]
    rows = [row(k % 25, f1, rougeLsum=lsum) for k, (f1, lsum) in enumerate(pairs)]
    groups = [pairs[k::25] for k in range(25)]
    assert geometric_interval(groups, seed=5) == pytest.approx(
        bootstrap_intervals(rows, seed=5)["semqa"]
    )
    assert geometric_interval([[], []]) is None


def test_answers_to_one_question_are_drawn_together() -> None:
    apart = [row(k, 100.0 * (k % 2)) for k in range(40)]
    together = [row(k % 2, 100.0 * (k % 2)) for k in range(40)]
    assert bootstrap_intervals(together)["rouge1"] == (0, 100)
    low, high = bootstrap_intervals(apart)["rouge1"]
    assert 30 < low < high < 70


def test_one_question_shows_no_spread() -> None:
    """However many answer it; a metric counts the questions that have it."""
    assert not bootstrap_intervals([row(1, 40.0), row(1, 60.0)])
    half = bootstrap_intervals([row(1, 40.0), row(2, 60.0, sem_f1=None)])
    assert "sem_f1" not in half
    assert half["rouge1"] == (40.0, 60.0)
    assert mean_interval([[1.0, 2.0], []]) is None


@pytest.mark.parametrize("metric", ["rouge1", "semqa"])
def test_a_clear_difference_is_significant_and_changes_sign_with_the_sides(metric: str) -> None:
    better = shifted(3)
    result = paired_bootstrap(better, ROWS, metric=metric, resamples=2000)
    assert result.difference == pytest.approx(3, abs=0.1)
    assert 0 < result.low < result.difference < result.high
    assert result.p == pytest.approx(1 / 2001)
    other = paired_bootstrap(ROWS, better, metric=metric, resamples=2000)
    assert other.difference == -result.difference
    assert (other.low, other.high) == pytest.approx((-result.high, -result.low))
    assert other.p == result.p


def test_p_value_equals_its_definition_on_every_possible_resample() -> None:
    # Three questions have 27 ordered resamples; the bootstrap's p comes close to the exact one.
    gains = [6.0, 1.0, -2.0]
    first = [row(k, 50 + gain) for k, gain in enumerate(gains)]
    second = [row(k, 50.0) for k in range(3)]
    means = [(a + b + c) / 3 for a in gains for b in gains for c in gains]
    exact = sum(abs(m - 5 / 3) >= 5 / 3 - 1e-9 for m in means) / 27
    result = paired_bootstrap(first, second, metric="rouge1", resamples=50_000)
    assert result.p == pytest.approx(exact, abs=0.01)


def test_only_questions_scored_in_both_are_compared() -> None:
    second = [row(k, v, sem_f1=None) if k < 10 else row(k, v) for k, v in enumerate(VALUES)]
    assert paired_bootstrap(ROWS, second, metric="semqa").n == 50
    assert paired_bootstrap(ROWS, second, metric="rouge1").n == 60
    third = [row(k, v, sem_f1=math.nan) if k < 5 else row(k, v) for k, v in enumerate(VALUES)]
    assert paired_bootstrap(third, ROWS, metric="semqa").n == 55


def test_comparisons_that_make_no_sense_are_input_errors() -> None:
    with pytest.raises(InputError):
        paired_bootstrap(ROWS, ROWS[:-1])
    with pytest.raises(InputError):
        paired_bootstrap(ROWS[:-1], ROWS)
    with pytest.raises(InputError):
        paired_bootstrap(ROWS[:1], ROWS[:1])
    with pytest.raises(InputError):
        paired_bootstrap(ROWS, ROWS, metric="f1")


def test_percentiles_equal_those_of_rouge_score() -> None:
    from rouge_score import scoring

    texts = ["a b c d", "b c", "c d e", "a x y", "q"]
    pairs = zip(texts, ["a b d", "b", "e d c", "a x y", "r"], strict=True)
    rows = [score_example(Example("q", said, (text,), (), ())) for text, said in pairs]
    aggregator = scoring.BootstrapAggregator()
    for one in rows:
        names = ("rouge1", "rouge2", "rougeLsum", "rougeL")
        scores = {m: scoring.Score(*[getattr(one, m)] * 3) for m in names}
        aggregator.add_scores(scores)
    state = np.random.get_state()
    np.random.seed(1337)
    expected = aggregator.aggregate()
    np.random.set_state(state)
    for metric, percentiles in rouge_percentiles(rows).items():
        got = expected[metric]
        values = [got.mid.fmeasure, got.low.fmeasure, got.high.fmeasure]
        assert percentiles == pytest.approx(values, rel=0, abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20), st.integers(0, 5))
def test_interval_is_the_percentiles_of_resampled_means(values: list[float], seed: int) -> None:
    found = mean_with_interval(values, resamples=50, seed=seed)
    generator = np.random.default_rng(seed)
    drawn = generator.integers(len(values), size=(50, len(values)))
    means = [fmean(values[place] for place in row) for row in drawn]
    assert found.value == fmean(values)
    assert found.interval == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])), abs=1e-12)
    assert found.n == len(values)


def test_without_values_there_is_no_mean() -> None:
    assert mean_with_interval([]) == Mean(None, 0, None)
    assert mean_with_interval([0.25]) == Mean(0.25, 1, None)
