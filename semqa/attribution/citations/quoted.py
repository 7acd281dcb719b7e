"""Sentences of a quoted answer, each citing the sources that it quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.attribution.citations.passages import CitedSentence

if TYPE_CHECKING:
    from semqa.quotes.answer import QuotedAnswer

__all__ = ["cited_sentences"]


def cited_sentences(answer: QuotedAnswer) -> tuple[CitedSentence, ...]:
    """Return the sentences that say something, with the sources that they quote or cite.

    A source is cited where a quote of it begins, verified or not, or where its number stands in
    brackets; once a sentence, in that order.

    Example:
        >>> from semqa import QuotedAnswer, Source
        >>> answer = QuotedAnswer.parse("[ 2 Bing ] sang it [ 1 late ]. It sold. [1]", [Source("late")])
        >>> [(sentence.text, sentence.citations) for sentence in cited_sentences(answer)]
        [('Bing sang it late.', (2, 1)), ('It sold.', (1,))]
    """
    # `ais` imports `citations.passages`, which loads this module.
    from semqa.attribution.ais.resting import resting_sentences

    return tuple(CitedSentence(each.text, each.sources) for each in resting_sentences(answer))
