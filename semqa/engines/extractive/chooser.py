"""The chooser: the one quote of a source that is worth most, and fits.

Worth is expected F1 with small corrections for what a reader minds and the score does not see.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from semqa.engines.extractive.candidates import PREPOSITION, SENTENCE, VERB
from semqa.engines.extractive.compose import Pick, span_text, words_of
from semqa.engines.extractive.lexicon import MONTHS, PERSONS, STOPWORDS, THINGS
from semqa.engines.extractive.ranker import score_spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from semqa.engines.extractive.candidates import Candidates
    from semqa.engines.extractive.ranker import Reading, Weights

__all__ = ["Chooser"]

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


class Chooser:
    """Chooses the quote of one source.

    Args:
        number: number of the source, from 1.
        reading: the source.
        title: its title as a quote; empty where it cannot be quoted.
        weights: what the fit learned.
    """

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
