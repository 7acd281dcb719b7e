"""Selectors: which exemplars, in which order, and that the choice is the same every time."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from semqa import InputError, Source
from semqa.prompting import Exemplar, ExemplarSelector
from semqa.retrieval.exemplars import ExemplarPool, create_selector

QUESTIONS = ["who sang a", "who sang b", "when was a sung", "where is b", "why is c", "how is d"]


class Letters:
    """Embeds a text as the counts of its letters."""

    name = "letters"

    def __init__(self) -> None:
        self.calls: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        rows = [[text.lower().count(chr(97 + k)) for k in range(26)] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), 26)

    def identity(self) -> str:
        return "letters-1"


def pool_of(questions: Sequence[str]) -> ExemplarPool:
    return ExemplarPool(
        Exemplar(q, (Source(f"About {q}."),), f"[ 1 {q} ]", f"q{k}")
        for k, q in enumerate(questions)
    )


def selector(
    strategy: str, questions: Sequence[str] = QUESTIONS, seed: int = 0
) -> ExemplarSelector:
    return create_selector(strategy, pool_of(questions), seed=seed, encoder=Letters)


def chosen(selector: ExemplarSelector, question: str, count: int) -> list[str]:
    return [exemplar.question for exemplar in selector.select(question, count)]


STRATEGIES = ["knn", "random", "fixed", "fixed:q4,q0,q2,q1,q5,q3"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("question", [*QUESTIONS, "something else"])
def test_properties_of_every_strategy(strategy: str, question: str) -> None:
    asked = f"  {question.upper()}?"
    most = len(QUESTIONS) - (question in QUESTIONS)
    for count in range(most + 1):
        found = chosen(selector(strategy), asked, count)
        assert len(set(found)) == len(found) == count
        assert question not in found
        # Dropping the last ones gives what would have been chosen for fewer.
        assert found == chosen(selector(strategy), asked, most)[:count]
    for wrong in (selector(strategy).select, lambda q, n: selector(strategy).prepare([q], n)):
        with pytest.raises(InputError, match=f"at most {most}, |at least {most + 1} "):
            wrong(asked, most + 1)


def test_knn_is_the_definition() -> None:
    """The same order as a loop over cosines; equals in the order of the pool."""

    def cosine(a: str, b: str) -> float:
        x, y = Letters().encode([a, b]).astype(float)
        return round(float(x @ y / np.sqrt((x @ x) * (y @ y))), 6)

    for question in ("who sang c", "where was a", "d"):
        expected = sorted(QUESTIONS, key=lambda q: -cosine(q, question))
        assert chosen(selector("knn"), question, 6) == expected


def test_knn_equals_keep_the_order_of_the_pool() -> None:
    assert chosen(selector("knn", ["ab", "ba", "cd", "b a!a b"]), "abab", 3) == [
        "ab",
        "ba",
        "b a!a b",
    ]


def test_knn_of_a_question_without_letters() -> None:
    assert chosen(selector("knn"), "1943?", 2) == QUESTIONS[:2]


def test_knn_embeds_in_batches_and_once() -> None:
    letters = Letters()
    nearest = create_selector("knn", pool_of(QUESTIONS), encoder=lambda: letters)
    nearest.prepare(["x y", "y z", "x y"], 2)
    nearest.select("x y", 2)
    nearest.select("y z", 1)
    assert letters.calls == [QUESTIONS, ["x y", "y z"]]
    nearest.select("new", 1)
    assert letters.calls[2:] == [["new"]]


@given(seed=st.integers(0, 2**31), order=st.permutations(QUESTIONS), question=st.text(max_size=5))
def test_random_depends_on_seed_and_question_alone(
    seed: int, order: list[str], question: str
) -> None:
    """Neither on the order of the pool, nor on what was asked before, nor on Python's generator."""
    first = selector("random", seed=seed)
    found = chosen(first, question, 4)
    random.seed(len(question))
    second = selector("random", order, seed=seed)
    chosen(second, "another question", 3)
    assert chosen(second, question, 4) == found


def test_random_is_fair_enough() -> None:
    """Each of 6 is first in 1 of 6 cases: 400 +- 57 of 2,400, at three standard deviations."""
    seeds, questions = range(40), [f"question {k}" for k in range(60)]
    firsts = [chosen(selector("random", seed=s), q, 1)[0] for s in seeds for q in questions]
    for question in QUESTIONS:
        assert abs(firsts.count(question) - 400) < 57
    assert chosen(selector("random", seed=1), "q", 5) != chosen(selector("random", seed=2), "q", 5)


def test_fixed_takes_the_first_or_the_named() -> None:
    assert chosen(selector("fixed"), "other", 2) == QUESTIONS[:2]
    assert chosen(selector("fixed"), QUESTIONS[0], 2) == QUESTIONS[1:3]
    assert chosen(selector("fixed: q3 , q1,q3"), "other", 2) == [QUESTIONS[3], QUESTIONS[1]]
    assert chosen(selector("fixed:q3,q1"), QUESTIONS[3], 1) == [QUESTIONS[1]]
    with pytest.raises(InputError, match="got 1"):
        selector("fixed:q3,q1").select(QUESTIONS[3], 2)
    with pytest.raises(InputError, match="q9"):
        selector("fixed:q3,q9")


@pytest.mark.parametrize("strategy", ["nearest", "", "knn:q1", "fixed:", "fixed: ", "random:3"])
def test_unknown_strategies_are_rejected(strategy: str) -> None:
    with pytest.raises(InputError, match=r"^exemplars must be one of"):
        selector(strategy)


def test_identities_tell_choices_apart() -> None:
    made = [
        selector("knn"), selector("random"), selector("random", seed=1), selector("fixed"),
        selector("fixed:q1"), selector("fixed", QUESTIONS[:3]),
    ]  # fmt: skip
    identities = [repr(sorted(each.identity().items(), key=str)) for each in made]
    assert len(set(identities)) == len(made)
    assert made[0].identity()["encoder_id"] == "letters-1"
