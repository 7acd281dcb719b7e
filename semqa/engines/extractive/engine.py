"""The extractive engine: answers made of quotes, without a language model.

Running time is bounded for sources of any size: of a long passage only the blocks with the most
question words are read (`passage.MAX_CHARACTERS`), and the number of candidate spans per source is
limited (`spans.MAX_SPANS`).
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

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
from semqa.engines.extractive.evidence import expansions
from semqa.engines.extractive.judging import blend
from semqa.engines.extractive.lexicon import language_of
from semqa.engines.extractive.matching import read_units, texts_of
from semqa.engines.extractive.passage import split_words
from semqa.engines.extractive.question import questions_in
from semqa.engines.extractive.reading import is_relevant, load_weights, read_request
from semqa.errors import InputError, UnavailableError
from semqa.history import asks_for_more, earlier_questions, has_content, in_context
from semqa.quotes import QuotedAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.engines.extractive.question import Inquiry
    from semqa.engines.extractive.reading import Reading, Weights
    from semqa.history import Exchange
    from semqa.quotes import Source
    from semqa.retrieval.encoder import SentenceEncoder

DEFAULT_MAX_WORDS = 100
DEFAULT_COVERAGE = tuning.COVERAGE

_OTHER_SCRIPT = re.compile(r"[\u0370-\u1fff\u2c00-\uffdc]")


class Slot(NamedTuple):
    """A position in an answer and the quotes that could fill it.

    Attributes:
        strength: relevance of the source relative to the best source, which has 1.
        worths: expected F1 of each quote.
        kind: ``expansion`` if the quotes spell out an abbreviation; ``other`` if they answer the
            second part of a question and another slot of the same source answers the first; else
            empty.
    """

    source: int
    strength: float
    worths: tuple[float, ...]
    picks: tuple[Pick, ...]
    kind: str = ""


class ExtractiveEngine:
    """Quotes the most informative span of each relevant source.

    Args:
        coverage: in [0, 1]; a source is kept if its best sentence is at least ``1 - coverage``
            times as relevant as the best sentence of all sources. 0 keeps only the best sources, 1
            every source that shares a word with the question. If the question asks what an
            abbreviation stands for and some sources spell it out, values below 1 keep only those.
        encoder: compares documents with the question by meaning: ``auto`` for the packaged encoder
            if it is installed, the name of another encoder, or ``none`` to compare words only.

    Raises:
        InputError: an option is out of range, or the encoder is a path that does not exist.

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
        if type(max_words) is not int or max_words < 1:
            raise InputError(
                f"must be a whole number from 1, got {max_words!r}.",
                field="max_words",
                value=max_words,
            )
        if type(coverage) not in (int, float) or not 0 <= coverage <= 1:
            raise InputError(
                f"must be a number from 0 to 1, got {coverage!r}.", field="coverage", value=coverage
            )
        self.max_words = max_words
        self.coverage = float(coverage)
        self._encoder_name = encoder
        if encoder not in ("auto", "none"):
            _ = self._encoder  # raises now if it cannot be loaded

    def answer(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> QuotedAnswer:
        """Answer one question."""
        return QuotedAnswer.parse(self.write(question, sources, history), sources)

    def attempt(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> QuotedAnswer | None:
        """Answer one question as `answer` does, or return None if no source is relevant.

        Raises:
            InputError: the question is blank or there are no sources.

        Example:
            >>> from semqa.quotes import Source
            >>> sources = [Source("The bridge was opened in 1932 by the mayor.")]
            >>> ExtractiveEngine().attempt("Who invented the telephone?", sources) is None
            True
        """
        check_request(question, sources)
        understood = in_context(question, history)
        if documents.are_documents(sources):
            reading = self.read_documents(question, sources, history)
            if not reading.answers:
                return None
            text = documents.write(reading, sources, self.max_words)
            if not text:
                return None
            answer = QuotedAnswer.parse(text, sources)
            return documents.rate(understood, answer, self._encoder_for(understood), reading)
        relevant = self._relevant(question, sources, history)
        if not relevant:
            return None
        return QuotedAnswer.parse(self._compose_all(relevant, sources), sources)

    def rate(self, question: str, answer: QuotedAnswer) -> QuotedAnswer:
        """Estimate the relevance of an answer's quotes; any engine may have written the answer.

        For passages of one paragraph only words are compared, which takes a few milliseconds.
        """
        if answer.abstained or not answer.quotes:
            return answer
        encoder = None
        if documents.are_documents(answer.sources):
            encoder = self._encoder_for(question)  # never imported for passages
        return documents.rate(question, answer, encoder)

    def read_ahead(self, sources: Sequence[Source]) -> None:
        """Embed the units of documents ahead of questions and cache the vectors on disk.

        Does nothing without an encoder or if the disk is not writable.
        """
        if self._encoder is None:
            return
        documents_read = map(read_units, sources)
        texts = dict.fromkeys(
            text for units in documents_read for text in texts_of(units, units.content)
        )
        with suppress(UnavailableError):
            self._encoder.encode(list(texts))

    def lacks_encoder(self, sources: Sequence[Source]) -> bool:
        """Return whether an encoder would improve answers from these sources but is not installed."""
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
        """Return candidate quotes from passages, for an engine that makes its own choice.

        The list is empty if no source is relevant to the question. For documents see
        `read_documents`.
        """
        check_request(question, sources)
        weights = load_weights()
        slots: list[Slot] = []
        for inquiry, readings in self._relevant(question, sources, history):
            if inquiry.kind == "expansion" and self.coverage < 1.0:
                spelled_out = _expansions(inquiry, readings)
                slots += [
                    Slot(pick.source, 1.0, (1.0,), (pick,), "expansion") for pick in spelled_out
                ]
                if spelled_out:
                    continue
            for number, reading in enumerate(readings, start=1):
                check_cancelled()
                chooser = Chooser(number, sources[number - 1], inquiry, reading, weights)
                ranked = list(islice(chooser.ranked(self.max_words), most))
                if not ranked:
                    continue
                worths, picks = zip(*ranked, strict=True)
                strength = reading.relevance.strength
                slots.append(Slot(number, strength, worths, picks))
                if other := other_part(inquiry, reading, picks[0], self.max_words):
                    slots.append(Slot(number, strength, (1.0,), (other,), "other"))
        return sorted(slots, key=lambda slot: (slot.source, slot.picks[0].start))

    @cached_property
    def _encoder(self) -> SentenceEncoder | None:
        if self._encoder_name == "none":
            return None
        # Slow to import, and not needed for passages.
        from semqa.retrieval.encoder import SentenceEncoder, packaged_encoder

        if self._encoder_name == "auto":
            return packaged_encoder()
        return SentenceEncoder(self._encoder_name)

    def _encoder_for(self, question: str) -> SentenceEncoder | None:
        """Return the encoder if it supports the question's language; the packaged one is English."""
        if self._encoder_name == "auto" and (
            language_of(question) or _OTHER_SCRIPT.search(question)
        ):
            return None
        return self._encoder

    def _relevant(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange]
    ) -> list[tuple[Inquiry, list[Reading]]]:
        """Relevance gate: return the questions that the passages are relevant to."""
        questions = _read(question, sources, history)
        by_words = [
            (inquiry, readings)
            for inquiry, readings in questions
            if is_relevant(inquiry, readings, sources)
        ]
        if by_words:
            return by_words
        understood = in_context(question, history)
        encoder = self._encoder_for(understood)
        return questions if documents.is_near(understood, sources, encoder) else []

    def read_documents(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> documents.Reading:
        """Compare documents with a question; in a follow-up question, its own words count more."""
        understood = in_context(question, history)
        encoder = self._encoder_for(understood)
        whole = documents.read(understood, sources, encoder, by_part=understood == question)
        if asks_for_more(question):
            return _without(whole, [exchange.answer for exchange in history])
        if understood == question or not has_content(question):
            return whole
        own = documents.read(question, sources, encoder)
        reading = own._replace(
            judgement=blend(whole.judgement, own.judgement),
            parts=tuple((text, blend(whole.judgement, part)) for text, part in own.parts),
        )
        return reading if reading.answers else whole

    def write(
        self, question: str, sources: Sequence[Source], history: Sequence[Exchange] = ()
    ) -> str:
        """Return the answer as marked text."""
        check_request(question, sources)
        if documents.are_documents(sources):
            reading = self.read_documents(question, sources, history)
            text = documents.write(reading, sources, self.max_words)
            if text:
                return text
        return self._compose_all(_read(question, sources, history), sources)

    def _compose_all(
        self, questions: Sequence[tuple[Inquiry, list[Reading]]], sources: Sequence[Source]
    ) -> str:
        """Write one paragraph that answers each question without repeating a quote."""
        weights = load_weights()
        if len(questions) == 1:
            return self.compose(*questions[0], sources, weights)
        picks: list[Pick] = []
        for number, (inquiry, readings) in enumerate(questions):
            words_left = self.max_words - sum(map(words_of, picks))
            share = words_left // (len(questions) - number)
            for pick in self._choose(inquiry, readings, sources, weights, share) if share else ():
                quoted = [other.span for other in picks if other.source == pick.source]
                if not any(pick.span in span or span in pick.span for span in quoted):
                    picks.append(pick)
        if not picks:
            return self.compose(*questions[0], sources, weights)
        return write_paragraph(picks, self.max_words)

    def compose(
        self,
        inquiry: Inquiry,
        readings: Sequence[Reading],
        sources: Sequence[Source],
        weights: Weights,
    ) -> str:
        """Choose the spans and write the paragraph for one question."""
        if inquiry.kind == "expansion" and self.coverage < 1.0:
            listed = write_list(_expansions(inquiry, readings), self.max_words)
            if listed:
                return listed
        picks = self._choose(inquiry, readings, sources, weights, self.max_words)
        if not picks:
            raise InputError("No source has any text.")
        return write_paragraph(picks, self.max_words)

    def _choose(
        self,
        inquiry: Inquiry,
        readings: Sequence[Reading],
        sources: Sequence[Source],
        weights: Weights,
        max_words: int,
    ) -> list[Pick]:
        """Choose the quotes from each kept source, the most relevant source first."""
        picks: list[Pick] = []
        seen: set[tuple[str, ...]] = set()
        for k in sorted(range(len(sources)), key=lambda k: -readings[k].relevance.strength):
            check_cancelled()
            strength = readings[k].relevance.strength
            if picks and (strength < 1.0 - self.coverage or strength <= 0.0):
                continue
            chooser = Chooser(k + 1, sources[k], inquiry, readings[k], weights)
            pick = chooser.best(max_words) or (None if picks else chooser.shortened(max_words))
            if pick is None:
                continue
            words = tuple(split_words(pick.span or pick.title))
            if words in seen:
                continue
            seen.add(words)
            max_words -= words_of(pick)
            picks.append(pick)
            other = other_part(inquiry, readings[k], pick, max_words)
            if other:
                max_words -= words_of(other)
                picks.append(other)
        return picks


def _read(
    question: str, sources: Sequence[Source], history: Sequence[Exchange]
) -> list[tuple[Inquiry, list[Reading]]]:
    questions = questions_in(question, " ".join(earlier_questions(question, history)))
    return [read_request(text, sources, context) for text, context in questions]


def _without(reading: documents.Reading, answers: Sequence[str]) -> documents.Reading:
    """Leave out the units that earlier answers quoted."""
    said = " ".join(split_words("\n".join(answers)))
    new = np.array([" ".join(split_words(text)) not in said for text in reading.found.texts], float)
    whole = reading.judgement
    left = replace(whole, chances=whole.chances * new, relevance=whole.relevance * new)
    return reading._replace(judgement=left)


def _expansions(inquiry: Inquiry, readings: Sequence[Reading]) -> list[Pick]:
    """Return the distinct spelled-out forms of the abbreviation in the question."""
    picks: dict[str, Pick] = {}
    for number, reading in enumerate(readings, start=1):
        for first, last in expansions(reading.passage, inquiry)[:1]:
            span = span_text(reading.passage, first, last)
            picks.setdefault(span.lower(), Pick(number, span))
    return list(picks.values())
