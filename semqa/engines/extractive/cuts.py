"""Cuts: the places inside a sentence where a quote may begin or end."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from semqa.engines.extractive.lexicon import (
    AUXILIARIES,
    CONJUNCTIONS,
    DETERMINERS,
    OPENING_PREPOSITIONS,
    PREPOSITIONS,
    RELATIVES,
    is_verb,
)

if TYPE_CHECKING:
    from semqa.engines.extractive.passage import Passage

__all__ = ["Cut", "closes_at", "opens_at", "separates"]


class Cut(IntEnum):
    """What makes a place a cut; named for the word or mark that stands there."""

    NONE = 0
    SENTENCE = 1
    PUNCTUATION = 2
    BRACKET = 3
    PREPOSITION = 4
    RELATIVE = 5
    CONJUNCTION = 6
    VERB = 7
    PURPOSE = 8
    EVIDENCE = 9


_CLOSING = OPENING_PREPOSITIONS | {
    *("while", "when", "where", "who", "which", "whose", "although", "though")
}
"""Words before which a phrase that is complete may end."""

_UNFINISHED = PREPOSITIONS | CONJUNCTIONS | DETERMINERS | RELATIVES | {"to", "not"}
"""Words that want another word after them."""

_BREAKS = frozenset(";:–—；：")
_STOPS = _BREAKS | {"。"}
_COMMAS = frozenset(",，、")
_WIDE = frozenset("、，；：")
_BRACKETS_BEFORE = frozenset(')"“«「')
_BRACKETS_AFTER = frozenset("()”»」")


def separates(gap: str) -> bool:
    """Say whether a quote may be cut in this gap: at white space, or at a wide comma."""
    return not _WIDE.isdisjoint(gap) or any(c.isspace() for c in gap)


def _list_comma(passage: Passage, i: int, last: int) -> bool:
    """Say whether the comma before word `i` stands inside a list, a date or a place."""
    words = passage.words
    if words[i].isdigit() and len(words[i]) == 4:
        return True
    if (
        passage.capitals[i]
        and passage.capitals[i - 1]
        and (i + 1 == last or any(c in passage.gaps[i + 1] for c in ",;)"))
    ):
        return True
    j = i
    while j < last and j - i <= 5:
        if j > i and any(c in passage.gaps[j] for c in ",;:"):
            return j - i <= 4 and not any(is_verb(w) or w in RELATIVES for w in words[i:j])
        if words[j] in ("and", "or"):
            return not any(is_verb(w) for w in words[j + 1 : min(j + 4, last)])
        if is_verb(words[j]) or words[j] in RELATIVES:
            return False
        j += 1
    return False


def opens_at(passage: Passage, i: int, last: int) -> Cut:
    """Return the kind of cut if a span may begin at word `i` of a sentence that ends at `last`."""
    word, previous, gap = passage.words[i], passage.words[i - 1], passage.gaps[i]
    if not _BREAKS.isdisjoint(gap) or (
        not _COMMAS.isdisjoint(gap) and not _list_comma(passage, i, last)
    ):
        return Cut.CONJUNCTION if word in CONJUNCTIONS else Cut.PUNCTUATION
    if not _BRACKETS_BEFORE.isdisjoint(gap):
        return Cut.BRACKET
    if previous in CONJUNCTIONS and is_verb(word):
        return Cut.CONJUNCTION
    if previous in CONJUNCTIONS and word in DETERMINERS and "," in passage.gaps[i - 1]:
        return Cut.CONJUNCTION
    if previous in ("that", "which", "where", "when", "while", "because", "although", "who"):
        return Cut.RELATIVE if not is_verb(word) else Cut.VERB
    if is_verb(word) and previous not in AUXILIARIES and previous not in DETERMINERS:
        return Cut.VERB
    if word == "to" and i + 1 < last and passage.words[i + 1] not in DETERMINERS:
        return Cut.PURPOSE
    if word in ("because", "due"):
        return Cut.PURPOSE
    if word in OPENING_PREPOSITIONS:
        return Cut.PREPOSITION
    return Cut.NONE


def closes_at(passage: Passage, i: int, last: int) -> Cut:
    """Return the kind of cut if a span may end before word `i` of a sentence that ends at `last`."""
    word, previous, gap = passage.words[i], passage.words[i - 1], passage.gaps[i]
    if previous in _UNFINISHED:
        return Cut.NONE
    if not _STOPS.isdisjoint(gap):
        return Cut.PUNCTUATION
    if not _COMMAS.isdisjoint(gap):
        return Cut.NONE if _list_comma(passage, i, last) else Cut.PUNCTUATION
    if not _BRACKETS_AFTER.isdisjoint(gap):
        return Cut.BRACKET
    if previous in AUXILIARIES:
        return Cut.NONE
    if word in RELATIVES:
        return Cut.RELATIVE
    if (
        word in ("and", "but")
        and i + 1 < last
        and any(is_verb(w) for w in passage.words[i + 1 : i + 3])
    ):
        return Cut.CONJUNCTION
    if is_verb(previous) or previous.endswith("ing"):
        return Cut.NONE
    # Before a preposition only a name or a number is surely the end of its phrase.
    if word in _CLOSING and (passage.capitals[i - 1] or previous[0].isdigit()):
        return Cut.PREPOSITION
    return Cut.NONE
