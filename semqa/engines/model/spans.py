"""Which spans an answer quotes, and in which order: a plan for a model that writes the words between.

The extractive engine proposes spans of each source and says what they are worth. A language model
says how much likelier the question makes each of them. Both are added up, so that a model that
distinguishes sharply can outweigh the proposals, and one that does not leaves the choice to them.

Knows of no library that runs models.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import copysign
from statistics import fmean
from typing import TYPE_CHECKING

from semqa.engines.extractive.compose import join_pick, words_of
from semqa.engines.extractive.engine import DEFAULT_COVERAGE, DEFAULT_MAX_WORDS, ExtractiveEngine
from semqa.quotes.glue import glue_words, language_of, question_words
from semqa.quotes.marks import canonical_mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.engines.extractive.compose import Pick
    from semqa.engines.extractive.engine import Slot
    from semqa.prompting import Prompt
    from semqa.prompting.reserved import Spelling
    from semqa.prompting.template import Template
    from semqa.quotes import Source

__all__ = [
    "Candidate",
    "Place",
    "closing",
    "connectors",
    "generic_prompt",
    "plan",
    "propose",
]

_GENERIC_QUESTION = "What do the sources say?"
"""A question that favours no span."""

CANDIDATES = 3
"""Spans of a source among which the model chooses."""

GAIN = 0.02
"""What a nat of log-probability counts against expected F1 and relevance, both from 0 to 1."""

NOISE = 5.0
"""Nats that count nothing: two standard deviations of what a model of 135M parameters prefers by chance
among QuoteSum's spans."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may be quoted at one place of an answer: a span, or a title and a span.

    Attributes:
        text: the marks, with what joins them.
        plain: the words that are quoted.
        worth: expected F1, from 0 to 1; `plan` adds what the model thinks of it.
        words: how many words it adds to the answer.
        follows: whether it reads well after a comma: it begins with a name or in lower case.
    """

    text: str
    plain: tuple[str, ...]
    worth: float
    words: int
    follows: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A place of an answer.

    Attributes:
        source: number of the source that is quoted there.
        strength: how relevant the source is, from 0 to 1, the best one 1.
        candidates: what may be quoted, the best first; at least one.
        kind: ``expansion`` for what an abbreviation stands for, else empty.
    """

    source: int
    strength: float
    candidates: tuple[Candidate, ...]
    kind: str = ""


def generic_prompt(
    template: Template, prompt: Prompt, sources: Sequence[Source], spelling: Spelling
) -> Prompt:
    """Return a prompt with a question in place of its own that favours no span."""
    return template.fill(_GENERIC_QUESTION, sources, prompt.exemplars, prompt.form, spelling)


_FINAL = re.compile(r"[.!?…。！？؟۔।][\"'”’)»]*$")


def propose(
    question: str, sources: Sequence[Source], numbers: Sequence[int] | None = None
) -> list[Place]:
    """Return what an answer may quote, in reading order.

    Args:
        question: the question, in words.
        sources: source *k* is ``sources[k - 1]``.
        numbers: the sources that may be quoted; None for all.
    """
    slots = ExtractiveEngine().slots(question, sources, CANDIDATES)
    places = (_place(slot, question) for slot in slots if numbers is None or slot.source in numbers)
    return [place for place in places if place.candidates]


def _place(slot: Slot, question: str) -> Place:
    found = (_candidate(*both) for both in zip(slot.picks, slot.worths, strict=True))
    telling = (one for one in found if _tells(one, question))
    return Place(slot.source, slot.strength, tuple(telling), slot.kind)


def _tells(candidate: Candidate, question: str) -> bool:
    """Tell whether a candidate says anything that the question does not."""
    known = glue_words(language_of(question)) | question_words(question)
    return any(word.lower() not in known for word in re.findall(r"\w+", " ".join(candidate.plain)))


def _candidate(pick: Pick, worth: float) -> Candidate:
    quotes = tuple(quote for quote in (pick.title, pick.span) if quote)
    marks = [canonical_mark(pick.source, quote) for quote in quotes]
    text = join_pick(pick).join(marks) if len(marks) == 2 else marks[0]
    return Candidate(text, quotes, worth, words_of(pick), pick.follows or len(quotes) == 2)


def plan(
    places: Sequence[Place],
    generic: Sequence[Sequence[float]],
    asked: Sequence[Sequence[float]],
    *,
    max_words: int = DEFAULT_MAX_WORDS,
    coverage: float = DEFAULT_COVERAGE,
    weight: float = GAIN,
) -> list[Place]:
    """Choose the places of an answer, and put the candidates of each in order.

    Args:
        places: what may be quoted.
        generic: the log-probability of the start of each candidate after the generic question.
        asked: the same after the question itself.
        max_words: most words of the answer.
        coverage: as for the extractive engine.
        weight: what a nat counts.

    Returns:
        At least one place, unless there is none or nothing fits.
    """
    gains = _counted(
        [
            [after - before for before, after in zip(*both, strict=True)]
            for both in zip(generic, asked, strict=True)
        ]
    )
    ranked = []
    for place, row in zip(places, gains, strict=True):
        scored = [
            replace(candidate, worth=candidate.worth + weight * gain)
            for candidate, gain in zip(place.candidates, row, strict=True)
        ]
        candidates = tuple(sorted(scored, key=lambda candidate: -candidate.worth))
        strength = place.strength + weight * max(row)
        ranked.append(replace(place, strength=strength, candidates=candidates))
    least = max((place.strength for place in ranked), default=0.0) - coverage
    chosen: dict[int, Place] = {}
    said: list[str] = []
    room = max_words
    for number in sorted(range(len(ranked)), key=lambda i: -ranked[i].strength):
        place = ranked[number]
        if chosen and (place.strength < least or place.strength <= 0.0):
            continue
        fitting = tuple(
            candidate
            for candidate in place.candidates
            if candidate.words <= room and not _repeats(candidate, said)
        )
        if fitting:
            chosen[number] = replace(place, candidates=fitting)
            said += [text.lower() for text in fitting[0].plain]
            room -= fitting[0].words
    return [chosen[number] for number in sorted(chosen)]


def _counted(gains: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return how far gains are from their mean, less what is noise."""
    every = [gain for row in gains for gain in row]
    mean = fmean(every) if every else 0.0
    return [
        [copysign(max(0.0, abs(gain - mean) - NOISE), gain - mean) for gain in row] for row in gains
    ]


def _repeats(candidate: Candidate, said: Sequence[str]) -> bool:
    texts = [text.lower() for text in candidate.plain]
    return any(text in other or other in text for text in texts for other in said)


def connectors(written: str, place: Place, candidate: Candidate, *, last: bool) -> list[str]:
    """Return what may stand between the answer so far and a quote, besides the model's own words.

    Args:
        written: the answer so far.
        place: where the quote stands.
        candidate: the quote.
        last: whether no other place follows.

    Example:
        >>> ada = Candidate("[ 1 Ada ]", ("Ada",), 1.0, 1, follows=True)
        >>> place = Place(1, 1.0, (ada,))
        >>> connectors("", place, ada, last=True), connectors("[ 2 It rained ]", place, ada, last=True)
        ([''], ['. ', ', and '])
    """
    if place.kind == "expansion":
        return [", or " if last else ", "] if written else ["It stands for "]
    if not written:
        return [""]
    if _is_final(written):
        return [" "]
    return [". ", ", and "] if last and candidate.follows else [". "]


def closing(written: str) -> str:
    """Return what ends the last sentence of an answer."""
    return "" if _is_final(written) else "."


def _is_final(written: str) -> bool:
    return _FINAL.search(written.removesuffix("]").rstrip()) is not None
