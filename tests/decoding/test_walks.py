"""Random walks over masks: no walk reaches a dead end, and every answer is verified."""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest

from semqa import InputError, QuotedAnswer, Source
from semqa.decoding import CopyConstraint, QuotePolicy, Vocabulary, find_breach
from semqa.quotes import ABSTENTION
from tests.decoding.oracle import is_answer_bytes
from tests.decoding.strategies import QUESTIONS, TEXTS, case_of
from tests.decoding.vocabularies import byte_vocabulary, straddling_vocabulary, tekken_vocabulary
from tests.effort import effort

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
    QuotePolicy(boundary="char", quote_from=(1, 2)),
    QuotePolicy(free="any"),
    QuotePolicy(free="any", boundary="char", quote_from=(2, 4)),
]

QUESTION = "Who sang White Christmas in 1942?"


class Walk(NamedTuple):
    """One constraint to walk on.

    Attributes:
        vocabulary: the tokens.
        sources: what may be quoted.
        policy: the rules.
        question: whose words free text may repeat.
        max_tokens: the budget of an answer.
    """

    vocabulary: Vocabulary
    sources: list[Source]
    policy: QuotePolicy
    question: str
    max_tokens: int | None

    def constraint(self) -> CopyConstraint:
        return CopyConstraint(self.vocabulary, self.sources, self.policy, question=self.question)


def walks() -> list[Walk]:
    rng = random.Random(7)
    found = [
        Walk(vocabulary, ARTICLES, policy, QUESTION, most)
        for vocabulary in (byte_vocabulary(), straddling_vocabulary())
        for policy in POLICIES
        for most in (None, 60)
    ]
    for kind in ("bytes", "chunks", "sparse", "words", "missing", "straddling"):
        for policy in POLICIES:
            texts = rng.sample(TEXTS, 6)
            sources = [
                Source(text, title=title) for text, title in zip(texts, texts[3:], strict=False)
            ]
            case = case_of(kind, sources, policy, rng.choice(QUESTIONS), rng)
            most = rng.choice([None, 40])
            found.append(Walk(case.vocabulary, sources, case.policy, case.question, most))
    return found


def answer(
    constraint: CopyConstraint, walk: Walk, rng: random.Random, most: int
) -> tuple[str, int]:
    """Choose tokens until the answer ends or has `most` tokens; return it and its length."""
    state = constraint.start(walk.max_tokens)
    tokens: list[int] = []
    brackets = brackets_of(walk.vocabulary)
    while not constraint.has_ended(state):
        if len(tokens) >= most:
            for token in constraint.shortest_completion(state):
                state = constraint.advance(state, token)
                tokens.append(token)
            break
        allowed = constraint.allowed(state).tolist()
        assert allowed
        if rng.random() < 0.25:
            turning = brackets[constraint.in_quote(state)].intersection(allowed)
            allowed = sorted(turning) or allowed
        tokens.append(rng.choice(allowed))
        state = constraint.advance(state, tokens[-1])
    assert constraint.has_ended(state)
    assert walk.max_tokens is None or len(tokens) <= walk.max_tokens
    return b"".join(map(walk.vocabulary.token_bytes, tokens)).decode(), len(tokens)


def brackets_of(vocabulary: Vocabulary) -> dict[bool, set[int]]:
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
    """Check an answer against the rules and the parser; return its number of quotes."""
    breach = find_breach(text, walk.sources, walk.policy, walk.question)
    assert breach is None, (breach, text, walk)
    parsed = QuotedAnswer.parse(text, walk.sources)
    assert parsed.verified or text.removeprefix(" ") == ABSTENTION
    assert parsed.marked == text
    assert len(parsed.quotes) == text.count("[") == text.count("]")
    assert all(quote.text == quote.text.strip() for quote in parsed.quotes)
    return len(parsed.quotes)


def test_every_walk_ends_in_a_verified_answer() -> None:
    rng, quotes, walked = random.Random(20), 0, 0
    for walk in walks():
        try:
            constraint = walk.constraint()
        except InputError:
            continue  # no answer can be written with these tokens
        taken = 0
        while taken < effort(400):
            text, steps = answer(constraint, walk, rng, most=80)
            taken += steps
            quotes += check(text, walk)
            walked += 1
    # Walks that never quote would prove nothing.
    assert quotes > walked > effort(100)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("most", [10, 14, 22, 40])
def test_a_budget_is_kept(policy: QuotePolicy, most: int) -> None:
    walk = Walk(straddling_vocabulary(), ARTICLES, policy, QUESTION, most)
    constraint, rng = walk.constraint(), random.Random(most)
    for _ in range(6):
        check(answer(constraint, walk, rng, most=80)[0], walk)


def test_a_real_vocabulary() -> None:
    walk = Walk(tekken_vocabulary(), ARTICLES, QuotePolicy(), "Who sang it in 1942?", 120)
    constraint, rng = walk.constraint(), random.Random(11)
    assert sum(check(answer(constraint, walk, rng, most=60)[0], walk) for _ in range(40)) >= 80


OUTPUTS = (
    "is[ 1 x", "in [ 2 x y ] a", "] [ 1 y", "x ] and [", "Is. It", " [ 1 x ] [ 2 x", "y ] is [ 1 x", " 12 a", "is\n",
    "é [ 1 é", "x ] ü", "[ 1 x y ] is in", "1 2 ", " ] [ 1 x ] [ 2 y ]", '("-/ [ 1', " it is in the [", "the sources do",
    " not answer", " this question.", "The sources do not answer this question",
)  # fmt: skip
"""Whole words and quotes in one token, which are the hardest for rules and budgets."""

CROWDED = ("x", "x y", "x y x", "x x", "1. A x", "é ü", "the x in y", "is it", "x the x", "xy")


def crowded_walk(rng: random.Random) -> Walk:
    """Create a small constraint with tokens across brackets, few letters and a small budget."""
    whole = rng.random() < 0.5
    base = sorted({bytes([b]) for b in (range(256) if whole else "[ ]12xyinstA.éü".encode())})
    if not whole:
        base = rng.sample(base, len(base) - rng.randint(0, 4))
    pieces = []
    for _ in range(rng.randint(1, 9)):
        output = rng.choice(OUTPUTS).encode()
        start = rng.randrange(len(output))
        pieces.append(output[start : start + rng.randint(1, 12)])
    sources = [
        Source(rng.choice(CROWDED), title=rng.choice(["", "y", "x"]))
        for _ in range(rng.choice([1, 1, 2, 12]))
    ]
    named = tuple(rng.sample(range(1, len(sources) + 1), rng.randint(1, len(sources))))
    policy = QuotePolicy(
        free=rng.choice(["glue", "glue", "any"]),
        boundary=rng.choice(["word", "char"]),
        quote_from=rng.choice([None, None, None, named]),
    )
    vocabulary = Vocabulary.from_tokens([*base, *pieces, b""], [len(base) + len(pieces)])
    question, most = rng.choice(["", "x 12 É"]), rng.choice([None, rng.randint(2, 20)])
    return Walk(vocabulary, sources, policy, question, most)


def test_no_walk_reaches_a_dead_end() -> None:
    """Masks are never empty, and `shortest_completion` keeps the budget from every state."""
    rng, walked, quotes = random.Random(2), 0, 0
    for _ in range(effort(200)):
        walk = crowded_walk(rng)
        try:
            constraint = walk.constraint()
            constraint.start(walk.max_tokens)
        except InputError:
            continue  # no answer fits, or none can be written
        for _ in range(3):
            text, _steps = answer(constraint, walk, rng, most=rng.randint(0, 16))
            walked += 1
            quotes += check(text, walk)
            assert is_answer_bytes(text.encode(), walk.sources, walk.policy, walk.question)
    assert walked > effort(250)
    assert quotes > walked / 2
