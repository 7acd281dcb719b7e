"""The language of the copy constraint as a question about a finished text: is it an answer?

No tokens and no prefixes, but for `masks_by_enumeration`, which tries every sequence of tokens.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from semqa import Source
from semqa.decoding import QuotePolicy
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


@lru_cache(maxsize=64)
def _language(sources: tuple[Source, ...], policy: QuotePolicy, question: str) -> Language:
    return Language(sources, policy, question)


def may_be_quoted(span: str, source: Source, policy: QuotePolicy) -> bool:
    """Say whether a span may be cut from this source, whatever its number."""
    try:
        data = f"[ 1 {span} ]".encode()
    except UnicodeEncodeError:
        return False
    return is_answer_bytes(data, [source], QuotePolicy(boundary=policy.boundary))
