"""Meta-evaluation: labels, contexts, simulated systems, pictures."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.attribution.q2 import Response
from semqa.attribution.q2.meta import (
    Judged,
    annotation_counts,
    contexts_of,
    plot_levels,
    response_level,
    spearman_rows,
    system_level,
    three_way,
)
from semqa.errors import InputError


def judged(
    *scores: float | None, inconsistent: bool | None, context: str | None = None
) -> list[Judged]:
    return [
        Judged(Response(str(n), "t", "k", inconsistent, "s", context), {"m": score})
        for n, score in enumerate(scores)
    ]


def test_a_score_at_the_threshold_is_inconsistent() -> None:
    given_scores = [
        *judged(0.5, 0.6, inconsistent=True),
        *judged(0.5, 0.7, None, inconsistent=False),
        *judged(0.9, inconsistent=None),
    ]
    level = response_level(given_scores, "m", 0.5)
    assert level is not None
    assert (level["n"], level["unscored"]) == (4, 1)
    assert level["confusion"] == {
        "inconsistent_as_inconsistent": 1,
        "inconsistent_as_consistent": 1,
        "consistent_as_inconsistent": 1,
        "consistent_as_consistent": 1,
    }
    assert level["accuracy"] == 0.5
    assert "thresholds" not in level
    several = response_level(given_scores, "m", 0.5, 0.6)
    assert several is not None
    assert [at["threshold"] for at in several["thresholds"]] == [0.5, 0.6]
    assert several["thresholds"][1]["confusion"]["inconsistent_as_consistent"] == 0
    assert response_level(given_scores, "other") is None


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=12
    )
)
def test_three_labels_have_the_thresholds_of_the_best_accuracy(
    examples: list[tuple[int, float]],
) -> None:
    def right(low: float, high: float) -> float:
        found = [0.0 if s / 4 <= low else 1.0 if s / 4 > high else 0.5 for s, _ in examples]
        return sum(f == r for f, (_, r) in zip(found, examples, strict=True)) / len(examples)

    given_scores = [
        Judged(Response(str(n), "t", "k", rating=rating), {"m": score / 4})
        for n, (score, rating) in enumerate(examples)
    ]
    found = three_way(given_scores, "m")
    if 0.5 not in {rating for _, rating in examples}:
        assert found is None
        return
    assert found is not None
    ends = [-1.0, *(n / 4 for n in range(5))]
    assert found["accuracy"] == max(right(a, b) for a in ends for b in ends if a <= b)
    assert found["accuracy"] == right(*found["thresholds"])
    again = three_way(given_scores, "m", 0.75, 0.25)
    assert again is not None
    assert (again["accuracy"], again["chosen"]) == (right(0.25, 0.75), False)


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=20))
def test_low_scores_detect_what_is_inconsistent(examples: list[tuple[int, bool]]) -> None:
    rows = [row for n, label in examples for row in judged(n / 8, inconsistent=label)]
    level = response_level(rows, "m")
    assert level is not None
    curve = level["curves"]["inconsistent"]
    if not any(label for _, label in examples):
        assert curve is None
        return
    points = zip(curve["precision"], curve["recall"], curve["thresholds"], strict=False)
    for precision, recall, turned in points:
        below = [label for n, label in examples if n / 8 <= 1 - turned]
        assert precision == pytest.approx(sum(below) / len(below))
        assert recall == pytest.approx(sum(below) / sum(label for _, label in examples))


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=30))
def test_areas_by_counting_pairs(examples: list[tuple[int, bool]]) -> None:
    rows = [row for n, label in examples for row in judged(n / 8, inconsistent=label)]
    level = response_level(rows, "m")
    assert level is not None
    good = [n for n, label in examples if not label]
    bad = [n for n, label in examples if label]
    if not good or not bad:
        assert level["roc_auc"] is level["average_precision_consistent"] is None
        return
    pairs = [(a > b) + 0.5 * (a == b) for a in good for b in bad]
    assert level["roc_auc"] == pytest.approx(sum(pairs) / len(pairs))


@given(
    st.integers(2, 8).flatmap(
        lambda n: st.tuples(
            st.lists(st.lists(st.integers(0, 5), min_size=n, max_size=n), min_size=1, max_size=4),
            st.permutations(range(n)),
        )
    )
)
def test_spearman_is_scipys(case: tuple[list[list[int]], list[int]]) -> None:
    from scipy.stats import spearmanr

    rows, reference = case
    varied = [row for row in rows if len(set(row)) > 1]
    wanted = [spearmanr(row, reference).statistic for row in varied]
    assert spearman_rows(np.array(rows, dtype=float), reference) == pytest.approx(wanted, abs=1e-12)


def test_bleu_and_bertscore_are_put_on_a_scale_of_one() -> None:
    rows = [
        Judged(Response(str(n), "t", "k", n < 2), {"bleu": 10.0 * n, "bertscore": n / 10 - 0.2})
        for n in range(4)
    ]
    bleu, bert = response_level(rows, "bleu", 0.15), response_level(rows, "bertscore", 0.5)
    assert bleu is not None
    assert bert is not None
    assert bleu["accuracy"] == bert["accuracy"] == 1.0
    thresholds = bert["curves"]["consistent"]["thresholds"]
    assert thresholds == pytest.approx([0, 1 / 3, 2 / 3, 1])
    same = [row._replace(scores={"bertscore": 0.5}) for row in rows]
    level = response_level(same, "bertscore")
    assert level is not None
    assert level["accuracy"] == 0.5


def test_contexts_with_one_response_of_each_kind() -> None:
    rows = [
        *judged(0.1, inconsistent=True, context="a"),
        *judged(0.9, 0.8, inconsistent=False, context="a"),
        *judged(0.2, 0.3, inconsistent=True, context="both"),
        *judged(0.4, inconsistent=False, context="none"),
        *judged(None, inconsistent=True, context="unscored"),
        *judged(0.7, inconsistent=False, context="unscored"),
        *judged(0.5, inconsistent=True),
    ]
    assert contexts_of(rows, "m") == [(0.9, 0.1)]
    counts = annotation_counts(rows)
    assert counts == {
        "contexts": 4,
        "inconsistent": {"s": 4},
        "exactly_one": 2,
        "both": 1,
        "none": 1,
    }


def test_a_perfect_measure_ranks_perfectly_and_a_constant_one_not_at_all() -> None:
    perfect = system_level([(1.0, 0.0)] * 7, iterations=20)
    assert perfect == {
        "contexts": 7, "spearman": 1.0, "interval": [1.0, 1.0], "unscored": 0, "gap": 1.0,
    }  # fmt: skip
    inverted = system_level([(0.0, 1.0)] * 7, iterations=20)
    assert inverted is not None
    assert inverted["spearman"] == -1.0
    constant = system_level([(0.5, 0.5)] * 7, iterations=20)
    assert constant is not None
    assert (constant["spearman"], constant["interval"], constant["unscored"]) == (None, None, 20)
    assert system_level([]) is None


def test_a_seed_gives_the_same_draws_and_leaves_numpys_alone() -> None:
    contexts = [(math.sin(n), math.cos(n)) for n in range(20)]
    state = np.random.get_state()
    for official in (False, True):
        levels = [
            system_level(contexts, iterations=30, seed=seed, official=official)
            for seed in (1, 1, 2)
        ]
        assert levels[0] == levels[1] != levels[2]
    assert all(np.array_equal(a, b) for a, b in zip(state, np.random.get_state(), strict=True))


@pytest.mark.parametrize("kind", ["svg", "pdf"])
def test_pictures_are_the_same_each_time(tmp_path: Path, kind: str) -> None:
    rows = [*judged(0.1, 0.4, inconsistent=True), *judged(0.3, 0.9, inconsistent=False)]
    level = response_level(rows, "m")
    assert level is not None
    one, two = tmp_path / f"one.{kind}", tmp_path / f"two.{kind}"
    plot_levels({"m": level}, one)
    plot_levels({"m": level}, two)
    head = {"svg": b"<?xml", "pdf": b"%PDF"}[kind]
    assert one.read_bytes().startswith(head)
    assert one.read_bytes() == two.read_bytes()
    one_class = response_level(judged(0.1, 0.4, inconsistent=True), "m")
    assert one_class is not None
    plot_levels({"m": one_class}, one)
    for levels, name in (({}, one.name), ({"m": level}, "a.gif")):
        with pytest.raises(InputError, match="--plot"):
            plot_levels(levels, tmp_path / name)


def test_float_noise_decides_no_rank() -> None:
    """Scores that are equal but for the order of their sums are ties."""
    noisy = [0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2]
    plain = [0.3] * 4
    found = [
        response_level(
            [
                Judged(Response(str(i), "t", "k", inconsistent=i % 2 == 0), {"m": score})
                for i, score in enumerate(scores)
            ],
            "m",
        )
        for scores in (noisy, plain)
    ]
    assert found[0] is not None
    assert found[1] is not None
    for name in ("roc_auc", "average_precision_consistent", "average_precision_inconsistent"):
        assert found[0][name] == found[1][name]
