"""Evidence: how much each word of a passage looks like the requested kind of answer."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semqa.engines.extractive.lexicon import (
    ARTICLES,
    DATE_WORDS,
    MADE,
    MEASURED,
    MONTHS,
    NUMBER_WORDS,
    PLACE_WORDS,
    PLACING,
    PREPOSITIONS,
    REASONS,
    STOPWORDS,
    is_verb,
)
from semqa.engines.extractive.question import UNITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semqa.engines.extractive.passage import Passage
    from semqa.engines.extractive.question import Inquiry

    Array = NDArray[np.float64]

_POINTS = frozenset(["later", "ago", "earlier", "before", "after", "später", "zuvor"])
"""Words that turn a duration into a point in time."""

_YEAR = re.compile(r"(1[0-9]|20)\d\d$")


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word in NUMBER_WORDS


def _is_date(passage: Passage, first: int, last: int) -> bool:
    """Whether the number at words ``first <= i < last`` is a year or a day of the month."""
    words = passage.words
    context = {*words[max(first - 1, 0) : first], *words[last : last + 1]}
    if context & (MONTHS | DATE_WORDS) - {"may", "second", "sun"}:
        return True
    return last - first == 1 and _YEAR.match(words[first]) is not None


def measures(passage: Passage, units: frozenset[str]) -> Array:
    """Return how much each word looks like part of the requested number; shape [words].

    If `units` is not empty, a number and one of these units after it weigh 0.8, or 1 next to a
    word such as "long"; any other number weighs 0.3. If it is empty, any number weighs 1 and a unit
    after it 0.7. A date weighs 0.2.
    """
    words = passage.words
    out = np.zeros(len(words))
    i = 0
    while i < len(words):
        if not _is_number(words[i]):
            i += 1
            continue
        j = i + 1
        while j < len(words) and _is_number(words[j]) and len(passage.gaps[j]) <= 1:
            j += 1
        end = j
        unit = next((k for k in range(j, min(j + 2, len(words))) if words[k] in units), -1)
        symbol = bool(units & {"dollars", "degrees"}) and _symbol(passage, i, j, units)
        if (unit >= 0 and not _has_punctuation(passage, j, unit + 1)) or symbol:
            end = max(unit + 1, j)
            context = {*words[max(i - 4, 0) : i], *words[end : end + 3]}
            weight = 1.0 if context & MEASURED or symbol else 0.8
            if words[end : end + 1] and words[end] in _POINTS:
                weight = 0.3
        elif _is_date(passage, i, j):
            weight = 0.2
        else:
            weight = 0.3 if units else 1.0
            if not units and j < len(words) and not _has_punctuation(passage, j, j + 1):
                out[j] = 0.7 if words[j] in _EVERY else 0.0
        out[i:end] = weight
        i = max(end, i + 1)
    return out


def _symbol(passage: Passage, first: int, last: int, units: frozenset[str]) -> bool:
    """Whether the number has a currency or degree sign."""
    before, after = passage.gaps[first][-1:], passage.gaps[last][:1]
    if "dollars" in units:
        return before in tuple("$€£¥") or after in tuple("$€£¥%")
    return after == "°"


def _has_punctuation(passage: Passage, first: int, last: int) -> bool:
    """Whether there is punctuation before one of the words."""
    return any(c in gap for gap in passage.gaps[first:last] for c in ".,;:()。，")


_EVERY = frozenset(" ".join(UNITS.values()).split())


_YEAR_WORD = re.compile(r"(1[0-9]|20)\d\d(s)?$")
_SKIPPED = PREPOSITIONS | ARTICLES | {"and"}
_NO_ACRONYMS = STOPWORDS | {"stand", "stands", "abbreviation", "acronym"}


class Trust(NamedTuple):
    """How reliable one kind of evidence is.

    Attributes:
        least: minimum evidence for a word to count as an answer.
        term: weight of an answer in a sentence, relative to a question word of the same rarity.
        span: factor for the worth of a span without an answer if other spans have one.
        source: factor for the strength of a source without an answer if other sources have one.
    """

    least: float
    term: float
    span: float
    source: float


_UNITS_TRUST = Trust(least=0.8, term=1.0, span=0.3, source=0.5)
_TRUST = {
    "material": _UNITS_TRUST,
    "definition": _UNITS_TRUST,
    "when": Trust(least=0.8, term=0.25, span=0.8, source=0.7),
    "quantity": Trust(least=0.8, term=0.25, span=0.8, source=0.7),
    "who": Trust(least=0.7, term=0.35, span=0.8, source=0.85),
    "where": Trust(least=0.7, term=0.35, span=0.8, source=0.85),
    "why": Trust(least=0.8, term=0.35, span=0.8, source=0.85),
}
_NO_TRUST = Trust(least=2.0, term=0.0, span=1.0, source=1.0)


def trust(inquiry: Inquiry) -> Trust:
    """Return how reliable the evidence for a question is; units are the most reliable."""
    return _UNITS_TRUST if inquiry.units else _TRUST.get(inquiry.kind, _NO_TRUST)


def dates(passage: Passage) -> Array:
    """Return 1 for each word of a date, else 0; shape [words]."""
    words = passage.words
    out = np.zeros(len(words))
    for i, word in enumerate(words):
        if _YEAR_WORD.match(word):
            out[i] = 1.0
        elif word in MONTHS and (word not in ("may", "march", "sun") or passage.capitals[i]):
            out[i] = 1.0
            for j in (i - 1, i + 1):
                if 0 <= j < len(words) and words[j][:2].rstrip("stndrh").isdigit():
                    out[j] = 1.0
        elif word in DATE_WORDS:
            out[i] = 0.6
    return out


def names(passage: Passage, inquiry: Inquiry) -> Array:
    """Weigh words that look like part of a name that is not in the question; shape [words].

    A run of two or more capitalised words weighs 1; a single word 0.7, or 0.2 at the start of a
    sentence.
    """
    words, capitals = passage.words, passage.capitals
    out = np.zeros(len(words))
    openers = passage.openers
    i, count = 0, len(words)
    while i < count:
        if not capitals[i] or words[i] in STOPWORDS:
            i += 1
            continue
        j = i + 1
        while (
            j < count
            and capitals[j]
            and j not in openers
            and len(passage.gaps[j].strip()) <= 1
            and "," not in passage.gaps[j]
        ):
            j += 1
        weight = 1.0 if j - i > 1 else (0.2 if i in openers else 0.7)
        for k in range(i, j):
            known = words[k] in inquiry.words or passage.stems[k] in inquiry.stems
            out[k] = 0.0 if known or words[k] in MONTHS else weight
        i = j
    return out


def places(passage: Passage, inquiry: Inquiry) -> Array:
    """Weigh words of a name after a preposition of place; shape [words].

    Other names weigh half as much; words such as "city" or "street" weigh 0.5.
    """
    out = names(passage, inquiry)
    for i, word in enumerate(passage.words):
        if word in PLACE_WORDS and word not in inquiry.words:
            out[i] = max(out[i], 0.5)
        elif out[i]:
            led = i > 0 and (
                passage.words[i - 1] in PLACING or out[i - 1] > 0 or passage.gaps[i].startswith(",")
            )
            out[i] *= 1.0 if led else 0.5
    return out


def reasons(passage: Passage) -> Array:
    """Weigh words that introduce a reason or a purpose; shape [words]."""
    words = passage.words
    out = np.array([float(word in REASONS) for word in words])
    for i, (word, following) in enumerate(pairwise(words)):
        if word == "to" and following not in STOPWORDS and not passage.capitals[i + 1]:
            out[i] = 0.7 if following.islower() else out[i]
        elif word == "for" and (following.endswith("ing") or following in ARTICLES):
            out[i] = 0.4
    return out


def means(passage: Passage) -> Array:
    """Weigh words that say how something is done; shape [words]."""
    out = 0.3 * measures(passage, frozenset())
    for i, word in enumerate(passage.words):
        if word in ("by", "using", "through", "via"):
            out[i] = 1.0
            if i + 1 < len(out) and passage.words[i + 1].endswith("ing"):
                out[i + 1] = 1.0
    return out


def definitions(passage: Passage, inquiry: Inquiry) -> Array:
    """Weigh words of a name, and verbs that define with 0.5; shape [words]."""
    out = names(passage, inquiry)
    for i, word in enumerate(passage.words):
        if word in ("refers", "defined", "means", "called", "known", "named"):
            out[i] = 0.5
    return out


def materials(passage: Passage) -> Array:
    """Weigh phrases such as "made of" and the words that follow; shape [words]."""
    words = passage.words
    out = np.zeros(len(words))
    for i, (word, following) in enumerate(pairwise(words)):
        if following in ("of", "from", "in", "out") and word in MADE:
            out[i : i + 5] = 1.0 if following != "in" else 0.5
    return out


def subjects(passage: Passage) -> Array:
    """Weigh a copula and its article if the sentence defines its subject; shape [words].

    The weight is 1 in the first sentence of the passage, where a subject is usually introduced, and
    0.5 in others.
    """
    words = passage.words
    out = np.zeros(len(words))
    for number, sentence in enumerate(passage.sentences):
        for i in range(sentence.first + 1, min(sentence.first + 10, sentence.last)):
            if is_verb(words[i]):
                copula = words[i] in ("is", "are", "was", "were", "means", "refers")
                if copula and i + 1 < sentence.last:
                    defines = words[i + 1] in ARTICLES or words[i + 1] in ("any", "one", "to")
                    out[i : i + 2] = (0.5 if number else 1.0) if defines else 0.0
                break
    return out


def evidence(passage: Passage, inquiry: Inquiry) -> Array:
    """Return how much each word looks like an answer to the question; shape [words]."""
    kinds = dict.fromkeys([inquiry.kind, *(kind for kind, _ in inquiry.parts)])
    weights: Array = np.max([_of_kind(kind, passage, inquiry) for kind in kinds], axis=0)
    return weights


def _of_kind(kind: str, passage: Passage, inquiry: Inquiry) -> Array:
    match kind:
        case "when":
            return dates(passage)
        case "quantity":
            return measures(passage, inquiry.units)
        case "who":
            return names(passage, inquiry)
        case "where":
            return places(passage, inquiry)
        case "why":
            return reasons(passage)
        case "how":
            return means(passage)
        case "material":
            return materials(passage)
        case "definition":
            return subjects(passage)
        case "whether":
            return np.zeros(len(passage.words))
        case "expansion":
            out = np.zeros(len(passage.words))
            for first, last in expansions(passage, inquiry):
                out[first:last] = 1.0
            return out
        case _:
            return definitions(passage, inquiry)


def expansions(passage: Passage, inquiry: Inquiry) -> list[tuple[int, int]]:
    """Return the word ranges whose initials spell a word of the question, in order.

    Prepositions and articles may be skipped, as in "National Plan on Climate" for NPC.
    """
    initials = "".join(word[0] for word in passage.words)
    all_words = list(range(len(initials)))
    heads = [i for i in all_words if passage.words[i] not in _SKIPPED]
    sentence_of = passage.sentence_of
    found: set[tuple[int, int]] = set()
    for acronym in inquiry.words:
        if not (acronym.isalpha() and 2 <= len(acronym) <= 10) or acronym in _NO_ACRONYMS:
            continue
        for indexes, least_capitals in ((all_words, 1), (heads, len(acronym))):
            letters = "".join(initials[i] for i in indexes)
            at = letters.find(acronym)
            while at >= 0:
                run = indexes[at : at + len(acronym)]
                capitals = sum(passage.capitals[i] for i in run)
                same_sentence = 0 <= sentence_of[run[0]] == sentence_of[run[-1]]
                compact = run[-1] - run[0] <= len(acronym) + 3
                if capitals >= least_capitals and same_sentence and compact:
                    found.add((run[0], run[-1] + 1))
                at = letters.find(acronym, at + 1)
    return sorted(found)
