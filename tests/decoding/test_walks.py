"""Random walks over masks: whatever is chosen, the text that comes out is verified."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from semqa import InputError, QuotedAnswer, Source
from semqa.decoding import CopyConstraint, QuotePolicy, Vocabulary
from semqa.decoding.naive import NaiveConstraint
from tests.decoding.oracle import cuts_no_word, is_answer
from tests.decoding.strategies import FREE, QUESTIONS, TEXTS, case_of
from tests.decoding.vocabularies import byte_vocabulary, straddling_vocabulary, tekken_vocabulary
from tests.effort import effort

if TYPE_CHECKING:
    from collections.abc import Callable

ARTICLES = [
    Source(
        "White Christmas is an Irving Berlin song that was written in 1942. Bing Crosby’s version "
        "has sold over 50 million copies [1] – more than any other single (see “Sales”).",
        title="White Christmas (song)",
    ),
    Source(
        "Gold – Platinum; 1955, 12\u00a0000 copies…  Ünal said: “日本語の文。” 🎄👨‍👩‍👧 e\u0301t",
        title="Sales [list]",
    ),
    Source(""),
    Source("Crosby", title="Bing Crosby"),
]

POLICIES = [
    QuotePolicy(),
    QuotePolicy(boundary="char", sources=(1, 2)),
    QuotePolicy(numbers="quoted", names="quoted"),
    QuotePolicy(max_words=25, max_free_words=4, max_span_words=6, min_quotes=2, numbers="quoted"),
    QuotePolicy(names="quoted", max_free_words=3, min_quotes=1),
]


class Walk(NamedTuple):
    """One constraint to walk on.

    Attributes:
        vocabulary: the tokens.
        sources: what may be quoted.
        policy: what else has to hold.
        question: where numbers and names may come from.
        max_tokens: the budget of an answer.
    """

    vocabulary: Vocabulary
    sources: list[Source]
    policy: QuotePolicy
    question: str
    max_tokens: int | None


QUESTION = "Who sang White Christmas in 1942?"


def walks() -> list[Walk]:
    rng = random.Random(7)
    found = [
        Walk(vocabulary, ARTICLES, policy, QUESTION, 60 if policy in POLICIES[:2] else None)
        for vocabulary in (byte_vocabulary(), straddling_vocabulary())
        for policy in POLICIES
    ]
    for kind in ("bytes", "chunks", "sparse", "words", "missing", "straddling"):
        for policy in (*POLICIES[:2], QuotePolicy(numbers="quoted", max_span_words=3)):
            texts = rng.sample(TEXTS, 6)
            sources = [
                Source(text, title=title) for text, title in zip(texts, texts[3:], strict=False)
            ]
            case = case_of(kind, sources, policy, rng.choice(QUESTIONS), rng)
            most = 40 if policy in POLICIES[:2] else None
            found.append(Walk(case.vocabulary, sources, policy, case.question, most))
    return found


def answer(constraint: Any, walk: Walk, rng: random.Random, most: int) -> tuple[str, int]:
    """Choose tokens until the answer ends, or finish it after so many; return it and the steps."""
    state = constraint.start(walk.max_tokens)
    tokens: list[int] = []
    kinds = bracket_tokens(walk.vocabulary)
    while not constraint.has_ended(state):
        if len(tokens) >= most:
            for token in constraint.shortest_completion(state):
                state = constraint.advance(state, token)
                tokens.append(token)
            break
        allowed = constraint.allowed(state).tolist()
        assert allowed
        if rng.random() < 0.25:
            turning = kinds[constraint.in_quote(state)].intersection(allowed)
            allowed = sorted(turning) or allowed
        token = rng.choice(allowed)
        state = constraint.advance(state, token)
        tokens.append(token)
    assert constraint.has_ended(state)
    assert walk.max_tokens is None or len(tokens) <= walk.max_tokens
    return b"".join(map(walk.vocabulary.token_bytes, tokens)).decode(), len(tokens)


def bracket_tokens(vocabulary: Vocabulary) -> dict[bool, set[int]]:
    """Return the tokens that close a quote (True) and those that open one (False)."""
    if vocabulary.fingerprint not in _BRACKETS:
        texts = [vocabulary.token_bytes(token) for token in range(vocabulary.size)]
        _BRACKETS[vocabulary.fingerprint] = {
            closes: {t for t, text in enumerate(texts) if (b"]" if closes else b"[") in text}
            for closes in (True, False)
        }
    return _BRACKETS[vocabulary.fingerprint]


_BRACKETS: dict[str, dict[bool, set[int]]] = {}


def check(text: str, walk: Walk) -> int:
    """Hold an answer against the parser and the oracle; return how many quotes it has."""
    parsed = QuotedAnswer.parse(text, walk.sources)
    assert all(quote.verified for quote in parsed.quotes), text
    assert parsed.marked == text
    assert len(parsed.quotes) == text.count("[") == text.count("]")
    assert parsed.counts["malformed"] == 0
    for quote in parsed.quotes:
        assert quote.field
        field = walk.sources[quote.source - 1].field(quote.field)
        assert quote.text == quote.text.strip()
        assert walk.policy.boundary == "char" or any(
            cuts_no_word(field, place.start) and cuts_no_word(field, place.end)
            for place in quote.occurrences
            if (field := walk.sources[quote.source - 1].field(place.field))
        )
    assert is_answer(text, walk.sources, walk.policy, walk.question), text
    return len(parsed.quotes)


@pytest.mark.parametrize(
    ("impl", "steps"), [(NaiveConstraint, effort(700)), (CopyConstraint, effort(50_000))]
)
def test_every_walk_ends_in_a_verified_answer(impl: Callable[..., Any], steps: int) -> None:
    ways, rng, quotes = walks(), random.Random(20), 0
    for walk in ways:
        constraint = impl(walk.vocabulary, walk.sources, walk.policy, question=walk.question)
        taken = 0
        while taken < steps / len(ways):
            text, more = answer(constraint, walk, rng, most=80)
            taken += more
            quotes += check(text, walk)
    # Walks that never quote would prove nothing.
    assert quotes > steps / 40


@pytest.mark.parametrize("policy", POLICIES[2:])
@pytest.mark.parametrize("most", [12, 40])
def test_a_budget_is_kept_under_every_rule(policy: QuotePolicy, most: int) -> None:
    walk = Walk(straddling_vocabulary(), ARTICLES, policy, QUESTION, most)
    constraint = CopyConstraint(walk.vocabulary, ARTICLES, policy, question=QUESTION)
    rng = random.Random(most)
    for _ in range(4):
        check(answer(constraint, walk, rng, most=80)[0], walk)


def test_a_real_vocabulary_walks_as_well() -> None:
    walk = Walk(tekken_vocabulary(), ARTICLES, POLICIES[3], "Who sang it in 1942?", 120)
    constraint = CopyConstraint(walk.vocabulary, ARTICLES, walk.policy, question=walk.question)
    rng = random.Random(11)
    assert sum(check(answer(constraint, walk, rng, most=60)[0], walk) for _ in range(40)) >= 80


OUTPUTS = (
    "a[ 1 x", "b [ 2 x y ] a", "] [ 1 y", "x ] b [", "A. B", "[ 1 x ][ 2 x", "y ] a [ 1 x", "12 a", "b\n", "é[ 1 é",
    "x ]é", "[ 1 x y ] a b", "1 2 ",
)  # fmt: skip
"""Words and whole quotes in one token: there, limits and budgets are hardest to plan with."""


def crowded_case(rng: random.Random) -> Walk:
    """Make a small constraint with tokens across brackets, tight limits and few tokens left."""
    whole = rng.random() < 0.5
    base = sorted({bytes([b]) for b in (range(256) if whole else "[ ]12xyzabA.é".encode())})
    if not whole:
        base = rng.sample(base, len(base) - rng.randint(0, 4))
    pieces = []
    for _ in range(rng.randint(1, 7)):
        output = rng.choice(OUTPUTS).encode()
        start = rng.randrange(len(output))
        pieces.append(output[start : start + rng.randint(1, 9)])
    limits = {
        name: rng.randint(low, high)
        for name, low, high in (
            ("max_words", 1, 5), ("max_free_words", 0, 2), ("max_span_words", 1, 2)
        )
        if rng.random() < 0.4
    }  # fmt: skip
    policy = QuotePolicy(
        **limits,  # type: ignore[arg-type]
        boundary=rng.choice(["word", "char"]),
        numbers=rng.choice(["free", "free", "quoted"]),
        names=rng.choice(["free", "free", "quoted"]),
        min_quotes=rng.choice([0, 0, 1, 2]),
    )
    sources = [
        Source(rng.choice(["x", "x y", "x y z", "1. A b", "é ü"]), title=rng.choice(["", "y"]))
        for _ in range(rng.randint(1, 2))
    ]
    vocabulary = Vocabulary.from_tokens([*base, *pieces, b""], [len(base) + len(pieces)])
    question, most = rng.choice(["", "a 12 B"]), rng.choice([None, rng.randint(2, 14)])
    return Walk(vocabulary, sources, policy, question, most)


def test_no_walk_meets_a_dead_end() -> None:
    """A mask is never empty, and `shortest_completion` keeps every limit, from wherever it starts."""
    rng, walked, quotes = random.Random(2), 0, 0
    for _ in range(effort(1_500)):
        try:
            walk = crowded_case(rng)
            constraint = CopyConstraint(
                walk.vocabulary, walk.sources, walk.policy, question=walk.question
            )
            constraint.start(walk.max_tokens)
        except InputError:
            continue  # no answer is so short, or has so many quotes or so few words
        for _ in range(3):
            text, _steps = answer(constraint, walk, rng, most=rng.randint(0, 10))
            walked += 1
            quotes += text.count("[")
            assert is_answer(text, walk.sources, walk.policy, walk.question), (walk, text)
    assert walked > effort(2_000)
    assert quotes > walked / 2


def test_free_texts_in_the_samples_are_free() -> None:
    assert all(is_answer(text, [], QuotePolicy()) for text in FREE)
