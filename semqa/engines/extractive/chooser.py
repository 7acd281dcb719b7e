"""The chooser: the one quote of a source that is worth most, and fits.

Worth is expected F1 with small corrections for what a reader minds and the score does not see.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from semqa.engines.extractive import tuning
from semqa.engines.extractive.anaphora import is_surely_name, leaves_open, misleads
from semqa.engines.extractive.compose import Pick, span_text, words_of
from semqa.engines.extractive.cuts import Cut
from semqa.engines.extractive.lexicon import PRONOUNS, STOPWORDS
from semqa.engines.extractive.ranker import score_spans
from semqa.engines.extractive.relevance import best_of_each

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from semqa.engines.extractive.candidates import Candidates
    from semqa.engines.extractive.ranker import Weights
    from semqa.engines.extractive.reading import Reading

__all__ = ["Chooser"]


_BARE = (Cut.VERB, Cut.PREPOSITION, Cut.PURPOSE, Cut.RELATIVE, Cut.EVIDENCE)
"""Cuts after which a span begins without its subject."""


class Chooser:
    """Chooses the quote of one source.

    Args:
        number: number of the source, from 1.
        reading: the source.
        title: its title as a quote; empty where it cannot be quoted.
        weights: what the fit learned.
        doubt: share of its worth that a span keeps which holds no answer of the kind asked for,
            where others of this source do.
    """

    def __init__(
        self, number: int, reading: Reading, title: str, weights: Weights, doubt: float = 1.0
    ) -> None:
        self._number = number
        self._reading = reading
        self._title = title
        self._weights = weights
        self._doubt = doubt

    def best(self, room: int) -> Pick | None:
        """Return the quote of greatest expected F1 among those of at most `room` words."""
        return next((pick for _, pick in self.ranked(room)), None)

    def ranked(self, room: int) -> Iterator[tuple[float, Pick]]:
        """Yield the quotes of at most `room` words with their worth, the best first.

        The last is worth at least `tuning.LEAST` of the best.
        """
        c = self._reading.candidates
        if not len(c.first):
            pick = Pick(self._number, "", self._title)
            if self._title and words_of(pick) <= room:
                yield 0.0, pick
            return
        alone, titled = score_spans(self._reading, self._weights)
        if not self._title:
            titled = np.full(len(titled), -1.0)
        own = {word for word in self._reading.title_words if word not in STOPWORDS}
        unnamed = leaves_open(self._reading.passage, c, own)
        named = np.where(c.before == Cut.VERB, 0.0, tuning.NAMED * unnamed)
        titled = np.where(misleads(self._reading.passage, c, own), -1.0, titled)
        scores = np.concatenate([alone - self._fragments(c), titled - tuning.TITLE_MARGIN + named])
        if not self._reading.relevance.query.any():
            # Nothing tells which part of a sentence matters.
            scores[np.tile((c.before != Cut.SENTENCE) | (c.after != Cut.SENTENCE), 2)] = -1.0
        scores -= tuning.BROKEN_OFF * np.tile(self._breaks_off(c.last), 2)
        scores *= np.tile(self._answering(c), 2)
        least = max(tuning.LEAST * float(scores.max()), -tuning.BROKEN_OFF)
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
                yield (
                    float(scores[i]),
                    self._with_antecedent(pick, span, room) if unnamed[span] else pick,
                )

    def _with_antecedent(self, pick: Pick, span: int, room: int) -> Pick:
        """Return the pick with the sentence before it, where no title can say who is meant."""
        passage, c = self._reading.passage, self._reading.candidates
        number = int(c.sentence[span])
        before = passage.sentences[number - 1] if number else None
        if self._title or before is None or before.last != c.first[span]:
            return pick
        gap = passage.text[before.end : passage.starts[before.last]]
        first = before.first
        if gap.strip(" \"'“‘") or passage.words[first] in PRONOUNS:
            return pick
        longer = self._pick(first, int(c.last[span]), number - 1, "")
        return longer if words_of(longer) <= min(room, tuning.LONGEST_PAIR) else pick

    def _fragments(self, c: Candidates) -> NDArray[np.float64]:
        """Return what each span loses as a sentence of its own."""
        passage = self._reading.passage
        lower = np.array([passage.text[start].islower() for start in passage.starts])[c.first]
        bare = np.isin(c.before, _BARE)
        lost: NDArray[np.float64] = np.where(
            lower, np.where(bare, tuning.LOWER_BARE, tuning.LOWER), tuning.FRAGMENT * bare
        )
        return lost

    def _answering(self, c: Candidates) -> NDArray[np.float64]:
        """Return which share of its worth each span keeps for what it answers of the question."""
        r, passage = self._reading.relevance, self._reading.passage
        asking = best_of_each(r.asked, passage) > 0
        on_topic = asking | ~asking.any()
        held = c.holds(r.answers > 0)
        kept: NDArray[np.float64] = np.where(held | ~held.any(), 1.0, self._doubt)
        off_topic: NDArray[np.float64] = np.where(on_topic[c.sentence], 1.0, tuning.OFF_TOPIC)
        return kept * off_topic

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
        # Even one word may have marks after it that count as words.
        pick = self._pick(first, first + 1, sentence, "")
        return replace(pick, span=_first_words(pick.span, room))

    def _pick(self, first: int, last: int, sentence: int, title: str) -> Pick:
        passage = self._reading.passage
        lower = passage.text[passage.starts[first]].islower()
        return Pick(
            self._number,
            span_text(passage, first, last),
            title,
            start=passage.starts[first],
            opens=first == passage.sentences[sentence].first,
            breaks_off=bool(self._breaks_off(np.array([last]))[0]),
            follows=lower or is_surely_name(passage, first),
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
