"""Meta-evaluation: labels, contexts, simulated systems, pictures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.attribution.q2 import Response
from semqa.attribution.q2.meta import response_level, system_level, three_way


def judged(
    *scores: float | None, inconsistent: bool | None, context: str | None = None
) -> list[Response]:
    return [
        Response(str(n), "t", "k", inconsistent, "s", context, scores={"m": score})
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
    assert level["inconsistent"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5}
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
        Response(str(n), "t", "k", rating=rating, scores={"m": score / 4})
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


def test_bleu_and_bertscore_are_put_on_a_scale_of_one() -> None:
    rows = [
        Response(str(n), "t", "k", n < 2, scores={"bleu": 10.0 * n, "bertscore": n / 10 - 0.2})
        for n in range(4)
    ]
    bleu, bert = response_level(rows, "bleu", 0.15), response_level(rows, "bertscore", 0.5)
    assert bleu is not None
    assert bert is not None
    assert bleu["accuracy"] == bert["accuracy"] == 1.0
    thresholds = bert["curves"]["consistent"]["thresholds"]
    assert thresholds == pytest.approx([0, 1 / 3, 2 / 3, 1])
    same = [replace(row, scores={"bertscore": 0.5}) for row in rows]
    level = response_level(same, "bertscore")
    assert level is not None
    assert level["accuracy"] == 0.5


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
