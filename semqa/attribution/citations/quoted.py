"""Sentences of a quoted answer, each citing the sources that it quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.attribution.citations.passages import CitedSentence
from semqa.quotes.citations import sentence_spans
from semqa.quotes.quote import Status

if TYPE_CHECKING:
    from semqa.quotes.answer import QuotedAnswer

__all__ = ["cited_sentences"]


def cited_sentences(answer: QuotedAnswer) -> tuple[CitedSentence, ...]:
    """Return the sentences that say something, with the sources that their quotes name.

    A source is cited where a quote of it begins, once a sentence, in the order of the quotes; what
    no reader can make out (`Status.MALFORMED`) cites nothing.

    Example:
        >>> from semqa import QuotedAnswer, Source
        >>> answer = QuotedAnswer.parse("[ 2 Bing ] sang it [ 1 late ]. It sold.", [Source("late")])
        >>> [(sentence.text, sentence.citations) for sentence in cited_sentences(answer)]
        [('Bing sang it late.', (2, 1)), ('It sold.', ())]
    """
    plain = answer.plain
    quotes = [quote for quote in answer.quotes if quote.status is not Status.MALFORMED]
    found = []
    for start, end in sentence_spans(answer):
        text = " ".join(plain[start:end].split())
        if any(char.isalnum() for char in text):
            numbers = [quote.source for quote in quotes if start <= quote.plain_start < end]
            found.append(CitedSentence(text, tuple(dict.fromkeys(numbers))))
    return tuple(found)
