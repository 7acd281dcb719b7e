"""Whether a finished text is an answer in the language of the copy constraint, without tokens."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from semqa import InputError, Source
from semqa.decoding import CopyConstraint, QuotePolicy
from tests.reference.language import Language, Place

if TYPE_CHECKING:
    from collections.abc import Sequence


def is_answer_bytes(
    data: bytes, sources: Sequence[Source], policy: QuotePolicy, question: str = ""
) -> bool:
    language = _language(tuple(sources), policy, question)
    at: Place | None = language.first()
    for byte in data:
        at = None if at is None else language.step(at, byte)
    return at is not None and language.may_end(at)


def accepts(
    constraint: CopyConstraint, tokens: Sequence[int], max_tokens: int | None = None
) -> bool:
    """Tell whether a constraint accepts an answer; mask, IDs and advancing must agree at each step."""
    try:
        state = constraint.start(max_tokens)
    except InputError:
        return False
    for token in tokens:
        allowed = token in constraint.allowed(state)
        assert allowed == bool(constraint.mask(state)[token // 32] >> (token % 32) & 1)
        try:
            state = constraint.advance(state, token)
        except InputError:
            assert not allowed
            return False
        assert allowed
    return constraint.is_accepting(state)


@lru_cache(maxsize=64)
def _language(sources: tuple[Source, ...], policy: QuotePolicy, question: str) -> Language:
    return Language(sources, policy, question)


def may_be_quoted(span: str, source: Source, policy: QuotePolicy) -> bool:
    """Tell whether a span may be quoted from this source."""
    try:
        data = f"[ 1 {span} ]".encode()
    except UnicodeEncodeError:
        return False
    return is_answer_bytes(data, [source], QuotePolicy(boundary=policy.boundary))
