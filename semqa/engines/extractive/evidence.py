"""Evidence: which words of a passage look like the kind of answer a question asks for."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from semqa.engines.extractive.lexicon import (
    ARTICLES,
    DATE_WORDS,
    MONTHS,
    NUMBER_WORDS,
    PLACE_WORDS,
    PREPOSITIONS,
    REASONS,
    STOPWORDS,
    UNITS,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

    from semqa.engines.extractive.passage import Passage
    from semqa.engines.extractive.question import Question

__all__ = ["dates", "evidence", "expansions", "names", "numbers"]

_YEAR = re.compile(r"(1[0-9]|20)\d\d(s)?$")
_SKIPPED = PREPOSITIONS | ARTICLES | {"and"}
_NO_ACRONYMS = STOPWORDS | {"stand", "stands", "abbreviation", "acronym"}
_PLACE_BEFORE = frozenset(["in", "at", "near", "from", "of", "to", "on", "between"])


def dates(passage: Passage) -> Array:
    """Return 1 for each word of a date, else 0; shape [words]."""
    words = passage.words
    out = np.zeros(len(words))
    for i, word in enumerate(words):
        if _YEAR.match(word):
            out[i] = 1.0
        elif word in MONTHS and (word not in ("may", "march", "sun") or passage.capitals[i]):
            out[i] = 1.0
            for j in (i - 1, i + 1):
                if 0 <= j < len(words) and words[j][:2].rstrip("stndrh").isdigit():
                    out[j] = 1.0
        elif word in DATE_WORDS:
            out[i] = 0.6
    return out


def numbers(passage: Passage) -> Array:
    """Return 1 for numerals and number words, 0.7 for units after one, else 0; shape [words]."""
    words = passage.words
    out = np.zeros(len(words))
    for i, word in enumerate(words):
        if word[0].isdigit() or word in NUMBER_WORDS:
            out[i] = 1.0
        elif word in UNITS and i and out[i - 1] > 0:
            out[i] = 0.7
    return out


def names(passage: Passage, question: Question) -> Array:
    """Return a weight for each word that looks like part of a name new to the question.

    Shape [words]. A capitalised run of two words or more weighs 1; a single word 0.7, and 0.2
    where it opens a sentence.
    """
    words, capitals = passage.words, passage.capitals
    out = np.zeros(len(words))
    openers = {s.first for s in passage.sentences}
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
            known = words[k] in question.words or passage.stems[k] in question.stems
            out[k] = 0.0 if known or words[k] in MONTHS else weight
        i = j
    return out


def places(passage: Passage, question: Question) -> Array:
    """Return a weight for each word of a name after a preposition of place; shape [words].

    Other names weigh half as much, and words such as "city" or "street" 0.5.
    """
    out = names(passage, question)
    for i, word in enumerate(passage.words):
        if word in PLACE_WORDS and word not in question.words:
            out[i] = max(out[i], 0.5)
        elif out[i]:
            led = i > 0 and (
                passage.words[i - 1] in _PLACE_BEFORE
                or out[i - 1] > 0
                or passage.gaps[i].startswith(",")
            )
            out[i] *= 1.0 if led else 0.5
    return out


def reasons(passage: Passage) -> Array:
    """Return a weight for each word that leads to a reason or a purpose; shape [words]."""
    words = passage.words
    out = np.array([float(word in REASONS) for word in words])
    for i, (word, following) in enumerate(pairwise(words)):
        if word == "to" and following not in STOPWORDS and not passage.capitals[i + 1]:
            out[i] = 0.7 if following.islower() else out[i]
        elif word == "for" and (following.endswith("ing") or following in ARTICLES):
            out[i] = 0.4
    return out


def means(passage: Passage) -> Array:
    """Return a weight for each word that tells how something is done; shape [words]."""
    out = 0.3 * numbers(passage)
    for i, word in enumerate(passage.words):
        if word in ("by", "using", "through", "via"):
            out[i] = 1.0
            if i + 1 < len(out) and passage.words[i + 1].endswith("ing"):
                out[i + 1] = 1.0
    return out


def definitions(passage: Passage, question: Question) -> Array:
    """Return a weight for each word of a name, and 0.5 for verbs that define; shape [words]."""
    out = names(passage, question)
    for i, word in enumerate(passage.words):
        if word in ("refers", "defined", "means", "called", "known", "named"):
            out[i] = 0.5
    return out


def evidence(passage: Passage, question: Question) -> Array:
    """Return how much each word looks like an answer of the question's kind; shape [words]."""
    match question.kind:
        case "when":
            return dates(passage)
        case "quantity":
            return numbers(passage)
        case "who":
            return names(passage, question)
        case "where":
            return places(passage, question)
        case "why":
            return reasons(passage)
        case "how":
            return means(passage)
        case "expansion":
            out = np.zeros(len(passage.words))
            for first, last in expansions(passage, question):
                out[first:last] = 1.0
            return out
        case _:
            return definitions(passage, question)


def expansions(passage: Passage, question: Question) -> list[tuple[int, int]]:
    """Return the word ranges whose initials spell a word of the question, in order.

    Prepositions and articles may be passed over, as in "National Plan on Climate" for NPC.
    """
    initials = "".join(word[0] for word in passage.words)
    every = list(range(len(initials)))
    heads = [i for i in every if passage.words[i] not in _SKIPPED]
    homes = {i: k for k, s in enumerate(passage.sentences) for i in range(s.first, s.last)}
    found: set[tuple[int, int]] = set()
    for acronym in question.words:
        if not (acronym.isalpha() and 2 <= len(acronym) <= 10) or acronym in _NO_ACRONYMS:
            continue
        for places_of_words, enough in ((every, 1), (heads, len(acronym))):
            letters = "".join(initials[i] for i in places_of_words)
            at = letters.find(acronym)
            while at >= 0:
                run = places_of_words[at : at + len(acronym)]
                capitals = sum(passage.capitals[i] for i in run)
                together = run[0] in homes and homes[run[0]] == homes.get(run[-1])
                if capitals >= enough and together and run[-1] - run[0] <= len(acronym) + 3:
                    found.add((run[0], run[-1] + 1))
                at = letters.find(acronym, at + 1)
    return sorted(found)
