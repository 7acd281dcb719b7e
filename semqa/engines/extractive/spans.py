"""Candidate spans: where a quote may begin and end, and which spans have unresolved references."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semqa.engines.extractive.lexicon import (
    ARTICLES,
    AUXILIARIES,
    CONJUNCTIONS,
    DATE_WORDS,
    DETERMINERS,
    MONTHS,
    OPENING_PREPOSITIONS,
    PERSONS,
    PREPOSITIONS,
    PRONOUNS,
    REASONS,
    RELATIVES,
    STOPWORDS,
    THINGS,
    is_verb,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from semqa.engines.extractive.passage import Passage, Sentence

_OPENING, _CLOSING = '("“', ')"”.,!?'
"""Marks attached to the word after them, and to the word before them."""

_MARKS = frozenset('()"“”')
_DEPTH = 1_000
"""Weight of a bracket in a nesting number, more than the quotation marks of any sentence."""


class _Nesting(NamedTuple):
    """The number of open brackets, and of quotation marks so far."""

    brackets: int = 0
    marks: int = 0

    def after(self, text: str) -> _Nesting:
        """Return the nesting after a text that is between words."""
        brackets, marks = self
        for char in text:
            if char == "(":
                brackets += 1
            elif char == ")":
                brackets = max(brackets - 1, 0)
            elif char in _MARKS:
                marks += 1
        return _Nesting(brackets, marks)

    def number(self) -> int:
        """Return 0 outside brackets and quotation marks; inside, a number that identifies the pair."""
        return self.brackets * _DEPTH + (self.marks if self.marks % 2 else 0)


def nesting(passage: Passage, first: int, last: int) -> tuple[list[int], list[int], list[int]]:
    """Return the nesting of each word of a sentence in brackets and quotation marks.

    The three lists cover the words ``first <= i < last``: the nesting at the word, before the marks
    attached to its start, and after the marks attached to its end. Zero means no nesting; equal
    numbers mean the same brackets or quotation marks.
    """
    inside: list[int] = []
    before: list[int] = []
    after: list[int] = []
    place = _Nesting()
    for i in range(first, last):
        # In the gap before a sentence, only marks attached to its first word belong to it.
        gap = passage.gaps[i][-3:] if i == first else passage.gaps[i]
        following = passage.gaps[i + 1]
        if _MARKS.isdisjoint(gap) and _MARKS.isdisjoint(following):
            for numbers in (before, inside, after):
                numbers.append(place.number())
            continue
        outer = gap.rstrip(_OPENING)
        place = place.after(outer)
        before.append(place.number())
        place = place.after(gap[len(outer) :])
        inside.append(place.number())
        marks = following[: len(following) - len(following.lstrip(_CLOSING))]
        after.append(place.after(marks).number())
    return inside, before, after


class Cut(IntEnum):
    """Kinds of cuts, named for the word or mark at the cut."""

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


_ENDING_WORDS = OPENING_PREPOSITIONS | {
    *("while", "when", "where", "who", "which", "whose", "although", "though")
}
"""Words before which a complete phrase may end."""

_UNFINISHED = PREPOSITIONS | CONJUNCTIONS | DETERMINERS | RELATIVES | {"to", "not"}
"""Words that need another word after them."""

_BREAKS = frozenset(";:–—；：")
_STOPS = _BREAKS | {"。"}
_COMMAS = frozenset(",，、")
_WIDE = frozenset("、，；：")
_BRACKETS_BEFORE = frozenset(')"“«「')
_BRACKETS_AFTER = frozenset("()”»」")


def separates(gap: str) -> bool:
    """Whether a quote may be cut in this gap: at white space or full-width punctuation."""
    return not _WIDE.isdisjoint(gap) or any(c.isspace() for c in gap)


def _list_comma(passage: Passage, i: int, last: int) -> bool:
    """Whether the comma before word `i` is inside a list, a date or a place name."""
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
    """Return the kind of cut at which a span may begin at word `i`, in a sentence up to `last`."""
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
    """Return the kind of cut at which a span may end before word `i`, in a sentence up to `last`."""
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
    # Before a preposition, only a name or a number certainly ends its phrase.
    if word in _ENDING_WORDS and (passage.capitals[i - 1] or previous[0].isdigit()):
        return Cut.PREPOSITION
    return Cut.NONE


MAX_WORDS = 45
"""Maximum length of a span inside a sentence; a whole sentence may be longer."""

MAX_SPANS = 1_500
"""After this many candidates from one source, only whole sentences are added."""

_STRONG = 0.9
"""Minimum evidence of a run of words that is cut out as an answer."""

_LEADING = REASONS | RELATIVES | {"to", "of", "using", "via"}
"""Words that introduce an answer, and so never end one."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Spans of one passage as parallel arrays; each has shape [spans]."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    sentence: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum the values of the words in each span; shape [words] to [spans]."""
        sums = np.concatenate([[0.0], np.cumsum(values)])
        totals: NDArray[np.float64] = sums[self.last] - sums[self.first]
        return totals

    def holds(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return whether each span has a flagged word; shape [words] to [spans]."""
        counts = np.concatenate([[0], np.cumsum(flags)])
        found: NDArray[np.bool_] = counts[self.last] > counts[self.first]
        return found


def find_candidates(passage: Passage, evidence: NDArray[np.float64]) -> Candidates:
    """List the whole sentences and every span between two cuts in the same sentence.

    Args:
        evidence: the weight of each word as an answer, shape [words]; a span may also begin or
            end with a run of evidence.
    """
    rows: list[tuple[int, int, int, int, int]] = []
    strong = (evidence >= _STRONG).tolist()
    for number, sentence in enumerate(passage.sentences):
        a, b = sentence.first, sentence.last
        rows.append((a, b, number, Cut.SENTENCE, Cut.SENTENCE))
        if len(rows) < MAX_SPANS:
            _add_spans(passage, sentence, number, strong, rows)
    table = np.array(rows, dtype=np.int64).reshape(-1, 5)
    return Candidates(*(np.ascontiguousarray(table[:, i]) for i in range(5)))


def _add_spans(
    passage: Passage,
    sentence: Sentence,
    number: int,
    strong: list[bool],
    rows: list[tuple[int, int, int, int, int]],
) -> None:
    """Add every span between two cuts of a sentence to `rows`; `strong` flags the evidence."""
    a, b = sentence.first, sentence.last
    inside, before_mark, after_mark = nesting(passage, a, b)
    opens, closes = [(a, Cut.SENTENCE)], []
    for i in range(a + 1, b):
        if not separates(passage.gaps[i]):
            continue
        opening, closing = opens_at(passage, i, b), closes_at(passage, i, b)
        previous = passage.words[i - 1]
        loose = previous not in DETERMINERS and previous not in PREPOSITIONS
        if not opening and strong[i] and not strong[i - 1] and loose:
            opening = Cut.EVIDENCE
        ended = strong[i - 1] and not strong[i] and previous not in _LEADING
        if not closing and ended and loose and not is_verb(passage.words[i]):
            closing = Cut.EVIDENCE
        if opening:
            opens.append((i, opening))
        if closing:
            closes.append((i, closing))
    closes.append((b, Cut.SENTENCE))
    for first, before in opens:
        for last, after in closes:
            if last - first > MAX_WORDS:
                break
            balanced = inside[first - a] == inside[last - 1 - a] or not (
                before_mark[first - a] or after_mark[last - 1 - a]
            )
            if first < last and balanced and (first != a or last != b):
                rows.append((first, last, number, before, after))


_PLACING = frozenset(["in", "at", "from", "on", "near", "to"])
_SUBORDINATE = RELATIVES | {"until", "after", "before", "as", "since", "than", "whether"}
_EXPLETIVE = frozenset(["said", "believed", "thought", "estimated", "possible", "likely", "clear"])
"""Words after "it is" that show that "it" has no referent."""


def has_open_reference(
    passage: Passage, c: Candidates, title: Collection[str]
) -> NDArray[np.bool_]:
    """Return whether each span has an unresolved reference; shape [spans].

    That is, "he" or "she" before any person's name, or, without a name from the title, "it" or
    "they" at the start or as the subject of a main clause.
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


def has_wrong_subject(passage: Passage, c: Candidates, title: Collection[str]) -> NDArray[np.bool_]:
    """Return whether the title would look like the wrong subject before each span; shape [spans].

    A predicate may follow the title only if its own subject is the title or a pronoun.
    """
    allowed = PRONOUNS | ARTICLES | AUXILIARIES | set(title)
    others = np.concatenate([[0], np.cumsum([word not in allowed for word in passage.words])])
    opening = np.array([sentence.first for sentence in passage.sentences])[c.sentence]
    out: NDArray[np.bool_] = (c.before == Cut.VERB) & (others[c.first] > others[opening])
    return out


def names_person(passage: Passage, i: int) -> bool:
    """Whether word `i` is in a name that may be a person's: not a date, and not after "in"."""
    words, capitals = passage.words, passage.capitals
    if not capitals[i] or words[i] in STOPWORDS or words[i] in MONTHS or words[i] in DATE_WORDS:
        return False
    while i and capitals[i - 1] and words[i - 1] not in STOPWORDS:
        i -= 1
    return not i or words[i - 1] not in _PLACING


def is_subject(words: list[str], i: int) -> bool:
    """Whether word `i` is "it" or "they" before the verb of a main clause."""
    if words[i] not in ("it", "they") or (i and words[i - 1] in _SUBORDINATE):
        return False
    after = words[i + 1 : i + 3]
    verb = any(is_verb(word) or (word.endswith("s") and len(word) > 3) for word in after)
    return verb and after[-1] not in _EXPLETIVE


def is_surely_name(passage: Passage, i: int) -> bool:
    """Whether word `i` is capitalised and does not start a sentence."""
    if not passage.capitals[i] or passage.words[i] in STOPWORDS:
        return False
    openers = passage.openers
    return any(
        word == passage.words[i] and passage.capitals[j] and j not in openers
        for j, word in enumerate(passage.words)
    )
