"""The plain reference itself: its short cuts are held against the long way, its errors read."""

from __future__ import annotations

import pickle
import random
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa import InputError, Source
from semqa.decoding import QuotePolicy
from semqa.decoding.naive import NaiveConstraint
from semqa.decoding.naive_language import Free, Language, Place
from semqa.decoding.vocabulary import Vocabulary
from tests.decoding.oracle import is_answer
from tests.decoding.strategies import case_of, policies, questions, sample_output, source_lists
from tests.decoding.vocabularies import byte_vocabulary, straddling_vocabulary

SOURCES = [Source("Bing Crosby sang it.", title="White Christmas"), Source("")]


def read(language: Language, data: bytes) -> Place | None:
    at: Place | None = Free()
    for byte in data:
        at = None if at is None else language.step(at, byte)
    return at


characters = st.characters(exclude_categories=["Cs"]) | st.sampled_from(
    "ÜüßǅǆİıſĂ٣²½Ⅷ。’»́ЖΩ日🎄\U00040000"
)


@given(
    text=st.text(st.sampled_from("Bing. 12[] ü") | characters, max_size=8),
    policy=policies,
    question=questions,
)
def test_a_finished_text_is_judged_as_by_the_oracle(
    text: str, policy: QuotePolicy, question: str
) -> None:
    language = Language(SOURCES, policy, question)
    end = read(language, text.encode())
    assert (end is not None and language.may_end(end)) == is_answer(text, SOURCES, policy, question)


@given(sources=source_lists, policy=policies, question=questions, seed=st.integers(0, 10**6))
def test_sampled_answers_are_judged_as_by_the_oracle(
    sources: list[Source], policy: QuotePolicy, question: str, seed: int
) -> None:
    language = Language(sources, policy, question)
    rng = random.Random(seed)
    data = sample_output(sources, policy, rng)
    if rng.random() < 0.3:
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.choice([b"", b" ", b"a", b"]", b"["]) + data[at + 1 :]
    try:
        text = data.decode()
    except UnicodeDecodeError:
        assert read(language, data) is None or not language.may_end(read(language, data) or Free())
        return
    end = read(language, data)
    assert (end is not None and language.may_end(end)) == is_answer(text, sources, policy, question)


@pytest.mark.parametrize(
    "lead", [b"\xc3", b"\xe0\xa4", b"\xe4", b"\xed", b"\xf0\x9f", b"\xf0\x9f\x8e"]
)
def test_characters_that_share_their_future_are_read_alike(lead: bytes) -> None:
    """What stands for the beginning of a character leads where the character itself does."""
    policy = QuotePolicy(names="quoted", numbers="quoted", max_free_words=3)
    language = Language(SOURCES, policy, "Über १२ 𝟙")
    missing = {0xC3: 1, 0xE0: 1, 0xE4: 2, 0xED: 2}.get(lead[0], 4 - len(lead))
    tails = [*product(range(0x80, 0xC0), repeat=missing)][:: 1 if missing == 1 else 13]
    for before in ("", "a", "a. B", "a Üb", "1"):
        at = read(language, before.encode())
        if at is None:
            continue
        for tail in tails:
            try:
                char = (lead + bytes(tail)).decode()
            except UnicodeDecodeError:
                continue
            end = read(language, (before + char).encode())
            assert (end is not None and language.may_end(end)) == is_answer(
                before + char, SOURCES, policy, "Über १२ 𝟙"
            ), (before, char)


@pytest.mark.parametrize(
    "policy",
    [
        QuotePolicy(min_quotes=1, numbers="quoted"),
        QuotePolicy(min_quotes=1, max_words=4),
        QuotePolicy(max_free_words=1, boundary="char"),
    ],
)
def test_short_cuts_of_the_search_change_nothing(policy: QuotePolicy) -> None:
    """With every byte a token, the search leaves out what cannot help; here it does not."""

    class Thorough(NaiveConstraint):
        def _is_foreign(self, *_: int) -> bool:
            return False

        def _at_least(self, *_: int) -> int:
            return 2

    case = case_of("bytes", SOURCES, policy, "Bing in 1942?", random.Random(3))
    quick, slow = (
        impl(case.vocabulary, SOURCES, policy, question=case.question)
        for impl in (NaiveConstraint, Thorough)
    )
    for most in (None, 9):
        rng = random.Random(5)
        one, other = quick.start(most), slow.start(most)
        for _ in range(9):
            allowed = quick.allowed(one)
            assert allowed.tolist() == slow.allowed(other).tolist()
            assert len(quick.shortest_completion(one)) == len(slow.shortest_completion(other))
            token = int(rng.choice(allowed))
            one, other = quick.advance(one, token), slow.advance(other, token)


def test_existence_and_distance_agree() -> None:
    """Bytes alone find a way exactly where the search of all tokens does."""
    vocabulary = straddling_vocabulary()
    constraint = NaiveConstraint(vocabulary, SOURCES, QuotePolicy(min_quotes=1))
    by_tokens = NaiveConstraint(vocabulary, SOURCES, QuotePolicy(min_quotes=1))
    by_tokens._writes_bytes = False
    rng, state, other = random.Random(1), constraint.start(), by_tokens.start()
    for _ in range(25):
        allowed = constraint.allowed(state)
        assert allowed.tolist() == by_tokens.allowed(other).tolist()
        token = int(rng.choice(allowed))
        state, other = constraint.advance(state, token), by_tokens.advance(other, token)


def test_a_source_that_no_token_can_write_loses_its_number() -> None:
    tokens = [b"[ ", b"1 ", b"2 ", b"12", b"a", b" ]", b""]
    vocabulary = Vocabulary.from_tokens(tokens, [6])
    constraint = NaiveConstraint(vocabulary, [Source("b"), Source("a"), Source("")])
    after = constraint.advance(constraint.start(), 0)
    assert [tokens[token] for token in constraint.allowed(after)] == [b"2 "]


def test_states_survive_pickling() -> None:
    constraint = NaiveConstraint(byte_vocabulary(), SOURCES)
    state = constraint.start(30)
    for byte in b"by [ 1 Bing":
        state = constraint.advance(state, byte)
    copy = pickle.loads(pickle.dumps(constraint))
    assert copy.allowed(state).tolist() == constraint.allowed(state).tolist() == [ord(" ")]
    assert copy.shortest_completion(state) == [*b" ]", 257]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"policy": QuotePolicy(min_quotes=2), "sources": [Source("")]},
            "min_quotes: got 2, but no answer can hold as many quotes, expected sources that these "
            "tokens can quote; lower it, or give other sources",
        ),
        (
            {"policy": QuotePolicy(sources=(2,)), "sources": [Source("a")]},
            "policy sources: got 2, expected numbers from 1 to 1; name sources that are given",
        ),
    ],
)
def test_impossible_demands_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        NaiveConstraint(byte_vocabulary(), **arguments)
    assert str(error.value) == message


def test_errors_say_what_was_expected() -> None:
    constraint = NaiveConstraint(byte_vocabulary(), SOURCES, QuotePolicy(min_quotes=1))
    with pytest.raises(InputError) as error:
        constraint.start(7)
    assert str(error.value) == (
        "max_tokens: got 7, expected at least 8, the shortest answer with its end token; raise it"
    )
    state = constraint.advance(constraint.start(8), ord("["))
    with pytest.raises(InputError) as error:
        constraint.advance(state, ord("1"))
    assert str(error.value) == (
        "token not allowed here: got 49 (b'1'), expected one of the 1 in allowed(state); choose by "
        "the mask"
    )


@settings(max_examples=20)
@given(token=st.integers(-5, 270))
def test_only_tokens_that_write_something_or_end_are_taken(token: int) -> None:
    constraint = NaiveConstraint(byte_vocabulary(), SOURCES)
    if token in constraint.allowed(constraint.start()):
        constraint.advance(constraint.start(), token)
    else:
        with pytest.raises(InputError):
            constraint.advance(constraint.start(), token)
