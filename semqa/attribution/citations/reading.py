r"""Split answers into sentences with the sources that they cite.

Answers are quoted answers, or text with citations in brackets. There are two ways to parse such
text. By default, ``[ 1 ]``, ``[1, 2]``, ``[1-3]``, ``[Document 2]`` and ``【1】`` are citations, and
a citation after the full stop belongs to the sentence before it. The official way is that of ALCE's
eval.py: anything that matches ``\[\d+`` is a citation, so ``[ 1 ]`` is not one, ``[1, 2]`` only
cites 1, and ``[0]`` cites the last passage; a citation after the full stop belongs to the next
sentence; and only the first line counts.

Source: princeton-nlp/ALCE, eval.py. One difference: eval.py splits sentences with NLTK's English
model; this module uses the rules of `semqa.attribution.sentences`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from semqa.attribution.sentences import sentence_ranges, split_sentences
from semqa.quotes import Quote, QuotedAnswer
from semqa.quotes.citations import sentence_spans
from semqa.quotes.quote import Source, Status


class CitedSentence(NamedTuple):
    """A sentence without citations and with single spaces, and the numbers of the cited passages.

    Numbers start at 1, in order of citation; numbers without a passage are kept. The sentence of a
    quoted answer has a span in the plain answer (`start`, `end`).
    """

    text: str
    citations: tuple[int, ...] = ()
    start: int = 0
    end: int = 0


class CitedAnswer(NamedTuple):
    """An answer as cited sentences, and its passages; passage *k* is ``passages[k - 1]``."""

    sentences: tuple[CitedSentence, ...]
    passages: tuple[Source, ...]


def premise(passages: Sequence[Source], *, official: bool = False) -> str:
    r"""Join passages into one text, each below its title; `official` includes empty titles.

    Source: ALCE, which puts ``Title: …`` on a line before the text.

    Example:
        >>> from semqa import Source
        >>> premise([Source("Sung in 1943.", "Song"), Source("A hit.")])
        'Title: Song\nSung in 1943.\nA hit.'
    """
    return "\n".join(
        f"Title: {passage.title}\n{passage.text}" if passage.title or official else passage.text
        for passage in passages
    )


# Blanks and lists are bounded, so that matching a hostile text does not take quadratic time.
_LABEL = r"(?:(?:document|doc|source|passage|reference|ref|citation|text)s?\.?\s?#?:?\s?)?"
_NUMBERS = rf"{_LABEL}\d{{1,3}}(?:\s{{0,2}}(?:,|;|&|and|-|–|—|to)\s{{0,2}}(?:and\s)?{_LABEL}\d{{1,3}}){{0,40}}"
_CITATION_MARK = re.compile(
    rf"\[\[?\^?\s{{0,2}}(?P<a>{_NUMBERS})\s{{0,2}}\^?\]\]?(?:\(https?://[^()\s]{{1,500}}\))?|"
    rf"【\s{{0,2}}(?P<b>{_NUMBERS})(?:†[^】\n]{{0,80}})?\s{{0,2}}】",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(?P<first>\d{1,9})(?:\s*(?:-|–|—|to)\s*(?P<last>\d{1,9}))?")
_MAX_RANGE = 50
"""Maximum size of a range; a wider one counts as its two ends."""

_END_OF_TURN = "<|im_end|>"


def read_cited(text: str, passages: Sequence[Source], *, official: bool = False) -> CitedAnswer:
    """Parse an answer into sentences with citations.

    By default, a citation belongs to the sentence that contains it or that ends right before it.
    If the answer begins with a citation, each citation belongs to the text after it instead. A line
    break ends a sentence; white space is collapsed. With `official`, parse as eval.py does.

    Example:
        >>> answer = read_cited("It sold.[1] Kay [2, 3] sang.", [])
        >>> [(sentence.text, sentence.citations) for sentence in answer.sentences]
        [('It sold.', (1,)), ('Kay sang.', (2, 3))]
        >>> answer = read_cited("It sold. [1] Kay [2, 3] sang.", [], official=True)
        >>> [(sentence.text, sentence.citations) for sentence in answer.sentences]
        [('It sold.', ()), ('Kay, 3 sang.', (1, 2))]
    """
    if official:
        # NLTK ends a sentence before a bracket and before a lower-case letter, too.
        spaced = re.sub(r"(?<=[.!?])(?=\[\d)", " ", official_output(text))
        sentences = tuple(
            CitedSentence(
                remove_citations_officially(sentence).strip(),
                tuple(number + 1 for number in official_citations(sentence)),
            )
            for sentence in split_sentences(spaced, any_case=True)
        )
        return CitedAnswer(sentences, tuple(passages))
    plain, marks = _split_off_citations(text.replace(_END_OF_TURN, ""))
    ranges = [(start, end) for start, end in sentence_ranges(plain) if _has_text(plain[start:end])]
    starts = [start for start, _ in ranges]
    ends = [end for _, end in ranges]
    citations_first = bool(marks) and bool(ranges) and marks[0][0] <= starts[0]
    cited: list[list[int]] = [[] for _ in ranges]
    for at, numbers in marks:
        if ranges:
            # The first sentence that ends after the mark, or the last one that begins before it.
            place = bisect_right(ends, at) if citations_first else bisect_left(starts, at) - 1
            cited[min(max(0, place), len(ranges) - 1)] += numbers
    return CitedAnswer(
        tuple(
            CitedSentence(" ".join(plain[start:end].split()), tuple(numbers))
            for (start, end), numbers in zip(ranges, cited, strict=True)
        ),
        tuple(passages),
    )


def remove_citations(text: str) -> str:
    """Return a text without its citations and the blanks before them.

    Example:
        >>> remove_citations("It sold [1][ 2 ]. [sic] arr[x]")
        'It sold. [sic] arr[x]'
    """
    return _split_off_citations(text)[0]


def official_output(text: str) -> str:
    """Return the first line of an answer, which is all that eval.py scores."""
    return text.strip().split("\n", maxsplit=1)[0].replace(_END_OF_TURN, "")


def official_citations(sentence: str) -> list[int]:
    """Return the passage indices, from 0, of the citations that eval.py finds; -1 for ``[0]``.

    Example:
        >>> official_citations("A [1][3]. [0] [ 2 ] [4, 5]")
        [0, 2, -1, 3]
    """
    return [int(found[1:]) - 1 for found in re.findall(r"\[\d+", sentence)]


def remove_citations_officially(text: str) -> str:
    """Remove citations as eval.py does, which also removes every ``]`` and `` |``.

    Example:
        >>> remove_citations_officially("see [a] | b [1].")
        'see [a b.'
    """
    opened = re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", text))
    return opened.replace(" |", "").replace("]", "")


def _split_off_citations(text: str) -> tuple[str, list[tuple[int, list[int]]]]:
    """Return the text without citations, and each citation's position in it and numbers."""
    pieces: list[str] = []
    marks = []
    length = at = 0
    for match in _CITATION_MARK.finditer(text):
        piece = text[at : match.start()].rstrip(" \t\u00a0")
        pieces.append(piece)
        length += len(piece)
        marks.append((length, _numbers(match["a"] or match["b"])))
        at = match.end()
    pieces.append(text[at:])
    return "".join(pieces), marks


def _numbers(listed: str) -> list[int]:
    found: list[int] = []
    for match in _RANGE.finditer(listed):
        first, last = int(match["first"]), int(match["last"] or match["first"])
        found += range(first, last + 1) if 0 <= last - first < _MAX_RANGE else (first, last)
    return found


_CITATION = re.compile(r"\[[\s0-9,;–-]+\]?")


def cited_sentences(answer: QuotedAnswer) -> tuple[CitedSentence, ...]:
    """Return the sentences of a quoted answer, with the sources that they quote or cite.

    Each source counts once per sentence. Sentences without a letter or digit are left out. A
    citation after the end of a sentence belongs to that sentence. If the answer begins with a
    citation, each citation belongs to the text after it instead.

    Example:
        >>> from semqa import QuotedAnswer, Source
        >>> answer = QuotedAnswer.parse("[ 2 Bing ] sang it. [1, 3] It sold [2].", [Source("Bing")])
        >>> [(each.text, each.citations) for each in cited_sentences(answer)]
        [('Bing sang it.', (2, 1, 3)), ('It sold.', (2,))]
    """
    plain = answer.plain
    citations = [quote for quote in answer.quotes if _is_citation(quote)]
    citations_first = bool(citations) and not _has_text(plain[: citations[0].plain_start])
    found: list[CitedSentence] = []
    for start, end in sentence_spans(answer):
        own = [each for each in answer.quotes if start <= each.plain_start < end]
        # Citations before the first word belong to the previous sentence.
        trailing = [] if citations_first or not found else _leading(plain, start, own)
        if trailing:
            found[-1] = found[-1]._replace(citations=_numbers_of(trailing, found[-1].citations))
        first = trailing[-1].plain_end if trailing else start
        text = _without_citations(plain, first, end, [each for each in own if _is_citation(each)])
        if _has_text(text):
            piece = plain[first:end]
            begin = first + len(piece) - len(piece.lstrip())
            numbers = _numbers_of([each for each in own if each not in trailing])
            found.append(CitedSentence(text, numbers, begin, begin + len(piece.strip())))
    return tuple(found)


def _is_citation(quote: Quote) -> bool:
    return quote.status is Status.MALFORMED and _CITATION.fullmatch(quote.text) is not None


def _has_text(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _leading(plain: str, start: int, own: Sequence[Quote]) -> list[Quote]:
    leading: list[Quote] = []
    at = start
    for quote in own:
        if not _is_citation(quote) or _has_text(plain[at : quote.plain_start]):
            break
        leading.append(quote)
        at = quote.plain_end
    return leading


def _numbers_of(quotes: Sequence[Quote], before: tuple[int, ...] = ()) -> tuple[int, ...]:
    numbers = list(before)
    for quote in quotes:
        if _is_citation(quote):
            numbers += _numbers(quote.text)
        elif quote.status is not Status.MALFORMED:
            numbers.append(quote.source)
    return tuple(dict.fromkeys(numbers))


def _without_citations(plain: str, start: int, end: int, citations: Sequence[Quote]) -> str:
    pieces = []
    for quote in citations:
        if quote.plain_start >= start:
            pieces.append(plain[start : quote.plain_start])
            start = quote.plain_end
    text = " ".join("".join([*pieces, plain[start:end]]).split())
    return re.sub(r"\s+(?=[.,;:!?]+$)", "", text)
