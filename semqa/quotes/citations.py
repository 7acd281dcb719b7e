"""Sentence-level citations: plain sentences that end in ``[1] [2]``.

Source: the QSum-S conversion of the SEMQA paper (appendix, prompt variants). The paper prints two
examples and no algorithm; `sentence_citations` describes ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from semqa.quotes.answer import QuotedAnswer
from semqa.quotes.quote import Quote, Status

_SENTENCE_END = re.compile(r"[.!?]")
_OPENING = "\"'“‘«„"


def sentence_citations(answer: QuotedAnswer, *, only_verified: bool = True) -> str:
    """Turn quotes into citations at the end of each sentence.

    The sources of a sentence are listed once each, in ascending order, before its final punctuation
    mark. Sentences (see `sentence_spans`) are joined by one space.

    Args:
        only_verified: cite sources of verified quotes only; if False, of every quote that is not
            malformed, as in the paper.

    Example:
        >>> from semqa import QuotedAnswer, Source
        >>> source = Source("Bing Crosby sang it in 1943.")
        >>> sentence_citations(QuotedAnswer.parse("It was [ 1 1943 ] . [ 1 Bing ] sang.", [source]))
        'It was 1943 [1]. Bing sang [1].'
    """
    plain = answer.plain
    cited = [
        quote
        for quote in answer.quotes
        if quote.verified or (not only_verified and quote.status is not Status.MALFORMED)
    ]
    sentences = []
    for start, end in sentence_spans(answer):
        numbers = sorted({q.source for q in cited if start <= q.plain_start < end})
        sentences.append(_with_citations(plain[start:end], numbers))
    return " ".join(sentence for sentence in sentences if sentence)


def sentence_spans(answer: QuotedAnswer) -> list[tuple[int, int]]:
    """Return the span of each sentence in the plain text: (start, end), end exclusive.

    A sentence ends at ``.``, ``!`` or ``?`` in free text or at the end of a quote. The text must end
    there, or white space must follow and then a quote, an upper-case letter, a digit or an opening
    quotation mark. A span includes the white space before its sentence, so the spans cover the text.

    Example:
        >>> from semqa import QuotedAnswer, Source
        >>> answer = QuotedAnswer.parse("It was [ 1 1943 ]. [ 1 Bing ] sang.", [Source("Bing 1943")])
        >>> sentence_spans(answer)
        [(0, 12), (12, 23)]
    """
    ends = list(_sentence_ends(answer, answer.plain))
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _with_citations(sentence: str, numbers: list[int]) -> str:
    sentence = sentence.strip()
    if not numbers:
        return sentence
    citations = " ".join(f"[{number}]" for number in numbers)
    if sentence and sentence[-1] in ".!?":
        return f"{sentence[:-1].rstrip()} {citations}{sentence[-1]}"
    return f"{sentence} {citations}"


def _sentence_ends(answer: QuotedAnswer, plain: str) -> Iterator[int]:
    """Yield the end of each sentence in the plain text, the end of the text last."""
    quote_starts = {quote.plain_start for quote in answer.quotes}
    for segment in answer.segments:
        for match in _SENTENCE_END.finditer(plain, segment.plain_start, segment.plain_end):
            end = match.end()
            if isinstance(segment, Quote) and end != segment.plain_end:
                continue
            if end < len(plain) and _begins_sentence(plain, end, quote_starts):
                yield end
    yield len(plain)


def _begins_sentence(plain: str, end: int, quote_starts: set[int]) -> bool:
    at = end
    while at < len(plain) and plain[at].isspace():
        at += 1
    if at == end or at == len(plain):
        return False
    first = plain[at]
    return at in quote_starts or first.isupper() or first.isdigit() or first in _OPENING
