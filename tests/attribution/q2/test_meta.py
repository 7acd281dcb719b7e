"""Meta-evaluation: labels, contexts, simulated systems, pictures."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.attribution.q2 import (
    Judged,
    Response,
    Simulation,
    annotation_counts,
    contexts_of,
    response_level,
    system_level,
)
from semqa.attribution.q2.meta import plot_levels
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
    assert (level.n, level.unscored) == (4, 1)
    row = level.to_dict()
    assert row["confusion"] == {
        "inconsistent_as_inconsistent": 1,
        "inconsistent_as_consistent": 1,
        "consistent_as_inconsistent": 1,
        "consistent_as_consistent": 1,
    }
    assert row["accuracy"] == 0.5
    assert "curves" not in row
    assert "thresholds" not in row
    several = response_level(given_scores, "m", 0.5, 0.6)
    assert several is not None
    assert [at["threshold"] for at in several.to_dict()["thresholds"]] == [0.5, 0.6]
    assert several.to_dict()["thresholds"][1]["confusion"]["inconsistent_as_consistent"] == 0
    assert response_level(given_scores, "other") is None


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=20))
def test_low_scores_detect_what_is_inconsistent(examples: list[tuple[int, bool]]) -> None:
    rows = [row for n, label in examples for row in judged(n / 8, inconsistent=label)]
    level = response_level(rows, "m")
    assert level is not None
    if not any(label for _, label in examples):
        assert level.inconsistent is None
        return
    assert level.inconsistent is not None
    for precision, recall, turned in zip(*level.inconsistent, strict=False):
        below = [label for n, label in examples if n / 8 <= 1 - turned]
        assert precision == pytest.approx(sum(below) / len(below))
        assert recall == pytest.approx(sum(below) / sum(label for _, label in examples))


def test_bleu_and_bertscore_are_put_on_a_scale_of_one() -> None:
    rows = [
        Judged(Response(str(n), "t", "k", n < 2), {"bleu": 10.0 * n, "bertscore": n / 10 - 0.2})
        for n in range(4)
    ]
    bleu, bert = response_level(rows, "bleu", 0.15), response_level(rows, "bertscore", 0.5)
    assert bleu is not None
    assert bert is not None
    assert bleu.at[0].accuracy == bert.at[0].accuracy == 1.0
    assert bert.consistent is not None
    assert bert.consistent.thresholds.tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])
    same = [row._replace(scores={"bertscore": 0.5}) for row in rows]
    level = response_level(same, "bertscore")
    assert level is not None
    assert level.at[0].accuracy == 0.5


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
    simulation = Simulation(size=40, iterations=20)
    perfect = system_level([(1.0, 0.0)] * 7, "m", simulation)
    assert perfect is not None
    assert (perfect.mean, perfect.interval, perfect.unscored, perfect.gap) == (
        1.0,
        (1.0, 1.0),
        0,
        1.0,
    )
    inverted = system_level([(0.0, 1.0)] * 7, "m", simulation)
    assert inverted is not None
    assert inverted.mean == -1.0
    constant = system_level([(0.5, 0.5)] * 7, "m", simulation)
    assert constant is not None
    assert (constant.mean, constant.interval, constant.unscored) == (None, None, 20)
    assert system_level([], "m") is None


def test_the_official_draws_are_those_of_numpys_global_generator() -> None:
    """Plain loops over the global generator, in the order of the released code."""
    from scipy.stats import spearmanr

    generator = np.random.default_rng(3)
    contexts = [(float(a), float(b)) for a, b in generator.random((11, 2))]
    simulation = Simulation((0.1, 0.5, 0.9), size=9, iterations=5, seed=4, official=True)
    state = np.random.get_state()
    try:
        np.random.seed(4)
        found = []
        for _ in range(5):
            sampled = np.random.choice(11, size=9, replace=True)
            means = []
            for rate in (0.1, 0.5, 0.9):
                wrong = np.random.choice(np.arange(9), size=round(rate * 9), replace=False)
                means.append(
                    np.mean([contexts[c][int(place in wrong)] for place, c in enumerate(sampled)])
                )
            found.append(spearmanr([3, 2, 1], means).statistic)
    finally:
        np.random.set_state(state)
    level = system_level(contexts, "m", simulation)
    assert level is not None
    assert level.mean == pytest.approx(np.mean(found))
    after = np.random.get_state()
    assert all(np.array_equal(a, b) for a, b in zip(state, after, strict=True))


def test_a_seed_gives_the_same_draws() -> None:
    contexts = [(math.sin(n), math.cos(n)) for n in range(20)]
    levels = [system_level(contexts, "m", Simulation(iterations=30, seed=s)) for s in (1, 1, 2)]
    assert levels[0] == levels[1] != levels[2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rates": (0.1,)}, "--rate"),
        ({"rates": (0.1, 1.5)}, "--rate"),
        ({"rates": (0.1, float("nan"))}, "--rate"),
        ({"size": 0}, "Simulated systems"),
    ],
)
def test_simulations_that_are_none(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Simulation(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_pictures_are_the_same_each_time(tmp_path: Path, kind: str) -> None:
    rows = [*judged(0.1, 0.4, inconsistent=True), *judged(0.3, 0.9, inconsistent=False)]
    level = response_level(rows, "m")
    assert level is not None
    one, two = tmp_path / f"one.{kind}", tmp_path / f"two.{kind}"
    plot_levels([level], one)
    plot_levels([level], two)
    head = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[kind]
    assert one.read_bytes().startswith(head)
    assert one.read_bytes() == two.read_bytes()


def test_pictures_of_one_class_and_of_nothing(tmp_path: Path) -> None:
    level = response_level(judged(0.1, 0.4, inconsistent=True), "m")
    assert level is not None
    plot_levels([level], tmp_path / "a.svg")
    with pytest.raises(InputError, match="--plot"):
        plot_levels([], tmp_path / "a.svg")
    with pytest.raises(InputError, match="--plot"):
        plot_levels([level], tmp_path / "a.gif")


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
    assert found[0].ranking == found[1].ranking
