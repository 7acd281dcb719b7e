"""Candidates of several searches: ranked together, and without those that say the same."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

__all__ = ["Candidate", "drop_repeats", "rank"]

FUSION = 60
"""What tempers the first places of a list, as usual in reciprocal rank fusion."""

FOUND, NEAR, COVERED = 0.5, 0.3, 0.2
"""What each part of a score counts."""

SAME = 0.9
"""Share of words in common from which two passages say the same."""

_HEAD = 4
"""Letters that a word keeps."""

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
        context: what stands above it in the document, a line each.
        places: its place, from 0, in each list that has it.
        meaning: how near its vector is to the question's, from -1 to 1; 0 without vectors.
        score: its score over all.
    """

    document_id: str
    name: str
    title: str
    start: int
    end: int
    page: int | None
    text: str
    context: str = ""
    places: list[int] = field(default_factory=list)
    meaning: float = 0.0
    score: float = 0.0


def rank(query: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates by score, best first; ties in the order of documents.

    The score is a sum of three parts, each from 0 to 1: how early the searches found the passage,
    how near its meaning is, and how much of the question's rare words it has, its title and context
    included.
    """
    if not candidates:
        return []
    fused = [sum(FUSION / (FUSION + place) for place in each.places) for each in candidates]
    meanings = [each.meaning for each in candidates]
    covered = _coverage(query, candidates)
    low, span = min(meanings), max(meanings) - min(meanings)
    for i, candidate in enumerate(candidates):
        near = (meanings[i] - low) / span if span else 0.0
        candidate.score = FOUND * fused[i] / max(fused) + NEAR * near + COVERED * covered[i]
    return sorted(candidates, key=lambda each: (-each.score, each.name, each.start))


def _coverage(query: str, candidates: Sequence[Candidate]) -> list[float]:
    """Return which share of the question's words each passage has, rare words counting more."""
    asked = _stems(query)
    heads = {stem[:_HEAD] for stem in asked}
    there = [
        asked & _stems(f"{each.title} {each.context} {each.text}", heads) for each in candidates
    ]
    counts = Counter(word for some in there for word in some)
    weights = {word: math.log(1 + len(there) / (1 + counts[word])) for word in asked}
    total = math.fsum(weights.values())  # the same in whatever order a set has
    return [math.fsum(weights[word] for word in some) / total if total else 0.0 for some in there]


def _stems(text: str, heads: Container[str] | None = None) -> set[str]:
    """Return words without what often ends them; those of a writing without blanks by character.

    Args:
        text: any.
        heads: what words of interest begin with; None for all words.
    """
    words: set[str] = set()
    for word in set(_WORD.findall(text.casefold())):
        if word[0] >= "\u3040":
            words.update(word)
        elif heads is None or word[:_HEAD] in heads:
            words.add(word if len(word) <= _HEAD else word[: max(_HEAD, len(word) - 3)])
    return words


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
        # What is said of one thing is not said of another.
        said = f"{candidate.context} {candidate.text}"
        words = frozenset(_WORD.findall(said.casefold()))
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
