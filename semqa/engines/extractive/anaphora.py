"""Anaphora: which spans leave open who or what they speak of, so that a title must say it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from semqa.engines.extractive.cuts import Cut
from semqa.engines.extractive.lexicon import (
    ARTICLES,
    AUXILIARIES,
    DATE_WORDS,
    MONTHS,
    PERSONS,
    PRONOUNS,
    RELATIVES,
    STOPWORDS,
    THINGS,
    is_verb,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from semqa.engines.extractive.candidates import Candidates
    from semqa.engines.extractive.passage import Passage

__all__ = ["is_subject", "is_surely_name", "leaves_open", "misleads", "names_person"]

_PLACING = frozenset(["in", "at", "from", "on", "near", "to"])
_SUBORDINATE = RELATIVES | {"until", "after", "before", "as", "since", "than", "whether"}
_NOT_MEANT = frozenset(["said", "believed", "thought", "estimated", "possible", "likely", "clear"])
"""Words after "it is" that show that "it" stands for nothing."""


def leaves_open(passage: Passage, c: Candidates, title: Collection[str]) -> NDArray[np.bool_]:
    """Say which spans leave open who or what is meant; shape [spans].

    Those with "he" or "she" before any name of a person, and those that begin with "it" or "they"
    or have it as the subject of a main clause, and hold no name from the title.

    Args:
        passage: the body.
        c: the spans.
        title: the content words of the title, lower-cased.
    """
    words, count = passage.words, len(passage.words)
    persons = [i for i, word in enumerate(words) if word in PERSONS]
    named = [i for i in range(count) if names_person(passage, i)]
    next_person, next_name = (
        np.array([*places, count])[np.searchsorted(places, c.first)] for places in (persons, named)
    )
    things = np.array([word in THINGS for word in words])
    led = np.array([*(word in RELATIVES for word in words[:-1]), False])
    led[:-1] &= things[1:]
    subject = np.array([is_subject(words, i) for i in range(count)])
    known = np.array([passage.capitals[i] and words[i] in title for i in range(count)])
    opening = np.where(c.before == Cut.SENTENCE, things[c.first], False)
    opening |= led[c.first] & (c.last - c.first > 1)
    thing = (opening | c.holds(subject)) & ~c.holds(known)
    out: NDArray[np.bool_] = (next_person < np.minimum(next_name, c.last)) | thing
    return out


def misleads(passage: Passage, c: Candidates, title: Collection[str]) -> NDArray[np.bool_]:
    """Say before which spans the title would pass for a subject that it may not be; shape [spans].

    A predicate follows the title only where its own subject is the title or a pronoun.

    Args:
        passage: the body.
        c: the spans.
        title: the content words of the title, lower-cased.
    """
    allowed = PRONOUNS | ARTICLES | AUXILIARIES | set(title)
    strange = np.concatenate([[0], np.cumsum([word not in allowed for word in passage.words])])
    opening = np.array([sentence.first for sentence in passage.sentences])[c.sentence]
    out: NDArray[np.bool_] = (c.before == Cut.VERB) & (strange[c.first] > strange[opening])
    return out


def names_person(passage: Passage, i: int) -> bool:
    """Say whether word `i` is of a name that may be a person's: no date, and not after "in"."""
    words, capitals = passage.words, passage.capitals
    if not capitals[i] or words[i] in STOPWORDS or words[i] in MONTHS or words[i] in DATE_WORDS:
        return False
    while i and capitals[i - 1] and words[i - 1] not in STOPWORDS:
        i -= 1
    return not i or words[i - 1] not in _PLACING


def is_subject(words: list[str], i: int) -> bool:
    """Say whether word `i` is "it" or "they" before the verb of a main clause."""
    if words[i] not in ("it", "they") or (i and words[i - 1] in _SUBORDINATE):
        return False
    after = words[i + 1 : i + 3]
    verb = any(is_verb(word) or (word.endswith("s") and len(word) > 3) for word in after)
    return verb and after[-1] not in _NOT_MEANT


def is_surely_name(passage: Passage, i: int) -> bool:
    """Say whether word `i` has its capital not only because it opens a sentence.

    Example:
        >>> from semqa.engines.extractive.passage import read_passage
        >>> passage = read_passage("Oslo is big. Rain falls in Oslo.")
        >>> is_surely_name(passage, 0), is_surely_name(passage, 3)
        (True, False)
    """
    if not passage.capitals[i] or passage.words[i] in STOPWORDS:
        return False
    return any(
        word == passage.words[i] and passage.capitals[j] and j not in passage.openers
        for j, word in enumerate(passage.words)
    )
