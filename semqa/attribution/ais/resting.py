"""Sentences of an answer and the sources that each of them rests on: those it quotes or cites.

Knows quotes (``[ 1 span ]``) and bare citations (``[1]``, ``[1, 3]``, ``[2-4]``), in one answer or
both. Sentences are those of `semqa.quotes.citations.sentence_spans`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from semqa.quotes.citations import sentence_spans
from semqa.quotes.quote import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.quotes import Quote, QuotedAnswer

__all__ = ["RestingSentence", "resting_sentences"]

_CITATION = re.compile(r"\[[\s0-9,;–-]+\]?")
_NUMBERS = re.compile(r"([0-9]{1,9})(?:\s*[–-]\s*([0-9]{1,9}))?")
_LONGEST_RANGE = 100


class RestingSentence(NamedTuple):
    """A sentence and what it rests on.

    Attributes:
        text: the sentence, without citations and in single spaces.
        start, end: its place in the plain answer, white space around it excluded.
        sources: numbers of the sources that it quotes or cites, in order, each once; also of those
            that do not exist.
    """

    text: str
    start: int
    end: int
    sources: tuple[int, ...]


def resting_sentences(answer: QuotedAnswer) -> list[RestingSentence]:
    """Return the sentences of an answer that say something.

    A citation after the end of a sentence belongs to that sentence, unless the answer begins with a
    citation: then each belongs to what follows it.

    Example:
        >>> from semqa import QuotedAnswer, Source
        >>> answer = QuotedAnswer.parse("[ 2 Bing ] sang it. [1, 3] It sold [2].", [Source("Bing")])
        >>> [(each.text, each.sources) for each in resting_sentences(answer)]
        [('Bing sang it.', (2, 1, 3)), ('It sold.', (2,))]
    """
    plain = answer.plain
    citations = [quote for quote in answer.quotes if _is_citation(quote)]
    ahead = bool(citations) and not _says_something(plain[: citations[0].plain_start])
    found: list[RestingSentence] = []
    for start, end in sentence_spans(answer):
        mine = [each for each in answer.quotes if start <= each.plain_start < end]
        # Citations before the first word.
        late = [] if ahead or not found else _leading(plain, start, mine)
        if late:
            found[-1] = found[-1]._replace(sources=_numbers((*late,), found[-1].sources))
        first = late[-1].plain_end if late else start
        text = _without(plain, first, end, [each for each in mine if _is_citation(each)])
        if not _says_something(text):
            continue
        piece = plain[first:end]
        begin = first + len(piece) - len(piece.lstrip())
        kept = [each for each in mine if each not in late]
        found.append(RestingSentence(text, begin, begin + len(piece.strip()), _numbers(kept, ())))
    return found


def _is_citation(quote: Quote) -> bool:
    return quote.status is Status.MALFORMED and _CITATION.fullmatch(quote.text) is not None


def _says_something(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _leading(plain: str, start: int, mine: Sequence[Quote]) -> list[Quote]:
    """Return the citations that stand before anything else of a sentence."""
    leading: list[Quote] = []
    at = start
    for quote in mine:
        if not _is_citation(quote) or _says_something(plain[at : quote.plain_start]):
            break
        leading.append(quote)
        at = quote.plain_end
    return leading


def _numbers(quotes: Sequence[Quote], before: tuple[int, ...]) -> tuple[int, ...]:
    numbers = list(before)
    for quote in quotes:
        if _is_citation(quote):
            for first, last in _NUMBERS.findall(quote.text):
                until = int(last) if last else int(first)
                numbers += range(int(first), min(until, int(first) + _LONGEST_RANGE) + 1)
        elif quote.status is not Status.MALFORMED:
            numbers.append(quote.source)
    return tuple(dict.fromkeys(numbers))


def _without(plain: str, start: int, end: int, citations: Sequence[Quote]) -> str:
    pieces = []
    for quote in citations:
        if quote.plain_start >= start:
            pieces.append(plain[start : quote.plain_start])
            start = quote.plain_end
    text = " ".join("".join([*pieces, plain[start:end]]).split())
    return re.sub(r"\s+(?=[.,;:!?]+$)", "", text)
