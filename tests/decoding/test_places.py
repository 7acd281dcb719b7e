"""Places where much is listed beforehand: many continuations, real vocabularies, long sources."""

from __future__ import annotations

import random

import numpy as np
import pytest

from semqa import Source
from semqa.decoding import CopyConstraint, QuotePolicy
from semqa.decoding.core import layout
from semqa.decoding.naive import NaiveConstraint
from semqa.decoding.passages import lay_out
from semqa.decoding.vocabulary import Vocabulary
from tests.decoding.test_walks import ARTICLES, QUESTION
from tests.decoding.vocabularies import (
    chunk_vocabulary,
    sentencepiece_vocabulary,
    straddling_vocabulary,
    tekken_vocabulary,
)
from tests.effort import effort

SENTENCE = "The cat saw the Ünit in 1942; the cat 日本語 and the dog sang. "


def compare(
    vocabulary: Vocabulary,
    sources: list[Source],
    policy: QuotePolicy,
    states: int,
    max_tokens: int | None = None,
) -> int:
    """Hold masks of random answers against the definition; return how many places were wide."""
    slow = NaiveConstraint(vocabulary, sources, policy, question=QUESTION)
    fast = CopyConstraint(vocabulary, sources, policy, question=QUESTION)
    rng, wide = random.Random(states), 0
    slow_state, fast_state = slow.start(max_tokens), fast.start(max_tokens)
    for _ in range(states):
        mask = fast.mask(fast_state)
        assert np.array_equal(mask, slow.mask(slow_state)), fast_state
        wide += fast_state[3] - fast_state[2] > 48
        allowed = fast.allowed(fast_state).tolist()
        bracket = b"]" if fast.in_quote(fast_state) else b"["
        turning = [t for t in allowed if bracket in vocabulary.token_bytes(t)]
        chance = 0.15 if fast.in_quote(fast_state) else 0.6
        token = rng.choice(turning if turning and rng.random() < chance else allowed)
        if fast.has_ended(fast_state) or token in vocabulary.eos_ids:
            slow_state, fast_state = slow.start(max_tokens), fast.start(max_tokens)
            continue
        slow_state, fast_state = (
            slow.advance(slow_state, token),
            fast.advance(fast_state, token),
        )
    return wide


@pytest.mark.parametrize("boundary", ["word", "char"])
@pytest.mark.parametrize("all_bytes", [True, False])
@pytest.mark.parametrize(
    "text",
    [SENTENCE * 60, "ab " * 120, "a" * 150 + " b", "日本 " * 80],
    ids=["prose", "periodic", "one word", "CJK"],
)
def test_places_with_many_continuations(boundary: str, all_bytes: bool, text: str) -> None:
    sources = [Source(text, title="the cat"), Source("the end. " * 3)]
    outputs = [f"By [ 1 {text[:90].strip()} ] and [ 2 the end. ] in 1942 .", SENTENCE, "[ 1 "]
    vocabulary = chunk_vocabulary(outputs, seed=5, count=150, all_bytes=all_bytes)
    policy = QuotePolicy(boundary=boundary)  # type: ignore[arg-type]
    constraint = CopyConstraint(vocabulary, sources, policy)
    rows = np.diff(constraint._compiled.arrays[layout.STARTS]).max()
    listed = constraint._compiled.arrays[layout.HEAVY_KEYS].size > 0
    assert listed == (rows > 48)
    wide = compare(vocabulary, sources, policy, 250)
    assert wide > 10 or not listed


def test_places_with_many_continuations_near_limits() -> None:
    sources = [Source(SENTENCE * 20, title="the cat")]
    for policy in (QuotePolicy(max_span_words=3), QuotePolicy(names="quoted", numbers="quoted")):
        compare(straddling_vocabulary(), sources, policy, 120)
    assert compare(straddling_vocabulary(), sources, QuotePolicy(), 120, max_tokens=25) > 10


@pytest.mark.parametrize(
    "policy", [QuotePolicy(boundary="char"), QuotePolicy(numbers="quoted", names="quoted")]
)
def test_masks_of_real_vocabularies_are_those_of_the_definition(policy: QuotePolicy) -> None:
    compare(tekken_vocabulary(), ARTICLES, policy, effort(20))
    compare(sentencepiece_vocabulary(), ARTICLES, policy, effort(75))


@pytest.mark.parametrize(
    "policy",
    [QuotePolicy(max_words=12), QuotePolicy(max_free_words=2), QuotePolicy(max_span_words=2)],
    ids=str,
)
def test_masks_of_real_vocabularies_near_limits(policy: QuotePolicy) -> None:
    compare(sentencepiece_vocabulary(), ARTICLES, policy, effort(30))
    compare(tekken_vocabulary(), ARTICLES, policy, effort(7))


def test_masks_of_a_real_vocabulary_when_tokens_run_out() -> None:
    for policy in (QuotePolicy(), QuotePolicy(numbers="quoted")):
        compare(sentencepiece_vocabulary(), ARTICLES, policy, 40, max_tokens=14)


@pytest.mark.parametrize("boundary", ["word", "char"])
def test_both_ways_of_sorting_agree(boundary: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short texts are sorted by comparison, long ones by a suffix array: the same places, the same masks."""
    policy = QuotePolicy(boundary=boundary)  # type: ignore[arg-type]
    for seed in range(60):
        rng = random.Random(seed)
        sources = [
            Source(
                "".join(rng.choices(["ab ", "é", "日本", "[", "a", " ", ". ", "\ud800"], k=30)),
                title=rng.choice(["", "ab a", "é"]),
            )
            for _ in range(rng.randint(1, 3))
        ]
        short = lay_out(sources, policy)
        monkeypatch.setattr("semqa.decoding.passages._FEW_STARTS", -1)
        long = lay_out(sources, policy)
        monkeypatch.undo()
        assert short.starts.tolist() == long.starts.tolist()
        for first, last in zip(short.starts, short.starts[1:], strict=False):
            texts = [
                [
                    bytes(short.text[at:]).partition(b"\xfe")[0] + b"\xfe"
                    for at in laid.suffixes[first:last]
                ]
                for laid in (short, long)
            ]
            assert texts[0] == texts[1] == sorted(texts[0])


def test_a_token_of_hundreds_of_words() -> None:
    tokens = [*(bytes([byte]) for byte in range(256)), b"a " * 300, b" b" * 300, b""]
    vocabulary = Vocabulary.from_tokens(tokens, [258])
    for limits in ({"max_words": 270}, {"max_span_words": 270}, {"max_free_words": 270}):
        policy = QuotePolicy(**limits)  # type: ignore[arg-type]
        constraint = CopyConstraint(vocabulary, [Source("b " * 400)], policy)
        state = constraint.start()
        for byte in b"[ 1 b":
            if 256 in constraint.allowed(state):
                constraint.advance(state, 256)
            state = constraint.advance(state, byte)
        allowed = constraint.allowed(state).tolist()
        assert (257 in allowed) == ("max_free_words" in limits)
        for token in allowed:
            constraint.advance(state, token)
