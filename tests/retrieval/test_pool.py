"""The pool: one answer a question, and never the question itself."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa import InputError, Source
from semqa.data.quotesum import Question, Reference
from semqa.prompting import Exemplar
from semqa.retrieval.exemplars import ExemplarPool, best_reference, question_key

SOURCES = (Source("Ann sang it in 1943."), Source("Bob sang it in 2014."))


def exemplars(*questions: str) -> list[Exemplar]:
    return [Exemplar(q, SOURCES, "[ 1 Ann ]", f"q{k}", f"q{k}_0") for k, q in enumerate(questions)]


SAME = [
    ("Who sang it?", "who sang it"),
    ("Who sang it?", "  WHO\tsang\u00a0 it ??"),
    ("what's it", "What’s it?"),
    ("the U.S.", "the us"),
    ("strasse", "straße"),
    ("ﬁle １", "file 1"),
    ("cafe\u0301", "café"),
]
DIFFERENT = [
    ("Who sang it?", "Who sings it?"),
    ("in 1943", "in 1944"),
    ("résumé", "resume"),
    ("कि", "की"),
    ("a+b", "a-b"),
]


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_different_questions(first: str, second: str) -> None:
    assert question_key(first) != question_key(second)


@given(st.text(max_size=20))
def test_case_and_white_space_do_not_count(text: str) -> None:
    key = question_key(text)
    assert question_key(f" {text}?\n") == key
    assert question_key(key) == key


@pytest.mark.parametrize(("first", "second"), SAME)
def test_a_question_with_another_id_is_excluded(first: str, second: str) -> None:
    pool = ExemplarPool(exemplars("When?", first, "Where?"))
    assert pool.candidates(second, 2) == [0, 2]


def test_a_question_with_its_id_and_other_text_is_excluded() -> None:
    texts = ["When was it?", "Who sang it?"]
    asked = [("By whom was it sung?", "q1")]
    assert ExemplarPool(exemplars(*texts)).candidates(asked[0][0], 1) == [0, 1]
    assert ExemplarPool(exemplars(*texts), asked).candidates(asked[0][0], 1) == [0]
    assert ExemplarPool(exemplars(*texts), asked).candidates("Another?", 1) == [0, 1]


def test_duplicate_questions_are_kept_once() -> None:
    pool = ExemplarPool(exemplars("Who?", "WHO", "When?", "who ?"))
    assert [exemplar.qid for exemplar in pool.exemplars] == ["q0", "q2"]


def test_too_few() -> None:
    pool = ExemplarPool(exemplars("Who?", "When?"))
    with pytest.raises(InputError, match="at most 1") as caught:
        pool.candidates("who", 2)
    assert (caught.value.field, caught.value.value) == ("shots", 2)
    with pytest.raises(InputError, match="at most 2"):
        pool.candidates("where", 3)


def test_the_best_reference() -> None:
    """Verified beats many sources, many sources beat few, the first beats its equals."""
    fabricated = Reference("0", "[ 1 Ann ] and [ 2 Bob ] in [ 2 1943 ] .")
    one = Reference("1", "[ 1 Ann ] .")
    both = Reference("2", "[ 1 Ann ] and [ 2 Bob ] .")
    both_too = Reference("3", "[ 2 Bob ] and [ 1 Ann ] in [ 1 1943 ] .")
    plain = Reference("4", "Ann and Bob.")
    question = Question("q", "Who sang it?", SOURCES, (fabricated,))
    for order in itertools.permutations([fabricated, one, plain]):
        assert best_reference(order, question) is one
    for order in itertools.permutations([fabricated, one, both, both_too]):
        first = min(order.index(both), order.index(both_too))
        assert best_reference(order, question) is order[first]


def test_identity_follows_the_content() -> None:
    pools = [
        ExemplarPool(exemplars("Who?", "When?")),
        ExemplarPool(exemplars("When?", "Who?")),
        ExemplarPool([Exemplar("Who?", SOURCES, "[ 1 Ann ]")]),
        ExemplarPool([Exemplar("Who?", SOURCES, "[ 2 Bob ]")]),
        ExemplarPool([Exemplar("Who?", SOURCES[:1], "[ 1 Ann ]")]),
    ]
    assert len({pool.sha256 for pool in pools}) == len(pools)
    assert ExemplarPool(exemplars("Who?", "When?")).sha256 == pools[0].sha256


def test_on_released_data(shared_quotesum: list[Question]) -> None:
    """Leave-one-out over a real file: with ids taken away, the text alone keeps a question out."""
    nameless = [
        Exemplar(q.question.upper(), q.sources, q.texts[0], f"other-{k}")
        for k, q in enumerate(shared_quotesum)
    ]
    pool = ExemplarPool(nameless)
    assert len(pool) == len(shared_quotesum)
    for place, question in enumerate(shared_quotesum):
        seen = pool.candidates(question.question, 1)
        assert place not in seen
        assert len(seen) == len(pool) - 1
    best = ExemplarPool.of(shared_quotesum).exemplars
    from semqa import QuotedAnswer

    verified = [QuotedAnswer.parse(e.answer, e.sources).verified for e in best]
    assert sum(verified) >= len(best) - 2
