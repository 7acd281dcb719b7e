"""The extractive engine: answers from quotes alone, without any model.

Time is bounded whatever the sources weigh: of a long body only the blocks with most of the
question's words are read (`passage.MAX_CHARACTERS`), and a source gives at most a few thousand
candidate spans (`candidates.MAX_SPANS`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from semqa.engines.extractive.candidates import PREPOSITION, SENTENCE, VERB
from semqa.engines.extractive.compose import (
    Pick,
    quotable,
    span_text,
    words_of,
    write_list,
    write_paragraph,
)
from semqa.engines.extractive.evidence import expansions
from semqa.engines.extractive.lexicon import MONTHS, PERSONS, STOPWORDS, THINGS
from semqa.engines.extractive.passage import split_words
from semqa.engines.extractive.ranker import load_weights, read_sources, score_spans
from semqa.errors import InputError
from semqa.quotes import QuotedAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semqa.engines.extractive.candidates import Candidates
    from semqa.engines.extractive.question import Question
    from semqa.engines.extractive.ranker import Reading, Weights
    from semqa.quotes import Source

__all__ = ["DEFAULT_COVERAGE", "DEFAULT_MAX_WORDS", "ExtractiveEngine"]

DEFAULT_MAX_WORDS = 100
DEFAULT_COVERAGE = 0.45

_TITLE_MARGIN = 0.05
"""How much expected F1 a title must add before it is quoted."""


_FRAGMENT = 0.03
"""How much more a span must be worth that begins without its subject, and no title before it."""


_NAMED = 0.12
"""What a title is worth before a span that leaves open who or what is meant."""


_BROKEN_OFF = 0.06
"""How much more a span must be worth that breaks off where its body does."""

_LEAST = 0.5
"""Where the best quote does not fit, the share of its worth that another must have."""


class ExtractiveEngine:
    """Quotes the most telling span of each relevant source.

    Args:
        max_words: most words of the answer, marks not counted.
        coverage: how readily a source is kept, in [0, 1]: a source stays when its best sentence is
            at least ``1 - coverage`` times as relevant as the best of all. 0 keeps only the best
            sources, 1 every source that shares a word with the question.

    Raises:
        InputError: an option is out of its range.

    Example:
        >>> from semqa.quotes import Source
        >>> sources = [Source("It rained. The bridge was opened in 1932 by the mayor.")]
        >>> ExtractiveEngine().answer("When was the bridge opened?", sources).marked
        '[ 1 The bridge was opened in 1932 by the mayor. ]'
    """

    name = "extractive"

    def __init__(
        self, max_words: int = DEFAULT_MAX_WORDS, coverage: float = DEFAULT_COVERAGE
    ) -> None:
        words: object = max_words
        if isinstance(words, bool) or not isinstance(words, int) or words < 1:
            raise InputError(
                f"max_words: got {max_words!r}, expected a whole number from 1; leave it out for "
                f"{DEFAULT_MAX_WORDS}"
            )
        share: object = coverage
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
            raise InputError(
                f"coverage: got {coverage!r}, expected a number from 0 to 1; leave it out for "
                f"{DEFAULT_COVERAGE}"
            )
        self.max_words = max_words
        self.coverage = float(coverage)

    def answer(self, question: str, sources: Sequence[Source]) -> QuotedAnswer:
        """Answer one question.

        Args:
            question: the question, in words.
            sources: the passages to answer from; source *k* is ``sources[k - 1]``.

        Raises:
            InputError: the question is blank, there is no source, or no source has any text.
        """
        return QuotedAnswer.parse(self.write(question, sources), sources)

    def write(
        self, question: str, sources: Sequence[Source], weights: Weights | None = None
    ) -> str:
        """Return the answer as marked text.

        Args:
            question: the question, in words.
            sources: the passages to answer from.
            weights: other weights than those that ship.

        Raises:
            InputError: as `answer`.
        """
        if not question.strip():
            raise InputError("the question is blank: got no words, expected a question; write one")
        if not sources:
            raise InputError("no source to answer from: got 0, expected at least 1; give one")
        asked, readings = read_sources(question, sources)
        return self.compose(asked, readings, sources, weights or load_weights())

    def compose(
        self,
        question: Question,
        readings: Sequence[Reading],
        sources: Sequence[Source],
        weights: Weights,
    ) -> str:
        """Choose the spans and write the paragraph.

        Raises:
            InputError: no source has any text.
        """
        if question.kind == "expansion" and self.coverage < 1.0:
            listed = write_list(_expansions(question, readings), self.max_words)
            if listed:
                return listed
        picks: dict[int, Pick] = {}
        seen: set[tuple[str, ...]] = set()
        room = self.max_words
        for k in sorted(range(len(sources)), key=lambda k: -readings[k].relevance.strength):
            strength = readings[k].relevance.strength
            if picks and (strength < 1.0 - self.coverage or strength <= 0.0):
                continue
            chooser = _Chooser(k + 1, readings[k], quotable(sources[k].title), weights)
            pick = chooser.best(room) or (None if picks else chooser.shortened(room))
            if pick is None:
                continue
            words = tuple(split_words(pick.span or pick.title))
            if words not in seen:
                seen.add(words)
                picks[k] = pick
                room -= words_of(pick)
        if not picks:
            raise InputError(
                "no source has any text: got empty bodies and titles, expected words; give one"
            )
        return write_paragraph([picks[k] for k in sorted(picks)], self.max_words)


def _expansions(question: Question, readings: Sequence[Reading]) -> list[Pick]:
    """Return the spelled-out forms of the abbreviation asked about, each once."""
    picks: dict[str, Pick] = {}
    for number, reading in enumerate(readings, start=1):
        for first, last in expansions(reading.passage, question)[:1]:
            span = span_text(reading.passage, first, last)
            picks.setdefault(span.lower(), Pick(number, span))
    return list(picks.values())


class _Chooser:
    """Chooses the quote of one source."""

    def __init__(self, number: int, reading: Reading, title: str, weights: Weights) -> None:
        self._number = number
        self._reading = reading
        self._title = title
        self._weights = weights

    def best(self, room: int) -> Pick | None:
        """Return the quote of greatest expected F1 among those of at most `room` words."""
        c = self._reading.candidates
        if not len(c.first):
            pick = Pick(self._number, "", self._title)
            return pick if self._title and words_of(pick) <= room else None
        alone, titled = score_spans(self._reading, self._weights)
        if not self._title:
            titled = np.full(len(titled), -1.0)
        fragments = np.isin(c.before, (VERB, PREPOSITION))
        named = _NAMED * self._leaves_open_who(c)
        scores = np.concatenate([alone - _FRAGMENT * fragments, titled - _TITLE_MARGIN + named])
        scores -= _BROKEN_OFF * np.tile(self._breaks_off(c.last), 2)
        least = max(_LEAST * float(scores.max()), -_BROKEN_OFF)
        for i in np.argsort(-scores, kind="stable").tolist():
            if scores[i] < least:
                break
            span = i % len(alone)
            # Words never outnumber the pieces between spaces by more than dashes do.
            if c.last[span] - c.first[span] > 3 * room:
                continue
            title = self._title if i >= len(alone) else ""
            pick = self._pick(int(c.first[span]), int(c.last[span]), int(c.sentence[span]), title)
            if words_of(pick) <= room:
                return pick
        return None

    def _leaves_open_who(self, c: Candidates) -> NDArray[np.bool_]:
        """Say which spans begin with a pronoun, or have "he" or "she" before any name."""
        words, capitals = self._reading.passage.words, self._reading.passage.capitals
        persons = [i for i, word in enumerate(words) if word in PERSONS]
        named = [
            i
            for i, word in enumerate(words)
            if capitals[i] and word not in STOPWORDS and word not in MONTHS
        ]
        end = [len(words)]
        next_person = np.array(persons + end)[np.searchsorted(persons, c.first)]
        next_name = np.array(named + end)[np.searchsorted(named, c.first)]
        things = np.array([word in THINGS for word in words])
        leaves_open: NDArray[np.bool_] = (next_person < np.minimum(next_name, c.last)) | (
            things[c.first] & (c.before == SENTENCE)
        )
        return leaves_open

    def shortened(self, room: int) -> Pick | None:
        """Return the best quote cut to `room` words, at least one; None without any text."""
        c = self._reading.candidates
        if not len(c.first):
            cut = _first_words(self._title, room)
            return Pick(self._number, "", cut) if cut else None
        alone, _ = score_spans(self._reading, self._weights)
        span = int(np.argmax(alone))
        first, sentence = int(c.first[span]), int(c.sentence[span])
        for last in range(min(int(c.last[span]), first + 3 * room), first + 1, -1):
            pick = self._pick(first, last, sentence, "")
            if words_of(pick) <= room:
                return pick
        return self._pick(first, first + 1, sentence, "")

    def _pick(self, first: int, last: int, sentence: int, title: str) -> Pick:
        passage = self._reading.passage
        return Pick(
            self._number,
            span_text(passage, first, last),
            title,
            opens=first == passage.sentences[sentence].first,
            breaks_off=bool(self._breaks_off(np.array([last]))[0]),
        )

    def _breaks_off(self, last: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which spans end where the body does, without the stop of a sentence."""
        passage = self._reading.passage
        end = passage.sentences[-1].end
        open_ended = end == passage.ends[-1] and not passage.text[end:].strip()
        broken: NDArray[np.bool_] = (last == len(passage.words)) & open_ended
        return broken


def _first_words(text: str, count: int) -> str:
    ends = [match.end() for match in re.finditer(r"\S+", text)]
    return text[: ends[min(count, len(ends)) - 1]] if ends else ""
