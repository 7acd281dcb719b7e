"""Human answers, token by token: accepted unless they break a rule."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from semqa.data import read_quotesum
from semqa.decoding import CopyConstraint, QuotePolicy, Vocabulary, find_breach
from tests.decoding.oracle import accepts
from tests.decoding.vocabularies import (
    byte_vocabulary,
    sentencepiece_vocabulary,
    tekken_vocabulary,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from semqa.data import Question

VOCABULARIES: dict[str, Callable[[], Vocabulary]] = {
    "bytes": byte_vocabulary,
    "tekken": tekken_vocabulary,
    "sentencepiece": sentencepiece_vocabulary,
}


@pytest.fixture(scope="session")
def questions(shared: Path) -> Sequence[Question]:
    return read_quotesum(shared / "data" / "quotesum" / "dev_a.jsonl")


@cache
def token_of(name: str) -> dict[bytes, int]:
    vocabulary = VOCABULARIES[name]()
    found = {vocabulary.token_bytes(token): token for token in range(vocabulary.size)}
    found.pop(b"")
    return found


def encode(text: str, name: str) -> list[int]:
    """Encode a text greedily with the longest matching tokens."""
    known, data, tokens = token_of(name), text.encode(), []
    longest = 24
    while data:
        size = next(n for n in range(min(longest, len(data)), 0, -1) if data[:n] in known)
        tokens.append(known[data[:size]])
        data = data[size:]
    return tokens


POLICIES = {
    "any": QuotePolicy(free="any"),
    "any, char": QuotePolicy(free="any", boundary="char"),
    "glue": QuotePolicy(),
}
ADMITTED = {"any": 120, "any, char": 121, "glue": 88}
"""Expected numbers, of the 129 answers in dev_a."""


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("bytes", "any, char"),
        ("tekken", "any"),
        ("sentencepiece", "glue"),
    ],
)
def test_human_answers_are_accepted_unless_they_break_a_rule(
    name: str, setting: str, questions: Sequence[Question]
) -> None:
    vocabulary, policy = VOCABULARIES[name](), POLICIES[setting]
    accepted = 0
    for question in questions:
        constraint = CopyConstraint(
            vocabulary, question.sources, policy, question=question.question
        )
        for reference in question.references:
            tokens = [*encode(reference.text, name), vocabulary.eos_ids[0]]
            got = accepts(constraint, tokens, len(tokens))
            breach = find_breach(reference.text, question.sources, policy, question.question)
            assert got == (breach is None), (reference.text, breach)
            accepted += got
    assert accepted == ADMITTED[setting]
