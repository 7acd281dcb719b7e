"""Exemplars: one answer per question, never the question itself, and the same choice every time."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from semqa import InputError, QuotedAnswer, Source
from semqa.data.quotesum import Question, Reference
from semqa.prompting import Exemplar, ExemplarSelector
from semqa.retrieval.encoder import SentenceEncoder
from semqa.retrieval.exemplars import (
    ExemplarPool,
    best_reference,
    create_selector,
    question_key,
)

SOURCES = (Source("Ann sang it in 1943."), Source("Bob sang it in 2014."))
QUESTIONS = ["who sang a", "who sang b", "when was a sung", "where is b", "why is c", "how is d"]


def exemplars(*questions: str) -> list[Exemplar]:
    return [Exemplar(q, SOURCES, "[ 1 Ann ]", f"q{k}", f"q{k}_0") for k, q in enumerate(questions)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Who sang it?", "  WHO\tsang\u00a0 it ??"),
        ("what's it", "What’s it?"),
        ("strasse", "straße"),
        ("ﬁle １", "file 1"),
        ("cafe\u0301", "café"),
    ],
)
def test_a_question_is_no_exemplar_for_itself(first: str, second: str) -> None:
    pool = ExemplarPool(exemplars("When?", first, "Where?"))
    assert pool.candidates(second, 2) == [0, 2]


def test_a_question_with_its_id_and_other_text_is_excluded() -> None:
    texts = ["When was it?", "Who sang it?"]
    asked = [("By whom was it sung?", "q1")]
    assert ExemplarPool(exemplars(*texts)).candidates(asked[0][0], 1) == [0, 1]
    assert ExemplarPool(exemplars(*texts), asked).candidates(asked[0][0], 1) == [0]
    assert ExemplarPool(exemplars(*texts), asked).candidates("Another?", 1) == [0, 1]


@pytest.mark.parametrize(
    ("first", "second"),
    [("in 1943", "in 1944"), ("résumé", "resume"), ("कि", "की"), ("a+b", "a-b")],
)
def test_different_questions(first: str, second: str) -> None:
    assert question_key(first) != question_key(second)


def test_duplicate_questions_are_kept_once() -> None:
    pool = ExemplarPool(exemplars("Who?", "WHO", "When?", "who ?"))
    assert [exemplar.qid for exemplar in pool.exemplars] == ["q0", "q2"]


def test_the_best_reference() -> None:
    """Verified beats many sources, many sources beat few, the first beats its equals."""
    fabricated = Reference("0", "[ 1 Ann ] and [ 2 Bob ] in [ 2 1943 ] .")
    one = Reference("1", "[ 1 Ann ] .")
    both = Reference("2", "[ 1 Ann ] and [ 2 Bob ] .")
    both_too = Reference("3", "[ 2 Bob ] and [ 1 Ann ] in [ 1 1943 ] .")
    plain = Reference("4", "Ann and Bob.")
    question = Question("q", "Who sang it?", SOURCES, (fabricated,))
    assert best_reference([fabricated, plain, one], question) is one
    assert best_reference([fabricated, one, both, both_too], question) is both


def test_identity_follows_the_content() -> None:
    pools = [
        ExemplarPool(exemplars("Who?", "When?")),
        ExemplarPool(exemplars("When?", "Who?")),
        ExemplarPool([Exemplar("Who?", SOURCES, "[ 1 Ann ]")]),
        ExemplarPool([Exemplar("Who?", SOURCES, "[ 2 Bob ]")]),
        ExemplarPool([Exemplar("Who?", SOURCES[:1], "[ 1 Ann ]")]),
    ]
    assert len({pool.sha256 for pool in pools}) == len(pools)


def test_on_released_data(shared_quotesum: list[Question]) -> None:
    """With ids taken away, the text alone keeps a question out."""
    nameless = [
        Exemplar(q.question.upper(), q.sources, q.texts[0], f"other-{k}")
        for k, q in enumerate(shared_quotesum)
    ]
    pool = ExemplarPool(nameless)
    for place, question in enumerate(shared_quotesum):
        seen = pool.candidates(question.question, 1)
        assert place not in seen
        assert len(seen) == len(shared_quotesum) - 1
    best = ExemplarPool.of(shared_quotesum).exemplars
    verified = [QuotedAnswer.parse(e.answer, e.sources).verified for e in best]
    assert sum(verified) >= len(best) - 2


class Letters(SentenceEncoder):
    """Embeds a text as the counts of its letters."""

    def __init__(self) -> None:
        self.name = "letters"
        self.calls: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        rows = [[text.lower().count(chr(97 + k)) for k in range(26)] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), 26)

    def identity(self) -> str:
        return "letters-1"


def selector(
    strategy: str, questions: Sequence[str] = QUESTIONS, seed: int = 0
) -> ExemplarSelector:
    pool = ExemplarPool(exemplars(*questions))
    return create_selector(strategy, pool, seed=seed, encoder=Letters)


def chosen(selector: ExemplarSelector, question: str, count: int) -> list[str]:
    return [exemplar.question for exemplar in selector.select(question, count)]


@pytest.mark.parametrize("strategy", ["knn", "random", "fixed", "fixed:q4,q0,q2,q1,q5,q3"])
@pytest.mark.parametrize("question", [QUESTIONS[2], "something else"])
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
    equal = selector("knn", ["ab", "ba", "cd", "b a!a b"])
    assert chosen(equal, "abab", 3) == ["ab", "ba", "b a!a b"]
    assert chosen(selector("knn"), "1943?", 2) == QUESTIONS[:2]  # no letters


def test_knn_embeds_in_batches_and_once() -> None:
    letters = Letters()
    pool = ExemplarPool(exemplars(*QUESTIONS))
    nearest = create_selector("knn", pool, encoder=lambda: letters)
    nearest.prepare(["x y", "y z", "x y"], 2)
    nearest.select("x y", 2)
    nearest.select("new", 1)
    assert letters.calls == [QUESTIONS, ["x y", "y z"], ["new"]]


@given(seed=st.integers(0, 2**31), order=st.permutations(QUESTIONS), question=st.text(max_size=5))
def test_random_depends_on_seed_and_question_alone(
    seed: int, order: list[str], question: str
) -> None:
    """The order of the pool, earlier questions and the state of `random` change nothing."""
    found = chosen(selector("random", seed=seed), question, 4)
    random.seed(len(question))
    second = selector("random", order, seed=seed)
    chosen(second, "another question", 3)
    assert chosen(second, question, 4) == found


def test_fixed_takes_the_first_or_the_named() -> None:
    assert chosen(selector("fixed"), QUESTIONS[0], 2) == QUESTIONS[1:3]
    assert chosen(selector("fixed: q3 , q1,q3"), "other", 2) == [QUESTIONS[3], QUESTIONS[1]]
    assert chosen(selector("fixed:q3,q1"), QUESTIONS[3], 1) == [QUESTIONS[1]]
    with pytest.raises(InputError, match="got 1"):
        selector("fixed:q3,q1").select(QUESTIONS[3], 2)
    with pytest.raises(InputError, match="q9"):
        selector("fixed:q3,q9")


@pytest.mark.parametrize("strategy", ["nearest", "knn:q1", "fixed: "])
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
