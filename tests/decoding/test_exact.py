"""The fast constraint and the plain reference have the same masks."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semqa import InputError, Source
from semqa.decoding import CopyConstraint, State, find_breach
from semqa.decoding.automaton.memory import CONTROL, DISTANCE, UNLIMITED
from semqa.decoding.vocabulary import Vocabulary
from tests.decoding.oracle import is_answer_bytes
from tests.decoding.strategies import Case, cases
from tests.decoding.vocabularies import BYTES
from tests.effort import effort
from tests.reference.constraint import ReferenceConstraint

if TYPE_CHECKING:
    from tests.reference.language import Place

relaxed = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def make_or_none(case: Case, max_tokens: int | None = None) -> tuple[CopyConstraint, State] | None:
    """Return a constraint and its first state; None if no answer can be written."""
    try:
        constraint = CopyConstraint(
            case.vocabulary, case.sources, case.policy, question=case.question
        )
        return constraint, constraint.start(max_tokens)
    except InputError:
        return None


def choose(
    constraint: CopyConstraint, state: State, vocabulary: Vocabulary, rng: random.Random
) -> int:
    """Choose an allowed token, often one that opens or closes a quote."""
    allowed = constraint.allowed(state).tolist()
    if rng.random() < 0.5:
        bracket = b"]" if constraint.in_quote(state) else b"["
        turning = [token for token in allowed if bracket in vocabulary.token_bytes(token)]
        allowed = turning or allowed
    longer = [token for token in allowed if len(vocabulary.token_bytes(token)) > 1]
    return int(rng.choice(longer if longer and rng.random() < 0.5 else allowed))


@settings(relaxed, max_examples=effort(40))
@given(case=cases(), rng=st.randoms(use_true_random=False))
def test_masks_equal_the_reference(case: Case, rng: random.Random) -> None:
    reference = ReferenceConstraint(case.vocabulary, case.sources, case.policy, case.question)
    place: Place | None = reference.first()
    assert place is not None
    started = make_or_none(case)
    if case.complete:
        assert (started is None) == (not reference.can_finish(place))
    if started is None:
        return
    fast, state = started
    written = b""
    for _ in range(25):
        assert place is not None
        wanted, got = reference.allowed(place), fast.allowed(state).tolist()
        differing = [case.vocabulary.token_bytes(t) for t in {*got} ^ {*wanted}]
        if case.complete:
            assert got == wanted, (written, differing)
        else:  # costs are not minimal if some texts cannot be written
            assert got, written
            assert {*got} <= {*wanted}, (written, differing)
        token = choose(fast, state, case.vocabulary, rng)
        for refused in rng.sample(range(case.vocabulary.size), 5):
            if refused not in got:
                with pytest.raises(InputError, match="not allowed here"):
                    fast.advance(state, refused)
        state = fast.advance(state, token)
        written += case.vocabulary.token_bytes(token)
        if fast.has_ended(state):
            assert find_breach(written.decode(), case.sources, case.policy, case.question) is None
            break
        place = reference.after(place, token)


@pytest.mark.parametrize("behind", [b" ] in the of to", b" ] in-the-of-to", b"] in/the/of/to"])
def test_a_token_may_close_a_quote_and_begin_a_run_like_an_earlier_one(behind: bytes) -> None:
    vocabulary = Vocabulary.from_tokens([*BYTES, behind, b""], [257])
    constraint = CopyConstraint(vocabulary, [Source("x y")])
    for before, fits in ((b"of the in [ 1 x", True), (b"in the of [ 1 x", False)):
        state = constraint.start()
        for byte in before + b" " * behind.startswith(b"]"):
            state = constraint.advance(state, byte)
        assert (256 in constraint.allowed(state)) == fits


def test_a_run_that_may_be_used_up_is_not_the_only_way_to_close_a_quote() -> None:
    tokens = [b"x", b"y", b" ", b"[ 1 ", b" ] in the of to", b""]
    with pytest.raises(InputError, match="cannot write an answer"):
        CopyConstraint(Vocabulary.from_tokens(tokens, [5]), [Source("x y")])


def costs_are_those_computed_from_nothing(constraint: CopyConstraint, state: State) -> bool:
    reused, plain = constraint.view(state.used, 0), constraint.view(state.used, UNLIMITED)
    computed = constraint._with_costs(plain, plain._replace(handle=constraint._laid.handle))
    tables = (DISTANCE, CONTROL)
    return all(np.array_equal(reused.arrays[each], computed.arrays[each]) for each in tables)


def test_a_quote_changes_the_costs_of_tokens_that_reach_it_from_afar() -> None:
    tokens = [*BYTES, b"abcdefgh ij ]", b" abc", b" kl ]", b""]
    constraint = CopyConstraint(Vocabulary.from_tokens(tokens, [259]), [Source("abcdefgh ij, kl")])
    state = constraint.start()
    for byte in b"[ 1 ij ] [ 1 ":
        state = constraint.advance(state, byte)
    assert 256 not in constraint.allowed(state)
    assert costs_are_those_computed_from_nothing(constraint, state)


@settings(relaxed, max_examples=effort(40))
@given(case=cases(), rng=st.randoms(use_true_random=False))
def test_costs_after_quotes_equal_those_computed_from_nothing(
    case: Case, rng: random.Random
) -> None:
    """Costs far from the quoted text are copied from the view without quotes."""
    longer = [Source(one.text * 3, title=one.title) for one in case.sources]
    started = make_or_none(case._replace(sources=longer))
    if started is None:
        return
    constraint, state = started
    for _ in range(40):
        state = constraint.advance(state, choose(constraint, state, case.vocabulary, rng))
        if constraint.has_ended(state):
            break
        assert costs_are_those_computed_from_nothing(constraint, state)


@settings(relaxed, max_examples=effort(30))
@given(
    case=cases(), max_tokens=st.none() | st.integers(1, 40), rng=st.randoms(use_true_random=False)
)
def test_an_answer_obeys_its_masks(case: Case, max_tokens: int | None, rng: random.Random) -> None:
    """Masks, ids, advancing and completions agree, and every state can be finished."""
    started = make_or_none(case, max_tokens)
    if started is None:
        return
    constraint, state = started
    vocabulary, written = case.vocabulary, b""
    for steps in range(40):
        allowed = constraint.allowed(state)
        assert allowed.dtype == np.int64
        assert allowed.size > 0, written
        assert not vocabulary.special_ids & set(allowed.tolist())
        completion = constraint.shortest_completion(state)
        if max_tokens is not None:
            assert steps + len(completion) <= max_tokens
        finished, text = state, written
        for token in completion:
            finished = constraint.advance(finished, token)
            text += vocabulary.token_bytes(token)
        assert constraint.has_ended(finished)
        assert constraint.is_accepting(finished)
        assert constraint.allowed(finished).tolist() == list(vocabulary.eos_ids)
        assert is_answer_bytes(text, case.sources, case.policy, case.question)
        assert constraint.is_accepting(state) == bool({*allowed.tolist()} & {*vocabulary.eos_ids})
        token = choose(constraint, state, vocabulary, rng)
        after = constraint.advance(state, token)
        assert constraint.advance(state, token) == after
        assert hash(after) == hash(constraint.advance(state, token))
        state, written = after, written + vocabulary.token_bytes(token)
        if constraint.has_ended(state):
            break
