"""Fast constraint, plain reference and oracle agree: every mask is exactly what the language says."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semqa import InputError, Source
from semqa.decoding import CopyConstraint, QuotePolicy
from semqa.decoding.naive import NaiveConstraint
from semqa.decoding.vocabulary import Vocabulary
from tests.decoding.oracle import is_answer_bytes, masks_by_enumeration
from tests.decoding.strategies import FAR_OFF, Case, cases, fitting, policies, questions
from tests.effort import effort

if TYPE_CHECKING:
    from collections.abc import Callable


relaxed = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

impls = pytest.mark.parametrize("impl", [NaiveConstraint, CopyConstraint], ids=["naive", "fast"])


def make(impl: Callable[..., Any], case: Case) -> Any:
    return impl(case.vocabulary, case.sources, case.policy, question=case.question)


def make_or_none(impl: Callable[..., Any], case: Case, max_tokens: int | None) -> Any:
    """Return a constraint and its first state; None where no answer can be written."""
    try:
        constraint = make(impl, case)
        return constraint, constraint.start(max_tokens)
    except InputError:
        return None


def choose(constraint: Any, state: Any, vocabulary: Vocabulary, rng: random.Random) -> int:
    """Choose an allowed token, often one that opens or closes a quote."""
    allowed = constraint.allowed(state).tolist()
    if rng.random() < 0.5:
        bracket = b"]" if constraint.in_quote(state) else b"["
        turning = [token for token in allowed if bracket in vocabulary.token_bytes(token)]
        allowed = turning or allowed
    longer = [token for token in allowed if len(vocabulary.token_bytes(token)) > 1]
    return int(rng.choice(longer if longer and rng.random() < 0.5 else allowed))


def bits_of(mask: np.ndarray[Any, Any], size: int) -> list[int]:
    return [token for token in range(size) if mask[token // 32] >> (token % 32) & 1]


@settings(relaxed, max_examples=effort(50))
@given(
    case=cases(),
    max_tokens=st.none() | st.integers(1, 25) | st.just(FAR_OFF),
    rng=st.randoms(use_true_random=False),
)
def test_fast_masks_are_those_of_the_definition(
    case: Case, max_tokens: int | None, rng: random.Random
) -> None:
    slow, fast = (
        make_or_none(impl, case, max_tokens) for impl in (NaiveConstraint, CopyConstraint)
    )
    exact = case.is_exact(max_tokens)
    if exact or slow is None:
        assert (slow is None) == (fast is None)
    if slow is None or fast is None:
        return
    (slow, slow_state), (fast, fast_state) = slow, fast
    written = b""
    for _ in range(14):
        wanted, got = slow.allowed(slow_state).tolist(), fast.allowed(fast_state).tolist()
        if exact:
            assert got == wanted, written
            if not case.counting_rules:
                wanted, got = (
                    slow.shortest_completion(slow_state),
                    fast.shortest_completion(fast_state),
                )
                assert len(got) == len(wanted), written
            assert fast.is_accepting(fast_state) == slow.is_accepting(slow_state), written
        else:
            assert set(got) <= set(wanted), written
            assert got, written
        assert fast.in_quote(fast_state) == slow.in_quote(slow_state), written
        assert fast.has_ended(fast_state) == slow.has_ended(slow_state), written
        token = choose(fast, fast_state, case.vocabulary, rng)
        written += case.vocabulary.token_bytes(token)
        slow_state, fast_state = slow.advance(slow_state, token), fast.advance(fast_state, token)


TINY = (
    # sources, an answer to cut into tokens
    ([Source("ab a")], b"x[ 1 ab ]"),
    ([Source("a", title="b")], b"[ 1 b ] [ 1 a ]"),
    ([Source(""), Source("a a")], b"[ 2 a ]a[ 2 a a ]"),
    ([Source("é ü")], "[ 1 é ]ü".encode()),
    ([Source("B. c")], b"A[ 1 B. ] C 1"),
    ([Source("B 12")], b"a B 12[ 1 B 12 ]1"),
    ([Source("1 2")] * 2 + [Source("3")] * 9, b"[ 1 1 ][ 11 3 ]"),
    ([Source("a[b] c"), Source("a\ud800b")], b"[ 2 a ]c[ 1 b ]"),
    ([Source("a b c d")], b"a b[ 1 a b c ] a"),
)


@st.composite
def tiny_cases(draw: st.DrawFn) -> Case:
    sources, answer = draw(st.sampled_from(TINY))
    rng = draw(st.randoms(use_true_random=False))
    size = rng.randint(2, 4)
    cuts = sorted(rng.sample(range(1, len(answer)), size - 1))
    tokens = [answer[a:b] for a, b in zip([0, *cuts], [*cuts, len(answer)], strict=True)]
    if rng.random() < 0.5:
        tokens[rng.randrange(size)] = rng.choice(
            [b" ", b"]", b"a", b" ]", b"] [ 1 a", b"\xc3", b"1"]
        )
    policy = fitting(draw(policies | st.just(QuotePolicy())), len(sources))
    vocabulary = Vocabulary.from_tokens([*tokens, b""], [len(tokens)])
    return Case(vocabulary, sources, policy, draw(questions), complete=False)


@impls
@settings(relaxed, max_examples=effort(50))
@given(case=tiny_cases(), most=st.integers(0, 6))
def test_masks_are_those_of_all_answers_written_out(
    impl: Callable[..., Any], case: Case, most: int
) -> None:
    """Every sequence of tokens up to a length is asked of the oracle; masks are what remains."""
    end = case.vocabulary.eos_ids[0]
    wanted = masks_by_enumeration(
        [case.vocabulary.token_bytes(token) for token in range(end)],
        most,
        lambda data: is_answer_bytes(data, case.sources, case.policy, case.question),
    )
    started = make_or_none(impl, case, most + 1)
    exact = impl is NaiveConstraint or case.is_exact(most + 1)
    if exact or not wanted:
        assert (started is None) == (not wanted)
    if started is None:
        return
    constraint, first = started
    walk: list[tuple[tuple[int, ...], Any]] = [((), first)]
    while walk:
        ids, state = walk.pop()
        got = {-1 if token == end else token for token in constraint.allowed(state).tolist()}
        assert got == wanted[ids] if exact else got and got <= wanted[ids], ids
        walk += [((*ids, t), constraint.advance(state, t)) for t in got if t >= 0]


@impls
@settings(relaxed, max_examples=effort(20))
@given(
    case=cases(), max_tokens=st.none() | st.integers(1, 40), rng=st.randoms(use_true_random=False)
)
def test_an_answer_keeps_its_promises(
    impl: Callable[..., Any], case: Case, max_tokens: int | None, rng: random.Random
) -> None:
    """Masks, ids, advancing, batches and completions tell the same, and the oracle agrees."""
    started = make_or_none(impl, case, max_tokens)
    if started is None:
        return
    constraint, state = started
    vocabulary, written = case.vocabulary, b""
    states: list[Any] = []
    tokens: list[int] = []
    everything = set(range(vocabulary.size))
    for _ in range(12):
        kept = tuple(state)
        allowed = constraint.allowed(state)
        assert allowed.dtype == np.int64
        assert allowed.size > 0
        assert bits_of(constraint.mask(state), vocabulary.size) == allowed.tolist()
        assert set(allowed.tolist()) <= everything - vocabulary.special_ids
        others = sorted(everything - set(allowed.tolist()))
        for token in rng.sample(others, min(4, len(others))):
            with pytest.raises(InputError, match=rf"token not allowed here: got {token}\b"):
                constraint.advance(state, token)
        completion = constraint.shortest_completion(state)
        if max_tokens is not None:
            assert len(tokens) + len(completion) <= max_tokens
        finished, text = state, written
        for token in completion:
            finished = constraint.advance(finished, token)
            text += vocabulary.token_bytes(token)
        assert constraint.has_ended(finished)
        assert constraint.is_accepting(finished)
        assert constraint.allowed(finished).tolist() == list(vocabulary.eos_ids)
        assert constraint.shortest_completion(finished) == []
        assert is_answer_bytes(text, case.sources, case.policy, case.question)
        assert constraint.is_accepting(state) == bool({*allowed.tolist()} & {*vocabulary.eos_ids})
        token = choose(constraint, state, vocabulary, rng)
        states.append(state)
        tokens.append(token)
        after = constraint.advance(state, token)
        assert state == kept
        assert constraint.advance(state, token) == after
        assert hash(after) == hash(constraint.advance(state, token))
        state, written = after, written + vocabulary.token_bytes(token)
        if constraint.has_ended(state):
            break
    batch = np.array(states, np.int32)
    alone = [constraint.mask(state) for state in states]
    assert np.array_equal(constraint.mask_batch(batch), np.array(alone))
    out = np.full((len(states), len(alone[0])), -1, np.int32)
    constraint.mask_batch(batch, out)
    assert np.array_equal(out, np.array(alone))
    afterwards = constraint.advance_batch(batch, np.array(tokens))
    assert [tuple(row) for row in afterwards.tolist()] == [*states[1:], state]


@impls
def test_a_token_may_finish_a_character_and_open_a_quote(impl: Callable[..., Any]) -> None:
    """Then the end may be nearer through the quote than through the rest of the character."""
    tokens = [*[bytes([byte]) for byte in range(256)], b"\x9f\x91\xa7[ 1 ", b"x ]", b""]
    constraint = impl(Vocabulary.from_tokens(tokens, [258]), [Source("x")])
    state = constraint.start(4)
    assert 0xF0 in constraint.allowed(state)
    assert 0xF4 not in constraint.allowed(state)
    state = constraint.advance(state, 0xF0)
    assert constraint.allowed(state).tolist() == [256]
