"""Candidates of several searches: ranked together, and without those that say the same."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Candidate", "drop_repeats", "rank"]

FUSION = 60
"""What tempers the first places of a list, as usual in reciprocal rank fusion."""

SAME = 0.9
"""Share of words in common from which two passages say the same."""

_WORD = re.compile(r"[^\W_]+")


@dataclass(slots=True)
class Candidate:
    """A passage that some search found.

    Attributes:
        document_id: its document.
        name: the document's name.
        title: the document's title.
        start: where it begins in the document.
        end: where it ends.
        page: the page where it begins.
        text: the passage.
        places: its place, from 0, in each list that has it.
        words: its score by words; 0 where that search did not find it.
        meaning: its score by vectors; likewise.
        score: its score over all.
    """

    document_id: str
    name: str
    title: str
    start: int
    end: int
    page: int | None
    text: str
    places: list[int] = field(default_factory=list)
    words: float = 0.0
    meaning: float = 0.0
    score: float = 0.0


def rank(query: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates by score, best first; ties in the order of documents."""
    del query
    for candidate in candidates:
        candidate.score = sum(1 / (FUSION + place) for place in candidate.places)
    return sorted(candidates, key=lambda each: (-each.score, each.name, each.start))


def drop_repeats(ranked: Sequence[Candidate], limit: int) -> list[Candidate]:
    """Return the first candidates that do not repeat a better one.

    Example:
        >>> texts = ["Oslo is a city.", "Oslo  is a CITY", "Oslo is old."]
        >>> some = [Candidate("d", "n", "t", i, i, None, text) for i, text in enumerate(texts)]
        >>> [each.text for each in drop_repeats(some, 5)]
        ['Oslo is a city.', 'Oslo is old.']
    """
    kept: list[Candidate] = []
    seen: list[frozenset[str]] = []
    for candidate in ranked:
        if len(kept) == limit:
            break
        words = frozenset(_WORD.findall(candidate.text.casefold()))
        if any(_same(words, other) for other in seen):
            continue
        kept.append(candidate)
        seen.append(words)
    return kept


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Say whether two passages say the same: last year's figures are not this year's."""
    if len(one & other) < SAME * len(one | other):
        return False
    return not any(c.isdigit() for word in one ^ other for c in word)
