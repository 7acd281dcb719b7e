"""Programs say what the constraint says: at every state of a walk, token by token."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semqa import InputError, Source
from semqa.decoding import CopyConstraint, QuotePolicy
from semqa.decoding.device import DeviceSlots
from semqa.decoding.program import (
    DeviceProgram,
    HostOnly,
    build_program,
    explore,
    shared,
    states,
    unfinished,
    why_not,
)
from semqa.kernels import tables as format_of_tables
from semqa.kernels.mask.naive import allowed_tokens
from semqa.kernels.naive_step import Standing, row_of, step
from semqa.kernels.tables import DEAD, ENDED, ProgramTables
from tests.decoding.strategies import Case, cases
from tests.decoding.vocabularies import (
    byte_vocabulary,
    poor_vocabulary,
    sentencepiece_vocabulary,
    straddling_vocabulary,
    tekken_vocabulary,
)
from tests.effort import effort

relaxed = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

ODD = [
    Source("White Christmas [sic] by Bing Crosby: 50 million copies, 50 million.", title="the the"),
    Source("日本語の文。漢字、かな 🎄👨‍👩‍👧 e\u0301te\u0301 and é×é×", title="a[b]c ]"),
    Source(""),
    Source("abab abab abab " * 6, title="x 1 2 12 3"),
    *[Source("n")] * 8,
    Source("the end", title="[ 1 The"),
]


def tables_of(program: DeviceProgram, max_tokens: int | None = None) -> ProgramTables:
    slots = DeviceSlots(program.shared, 1, torch.device("cpu"))
    assert slots.admit(0, program, begin=0, max_tokens=max_tokens)
    slots.flush()
    return slots.tables


def start_of(tables: ProgramTables) -> Standing:
    return Standing(*tables.registers[0, :3].tolist())


def walk(
    constraint: CopyConstraint, max_tokens: int | None, rng: random.Random, steps: int, tries: int
) -> int:
    """Walk, both ways at once; return how many states were compared."""
    program = build_program(constraint)
    assert isinstance(program, DeviceProgram)
    try:
        state = constraint.start(max_tokens)
    except InputError:
        with pytest.raises(InputError, match="max_tokens: got"):
            tables_of(program, max_tokens)
        return 0
    tables = tables_of(program, max_tokens)
    at = start_of(tables)
    vocabulary = constraint.vocabulary
    for count in range(steps):
        wanted = constraint.allowed(state)
        allowed = allowed_tokens(tables, row_of(tables, 0, at))
        assert torch.equal(allowed.nonzero().flatten(), torch.from_numpy(wanted))
        for token in (*rng.sample(range(vocabulary.size), tries), -1, vocabulary.size):
            expected = 0 <= token < vocabulary.size and bool(allowed[token])
            assert (step(tables, 0, at, token).state != DEAD) == expected
        token = choose(constraint, state, wanted, rng)
        state, at = constraint.advance(state, token), step(tables, 0, at, token)
        assert at.state != DEAD
        assert (at.state == ENDED) == constraint.has_ended(state)
        if at.state == ENDED:
            assert allowed_tokens(
                tables, row_of(tables, 0, at)
            ).nonzero().flatten().tolist() == list(vocabulary.eos_ids)
            assert step(tables, 0, at, vocabulary.eos_ids[0]) == at
            assert step(tables, 0, at, int(wanted[0])).state in (DEAD, ENDED)
            return count + 1
    return steps


def choose(constraint: CopyConstraint, state: Any, allowed: Any, rng: random.Random) -> int:
    """Choose an allowed token: often a bracket, or what may be part of a digit; seldom the end."""
    tokens = allowed.tolist() if len(allowed) < 2000 else rng.sample(allowed.tolist(), 2000)
    going = [token for token in tokens if token not in constraint.vocabulary.eos_ids]
    if going and rng.random() < 0.9:
        tokens = going
    if rng.random() < 0.5:
        of_digits = DIGIT_BYTES.intersection
        tokens = [t for t in tokens if of_digits(constraint.vocabulary.token_bytes(t))] or tokens
    if rng.random() < 0.5:
        bracket = b"]" if constraint.in_quote(state) else b"["
        some = allowed if len(allowed) < 2000 else np.intersect1d(allowed, constraint.quote_openers)
        turning = [t for t in some.tolist() if bracket in constraint.vocabulary.token_bytes(t)]
        tokens = turning or tokens
    return int(rng.choice(tokens))


DIGIT_BYTES = frozenset("0123456789²٠٣९𝟙①".encode())
QUESTIONS = ("", "Who sang it in 1943, 19 or 5?", "²٣ or 𝟙٣, 7²?")
VOCABULARIES = (byte_vocabulary, straddling_vocabulary)


@pytest.mark.parametrize("boundary", ["word", "char"])
@pytest.mark.parametrize("min_quotes", [0, 2])
@pytest.mark.parametrize("make", VOCABULARIES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("question", [None, *QUESTIONS])
def test_programs_follow_the_constraint(
    make: Any, min_quotes: int, boundary: Any, question: str | None
) -> None:
    """With a question numbers must be quoted, but for those that it holds."""
    numbers: Any = "free" if question is None else "quoted"
    policy = QuotePolicy(boundary=boundary, min_quotes=min_quotes, numbers=numbers)
    constraint = CopyConstraint(make(), ODD, policy, question=question or "")
    rng, compared = random.Random(1), 0
    for budget in (None, 12, 15, 20, 30, 60, 2_000):
        for _ in range(effort(3)):
            compared += walk(constraint, budget, rng, 40, tries=8)
    assert compared > effort(200)


@pytest.mark.parametrize("make", [tekken_vocabulary, sentencepiece_vocabulary])
def test_programs_over_real_vocabularies(make: Any) -> None:
    rng, compared = random.Random(2), 0
    for policy in (
        QuotePolicy(),
        QuotePolicy(boundary="char", min_quotes=1),
        QuotePolicy(numbers="quoted"),
    ):
        constraint = CopyConstraint(make(), ODD, policy, question=QUESTIONS[1])
        for budget in (None, 9, 40):
            compared += walk(constraint, budget, rng, 30, tries=8)
    assert compared > 100


@settings(relaxed, max_examples=effort(40))
@given(
    case=cases(kinds=("bytes", "chunks", "straddling")),
    max_tokens=st.none() | st.integers(1, 25),
    rng=st.randoms(use_true_random=False),
)
def test_programs_follow_any_constraint(
    case: Case, max_tokens: int | None, rng: random.Random
) -> None:
    policy = QuotePolicy(
        boundary=case.policy.boundary,
        min_quotes=case.policy.min_quotes,
        sources=case.policy.sources,
        numbers=case.policy.numbers,
    )
    try:
        constraint = CopyConstraint(case.vocabulary, case.sources, policy, question=case.question)
    except InputError:
        return
    walk(constraint, max_tokens, rng, 12, tries=8)


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (
            QuotePolicy(max_words=9, max_span_words=3),
            "max_words, max_span_words: words are counted",
        ),
        (QuotePolicy(names="quoted"), "names: the question's words"),
        (QuotePolicy(min_quotes=10_001), "min_quotes=10001: more than 10,000"),
    ],
)
def test_what_stays_on_the_host_is_told(policy: QuotePolicy, reason: str) -> None:
    made = build_program(CopyConstraint(byte_vocabulary(), ODD, policy))
    assert isinstance(made, HostOnly)
    assert made.reason.startswith(reason)


def test_questions_of_digits_stay_on_the_host() -> None:
    policy = QuotePolicy(numbers="quoted")
    constraint = CopyConstraint(byte_vocabulary(), ODD, policy, question="7" * 301)
    assert why_not(constraint) == "numbers: 301 digits in the question, more than 300"
    assert why_not(CopyConstraint(byte_vocabulary(), ODD, policy, question="7" * 300)) is None


def test_unfinished_characters_of_a_kind_become_digits_by_the_same_bytes() -> None:
    futures: dict[int, set[tuple[bytes, bool]]] = {}
    for code in {*range(0x80, 0xD800), *range(0xE000, 0x110000)}:
        data = chr(code).encode()
        bits = data[0] & 0x7F >> len(data)
        for length in range(1, len(data)):
            part = (len(data) - length) << 21 | bits
            futures.setdefault(part, set()).add((data[length:], chr(code).isdigit()))
            bits = bits << 6 | data[length] & 0x3F
    found = unfinished.unfinished_digits()
    digits = {part for part, ends in futures.items() if any(digit for _, digit in ends)}
    assert found.kinds[:, 0].tolist() == sorted(digits)
    kinds = dict(found.kinds.tolist())
    by_kind: dict[int, list[Any]] = {}
    for part, kind in kinds.items():
        by_kind.setdefault(kind, []).append(futures[part])
    assert all(future == each[0] for each in by_kind.values() for future in each)
    assert len({frozenset(each[0]) for each in by_kind.values()}) == len(by_kind)
    assert [kinds[part] for part in found.samples.tolist()] == list(range(len(found.samples)))


def test_where_nothing_can_be_quoted_no_quote_opens() -> None:
    policy = QuotePolicy(numbers="quoted")
    constraint = CopyConstraint(straddling_vocabulary(), [Source("")], policy, question="19 or 5")
    rng = random.Random(3)
    assert sum(walk(constraint, budget, rng, 20, tries=4) for budget in [None, 4, 9] * 5) > 60


def test_poor_vocabularies_and_long_sources_stay_on_the_host() -> None:
    constraint = CopyConstraint(poor_vocabulary(), [Source("the white")])
    assert why_not(constraint) == "the vocabulary lacks single bytes"
    long = CopyConstraint(byte_vocabulary(), [Source("ab " * 100_001)])
    assert why_not(long) == "300,005 bytes of sources: more than 300,000"


def test_periodic_text_has_few_states() -> None:
    """As many as positions, though there are that many spans from each."""
    for text in ("ab " * 3_000, "a " * 4_500, "a" * 9_000, (f"{ODD[0].text} " * 110)[:9_000]):
        program = build_program(CopyConstraint(byte_vocabulary(), [Source(text)]))
        assert isinstance(program, DeviceProgram)
        assert len(program.rows) < 3 * len(text)
        assert len(program.tokens) < 6 * len(text)


def test_kernels_and_programs_mean_the_same_numbers() -> None:
    assert states.ENDED_STATE == format_of_tables.ENDED
    assert states.FREE_STATE == format_of_tables.START
    assert explore.BASES == shared.ENDS_ROW == format_of_tables.ENDS_BASE
