"""The exemplars that come with semqa show what an answer may be."""

from __future__ import annotations

import pytest

from semqa import InputError, QuotedAnswer
from semqa.prompting import Exemplar, PromptBuilder, ShippedExemplars
from semqa.quotes import ABSTENTION
from semqa.quotes.quote import FreeText
from semqa.quotes.words import leaks

EXEMPLARS = ShippedExemplars().select("Who?", len(ShippedExemplars()))


@pytest.mark.parametrize("exemplar", EXEMPLARS, ids=lambda exemplar: exemplar.qid)
def test_every_claim_is_a_verified_quote(exemplar: Exemplar) -> None:
    answer = QuotedAnswer.parse(exemplar.answer, exemplar.sources)
    if exemplar.answer == ABSTENTION:
        assert answer.abstained
        return
    assert answer.verified
    free = [segment.text for segment in answer.segments if isinstance(segment, FreeText)]
    assert not any(leaks(text, exemplar.question) for text in free)
    assert len({quote.text for quote in answer.quotes}) == len(answer.quotes)


def test_too_many_shots_are_rejected() -> None:
    with pytest.raises(InputError, match="6"):
        PromptBuilder("qsum", ShippedExemplars(), 6).select("Who?")
