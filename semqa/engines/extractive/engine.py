"""The extractive engine: answers from quotes alone, without any model.

Time is bounded whatever the sources weigh: of a long body only the blocks with most of the
question's words are read (`blocks.MAX_CHARACTERS`), and a source gives at most a few thousand
candidate spans (`candidates.MAX_SPANS`).
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from semqa.engines.base import check_request
from semqa.engines.cancellation import check_cancelled
from semqa.engines.extractive import documents, tuning
from semqa.engines.extractive.compose import (
    Chooser,
    Pick,
    other_part,
    span_text,
    words_of,
    write_list,
    write_paragraph,
)
from semqa.engines.extractive.evidence import expansions, trust
from semqa.engines.extractive.lexicon import language_of
from semqa.engines.extractive.matching import read_units, texts_of
from semqa.engines.extractive.passage import quotable, split_words
from semqa.engines.extractive.question import questions_in
from semqa.engines.extractive.reading import bears_on, load_weights, read_request
from semqa.errors import InputError, UnavailableError
from semqa.history import earlier_questions, in_context
from semqa.quotes import QuotedAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.engines.extractive.question import Inquiry
    from semqa.engines.extractive.reading import Reading, Weights
    from semqa.history import Exchange
    from semqa.quotes import Source
    from semqa.retrieval.encoder import SentenceEncoder

DEFAULT_MAX_WORDS = 100
NEAR = 0.45
"""Cosine from which a passage speaks to a question in other words. All 45 questions of QuoteSum's dev_a come
this near to their own sources, and 1 of 90 asked of the sources of others."""

DEFAULT_COVERAGE = tuning.COVERAGE


_OTHER_SCRIPT = re.compile(r"[\u0370-\u1fff\u2c00-\uffdc]")


class Slot(NamedTuple):
    """A place of an answer, and the quotes that could stand there.

    Attributes:
        strength: how relevant the source is, the best one 1.
        worths: expected F1 of each quote.
        kind: ``expansion`` for what an abbreviation stands for, ``other`` for the second part of a
            question whose first part another slot of the source answers, else empty.
    """

    source: int
    strength: float
    worths: tuple[float, ...]
    picks: tuple[Pick, ...]
    kind: str = ""


class ExtractiveEngine:
    """Quotes the most telling span of each relevant source.

    Args:
        coverage: how readily a source is kept, in [0, 1]: a source stays when its best sentence is
            at least ``1 - coverage`` times as relevant as the best of all. 0 keeps only the best
            sources, 1 every source that shares a word with the question. Asked what an abbreviation
            stands for, below 1 it keeps just the sources that spell it out, if any does.
        encoder: compares documents with the question by meaning: ``auto`` for the packaged encoder
            if it is installed, the name of another, or ``none`` to compare by words only.

    Raises:
        InputError: an option is out of its range, or the encoder is a path where no folder is.

    Example:
        >>> from semqa.quotes import Source
        >>> sources = [Source("It rained. The bridge was opened in 1932 by the mayor.")]
        >>> ExtractiveEngine().answer("When was the bridge opened?", sources).marked
        '[ 1 The bridge was opened in 1932 by the mayor. ]'
    """

    name = "extractive"

    def __init__(
        self,
        max_words: int = DEFAULT_MAX_WORDS,
        coverage: float = DEFAULT_COVERAGE,
        encoder: str = "auto",
    ) -> None:
        words: object = max_words
        if isinstance(words, bool) or not isinstance(words, int) or words < 1:
            raise InputError(
                f"must be a whole number from 1, got {max_words!r}.",
                field="max_words",
                value=max_words,
            )
        share: object = coverage
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
            raise InputError(
                f"must be a number from 0 to 1, got {coverage!r}.", field="coverage", value=coverage
            )
        self.max_words = max_words
        self.coverage = float(coverage)
        self._encoder_name = encoder
        if encoder not in ("auto", "none"):
            _ = self._encoder  # says at once if it cannot be one

    def answer(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> QuotedAnswer:
        """Answer one question."""
        return QuotedAnswer.parse(self.write(question, sources, history=history), sources)

    def attempt(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> QuotedAnswer | None:
        """Answer one question as `answer` does; None where no source has to do with it.

        Raises:
            InputError: the question is blank or there is no source.

        Example:
            >>> from semqa.quotes import Source
            >>> sources = [Source("The bridge was opened in 1932 by the mayor.")]
            >>> ExtractiveEngine().attempt("Who invented the telephone?", sources) is None
            True
        """
        check_request(question, sources)
        understood = in_context(question, history)
        if documents.are_documents(sources):
            reading = documents.read(understood, sources, self._encoder_for(understood))
            if not reading.answers:
                return None
            text = documents.write(reading, sources, self.max_words)
            if not text:
                return None
            answer = QuotedAnswer.parse(text, sources)
            return documents.rate(understood, answer, self._encoder_for(understood), reading)
        bearing = self._bearing(question, sources, history)
        if not bearing:
            return None
        return QuotedAnswer.parse(self._compose_all(bearing, sources, load_weights()), sources)

    def rate(self, question: str, answer: QuotedAnswer) -> QuotedAnswer:
        """Estimate how relevant the quotes of an answer are, whoever wrote it.

        Passages of one paragraph are compared by words only, which takes a few milliseconds.
        """
        if answer.abstained or not answer.quotes:
            return answer
        encoder = None
        if documents.are_documents(answer.sources):
            encoder = self._encoder_for(question)  # for passages it is not even imported
        return documents.rate(question, answer, encoder)

    def read_ahead(self, sources: Sequence[Source]) -> None:
        """Embed what questions about documents are compared with, and keep it on disk.

        Does nothing without an encoder, or where the disk cannot be written to.
        """
        if self._encoder is None:
            return
        read = map(read_units, sources)
        texts = dict.fromkeys(text for units in read for text in texts_of(units, units.content))
        with suppress(UnavailableError):
            self._encoder.encode(list(texts))

    def lacks_encoder(self, sources: Sequence[Source]) -> bool:
        """Return whether these sources would be read better with an encoder, which is missing."""
        return (
            self._encoder_name == "auto"
            and documents.are_documents(sources)
            and self._encoder is None
        )

    def slots(
        self,
        question: str,
        sources: Sequence[Source],
        most: int,
        history: Sequence[Exchange] = (),
    ) -> list[Slot]:
        """Return what an answer could quote, for an engine that makes its own choice among it.

        There is nothing for questions that no source has to do with.

        Example:
            >>> from semqa.quotes import Source
            >>> sources = [Source("It rained. The bridge was opened in 1932 by the mayor.")]
            >>> (slot,) = ExtractiveEngine().slots("When was the bridge opened?", sources, 9)
            >>> slot.source, slot.picks[0].span
            (1, 'The bridge was opened in 1932 by the mayor.')
        """
        check_request(question, sources)
        if documents.are_documents(sources):
            return self._document_slots(in_context(question, history), sources)
        weights = load_weights()
        slots: list[Slot] = []
        for inquiry, readings in self._bearing(question, sources, history):
            if inquiry.kind == "expansion" and self.coverage < 1.0:
                spelled_out = _expansions(inquiry, readings)
                slots += [
                    Slot(pick.source, 1.0, (1.0,), (pick,), "expansion") for pick in spelled_out
                ]
                if spelled_out:
                    continue
            for number, reading in enumerate(readings, start=1):
                check_cancelled()
                title = quotable(sources[number - 1].title, reading.passage)
                chooser = Chooser(number, reading, title, weights, trust(inquiry).span)
                ranked = list(islice(chooser.ranked(self.max_words), most))
                if not ranked:
                    continue
                worths, picks = zip(*ranked, strict=True)
                slots.append(Slot(number, reading.relevance.strength, worths, picks))
                other = other_part(inquiry, reading, picks[0], self.max_words)
                if other:
                    slots.append(
                        Slot(number, reading.relevance.strength, (1.0,), (other,), "other")
                    )
        return sorted(slots, key=lambda slot: (slot.source, slot.picks[0].start))

    @cached_property
    def _encoder(self) -> SentenceEncoder | None:
        if self._encoder_name == "none":
            return None
        # Not needed for passages, and slow to import.
        from semqa.retrieval.encoder import SentenceEncoder, packaged_encoder

        if self._encoder_name == "auto":
            return packaged_encoder()
        return SentenceEncoder(self._encoder_name)

    def _encoder_for(self, question: str) -> SentenceEncoder | None:
        """Return the encoder if it knows the question's language: the packaged one knows English."""
        if self._encoder_name == "auto" and (
            language_of(question) or _OTHER_SCRIPT.search(question)
        ):
            return None
        return self._encoder

    def _bearing(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange]
    ) -> list[tuple[Inquiry, list[Reading]]]:
        """Return the questions asked that the passages have to do with, by words or by meaning."""
        read = _read(question, sources, history)
        by_words = [(asked, found) for asked, found in read if bears_on(asked, found, sources)]
        if by_words:
            return by_words
        understood = in_context(question, history)
        near = documents.nearest(understood, sources, self._encoder_for(understood))
        return read if near >= NEAR else []

    def _document_slots(self, question: str, sources: Sequence[Source]) -> list[Slot]:
        reading = documents.read(question, sources, self._encoder_for(question))
        if not reading.answers:
            return []
        slots = []
        for each in documents.choose(reading, sources, self.max_words):
            span = sources[each.source - 1].text[each.start : each.end]
            if "[" not in span and "]" not in span:
                pick = Pick(each.source, span, start=each.start)
                slots.append(Slot(each.source, 1.0, (1.0,), (pick,)))
        return sorted(slots, key=lambda slot: (slot.source, slot.picks[0].start))

    def write(
        self,
        question: str,
        sources: Sequence[Source],
        weights: Weights | None = None,
        history: Sequence[Exchange] = (),
    ) -> str:
        """Return the answer as marked text.

        Args:
            weights: other weights than those that ship.
        """
        check_request(question, sources)
        if weights is None and documents.are_documents(sources):
            understood = in_context(question, history)
            reading = documents.read(understood, sources, self._encoder_for(understood))
            text = documents.write(reading, sources, self.max_words)
            if text:
                return text
        return self._compose_all(
            _read(question, sources, history), sources, weights or load_weights()
        )

    def _compose_all(
        self,
        read: Sequence[tuple[Inquiry, list[Reading]]],
        sources: Sequence[Source],
        weights: Weights,
    ) -> str:
        """Write one paragraph that answers each question; those that follow say what is not said yet."""
        if len(read) == 1:
            return self.compose(*read[0], sources, weights)
        picks: list[Pick] = []
        for number, (inquiry, readings) in enumerate(read):
            room = (self.max_words - sum(map(words_of, picks))) // (len(read) - number)
            for pick in self._choose(inquiry, readings, sources, weights, room) if room else ():
                said = [other.span for other in picks if other.source == pick.source]
                if not any(pick.span in span or span in pick.span for span in said):
                    picks.append(pick)
        if not picks:
            return self.compose(*read[0], sources, weights)
        in_order = sorted(picks, key=lambda pick: (pick.source, pick.start))
        return write_paragraph(in_order, self.max_words)

    def compose(
        self,
        inquiry: Inquiry,
        readings: Sequence[Reading],
        sources: Sequence[Source],
        weights: Weights,
    ) -> str:
        """Choose the spans and write the paragraph."""
        if inquiry.kind == "expansion" and self.coverage < 1.0:
            listed = write_list(_expansions(inquiry, readings), self.max_words)
            if listed:
                return listed
        picks = self._choose(inquiry, readings, sources, weights, self.max_words)
        if not picks:
            raise InputError("No source has any text.")
        in_order = sorted(picks, key=lambda pick: (pick.source, pick.start))
        return write_paragraph(in_order, self.max_words)

    def _choose(
        self,
        inquiry: Inquiry,
        readings: Sequence[Reading],
        sources: Sequence[Source],
        weights: Weights,
        room: int,
    ) -> list[Pick]:
        """Choose what to quote of each source that is kept, the most relevant source first."""
        picks: list[Pick] = []
        seen: set[tuple[str, ...]] = set()
        for k in sorted(range(len(sources)), key=lambda k: -readings[k].relevance.strength):
            check_cancelled()
            strength = readings[k].relevance.strength
            if picks and (strength < 1.0 - self.coverage or strength <= 0.0):
                continue
            title = quotable(sources[k].title, readings[k].passage)
            chooser = Chooser(k + 1, readings[k], title, weights, trust(inquiry).span)
            pick = chooser.best(room) or (None if picks else chooser.shortened(room))
            if pick is None:
                continue
            words = tuple(split_words(pick.span or pick.title))
            if words in seen:
                continue
            seen.add(words)
            room -= words_of(pick)
            picks.append(pick)
            other = other_part(inquiry, readings[k], pick, room)
            if other:
                room -= words_of(other)
                picks.append(other)
        return picks


def _read(
    question: str, sources: Sequence[Source], history: Sequence[Exchange]
) -> list[tuple[Inquiry, list[Reading]]]:
    asked = questions_in(question, " ".join(earlier_questions(question, history)))
    return [read_request(text, sources, context) for text, context in asked]


def _expansions(inquiry: Inquiry, readings: Sequence[Reading]) -> list[Pick]:
    """Return the spelled-out forms of the abbreviation asked about, each once."""
    picks: dict[str, Pick] = {}
    for number, reading in enumerate(readings, start=1):
        for first, last in expansions(reading.passage, inquiry)[:1]:
            span = span_text(reading.passage, first, last)
            picks.setdefault(span.lower(), Pick(number, span))
    return list(picks.values())
