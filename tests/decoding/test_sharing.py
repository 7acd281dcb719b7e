"""Constraints shared by threads and processes, and states of other constraints."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from semqa import InputError, Source
from semqa.decoding import CopyConstraint, QuotePolicy
from tests.decoding.test_walks import ARTICLES, POLICIES, QUESTION
from tests.decoding.vocabularies import poor_vocabulary, straddling_vocabulary, tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable

BUDGET = 45


def constraint_of(policy: QuotePolicy) -> CopyConstraint:
    return CopyConstraint(straddling_vocabulary(), ARTICLES, policy, question=QUESTION)


def walk(constraint: Any, seed: int) -> list[tuple[bytes, int]]:
    """Return the masks and tokens of one random answer, up to its budget."""
    rng, state, steps = random.Random(seed), constraint.start(BUDGET), []
    while not constraint.has_ended(state):
        token = rng.choice(constraint.allowed(state).tolist())
        steps.append((constraint.mask(state).tobytes(), token))
        state = constraint.advance(state, token)
    return steps


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_threads_share_a_constraint(policy: QuotePolicy) -> None:
    alone = [walk(constraint_of(policy), seed) for seed in range(8)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(5):
            # A new constraint each time, so that costs are computed while others decode.
            constraint, gate = constraint_of(policy), threading.Barrier(8)

            def work(
                seed: int, constraint: Any = constraint, gate: threading.Barrier = gate
            ) -> list[tuple[bytes, int]]:
                gate.wait()
                return walk(constraint, seed)

            with ThreadPoolExecutor(8) as pool:
                assert list(pool.map(work, range(8))) == alone
    finally:
        sys.setswitchinterval(before)


def test_a_pickled_constraint_works_in_another_process() -> None:
    constraint = constraint_of(QuotePolicy())
    state = constraint.start()
    for token in tokens_of(straddling_vocabulary(), b"[ 1 White"):
        state = constraint.advance(state, token)
    program = (
        "import pickle, sys\n"
        "constraint, state = pickle.load(sys.stdin.buffer)\n"
        "sys.stdout.buffer.write(pickle.dumps(constraint.allowed(state).tolist()))\n"
    )
    made = subprocess.run(
        [sys.executable, "-P", "-c", program],
        input=pickle.dumps((constraint, state)),
        capture_output=True,
        check=True,
    )
    assert pickle.loads(made.stdout) == constraint.allowed(state).tolist()


class TestForeignStates:
    """A state contains positions in the text of its constraint, which are invalid in another."""

    def states(self) -> tuple[CopyConstraint, CopyConstraint, Any]:
        long = CopyConstraint(straddling_vocabulary(), [Source("word " * 50_000)])
        state = long.start()
        for token in tokens_of(straddling_vocabulary(), b"[ 1 word word"):
            state = long.advance(state, token)
        return long, constraint_of(QuotePolicy()), state

    def test_they_are_rejected(self) -> None:
        _, other, state = self.states()
        for call in (
            lambda: other.mask(state),
            lambda: other.allowed(state),
            lambda: other.advance(state, 5),
            lambda: other.is_accepting(state),
            lambda: other.shortest_completion(state),
        ):
            with pytest.raises(InputError, match="belongs to another constraint"):
                call()

    @pytest.mark.parametrize(
        "other",
        [
            CopyConstraint(straddling_vocabulary(), ARTICLES, question="Who?"),
            CopyConstraint(straddling_vocabulary(), ARTICLES[::-1], question=QUESTION),
            CopyConstraint(straddling_vocabulary(), ARTICLES, POLICIES[1], question=QUESTION),
            CopyConstraint(poor_vocabulary(), ARTICLES, question=QUESTION),
        ],
        ids=["question", "sources", "policy", "vocabulary"],
    )
    def test_any_difference_matters(self, other: CopyConstraint) -> None:
        with pytest.raises(InputError, match="belongs to another constraint"):
            other.mask(constraint_of(QuotePolicy()).start())


@pytest.mark.parametrize("kind", [np.int64, np.uint32, np.float32])
def test_invalid_mask_arrays_are_rejected(kind: Any) -> None:
    constraint = constraint_of(QuotePolicy())
    state = constraint.start()
    width = constraint.mask(state).size
    with pytest.raises(InputError, match="mask must be a C-contiguous"):
        constraint.mask(state, np.zeros(width, kind))
    with pytest.raises(InputError, match="mask must be a C-contiguous"):
        constraint.mask(state, np.zeros(2 * width, np.int32)[::2])
    with pytest.raises(InputError, match="mask must have shape"):
        constraint.mask(state, np.zeros(width + 1, np.int32))


@pytest.mark.parametrize("change", [lambda s: s.fields, lambda s: s[:1], lambda s: (*s, 0), str])
def test_invalid_states_are_rejected(change: Any) -> None:
    constraint = constraint_of(QuotePolicy())
    wrong = change(constraint.start())
    calls: list[Callable[[], object]] = [
        lambda: constraint.mask(wrong),
        lambda: constraint.advance(wrong, 5),
    ]
    for call in calls:
        with pytest.raises(InputError, match="A state must come from start"):
            call()


@pytest.mark.parametrize("token", ["a", None, 2**70])
def test_invalid_tokens_are_rejected(token: Any) -> None:
    constraint = constraint_of(QuotePolicy())
    with pytest.raises(InputError, match="token_id must be a token ID"):
        constraint.advance(constraint.start(), token)


@pytest.mark.parametrize("budget", ["5", 1.5, True, 0, -1, 2**31])
def test_a_budget_is_a_whole_number(budget: Any) -> None:
    with pytest.raises(InputError, match="max_tokens must be a whole number above 0"):
        constraint_of(QuotePolicy()).start(budget)


def test_a_budget_may_be_too_small_for_any_answer() -> None:
    constraint = constraint_of(QuotePolicy())
    with pytest.raises(InputError, match="max_tokens must be at least"):
        constraint.start(2)


def test_the_cache_of_views_is_bounded() -> None:
    words = [f"w{number}" for number in range(60_000)]
    constraint = CopyConstraint(straddling_vocabulary(), [Source(" ".join(words))])
    bytes_kept = 0
    for word in words[:40]:
        state = constraint.start(100)
        for token in tokens_of(straddling_vocabulary(), f"[ 1 {word} ]".encode()):
            state = constraint.advance(state, token)
        views = constraint._views.values()
        bytes_kept = sum(array.nbytes for view in views for array in view.arrays.values())
    assert len(constraint._views) < 40
    assert bytes_kept < 2**26
    small = constraint_of(QuotePolicy())
    assert small._max_views == 256
