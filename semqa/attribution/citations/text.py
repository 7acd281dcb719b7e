r"""Answers as text with citations in brackets, as language models write them.

Two readings. The default reads what is meant: ``[ 1 ]``, ``[1, 2]``, ``[1-3]``, ``[Document 2]`` and
``【1】`` are citations, and one that stands after the full stop belongs to the sentence that ended there.
The official one reads as ALCE's eval.py does: what matches ``\[\d+`` is a citation, so that ``[ 1 ]`` is
none, ``[1, 2]`` cites 1 alone, and ``[0]`` is the last passage; a mark after the full stop counts for
the sentence that follows; and the answer ends with its first line.

Source: princeton-nlp/ALCE, eval.py. Differs in where sentences end, for which eval.py uses NLTK's
model of English and we the rules of `semqa.attribution.sentences`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from semqa.attribution.citations.passages import CitedAnswer, CitedSentence
from semqa.attribution.sentences import sentence_ranges, split_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.quotes.source import Source

__all__ = [
    "official_citations",
    "official_output",
    "read_cited",
    "remove_citations",
    "remove_citations_officially",
]

# Blanks and lists are bounded: a mark is short, and a hostile text must not take quadratic time.
_LABEL = r"(?:(?:document|doc|source|passage|reference|ref|citation|text)s?\.?\s?#?:?\s?)?"
_NUMBERS = rf"{_LABEL}\d{{1,3}}(?:\s{{0,2}}(?:,|;|&|and|-|–|—|to)\s{{0,2}}(?:and\s)?{_LABEL}\d{{1,3}}){{0,40}}"
_MARK = re.compile(
    rf"\[\[?\^?\s{{0,2}}(?P<a>{_NUMBERS})\s{{0,2}}\^?\]\]?(?:\(https?://[^()\s]{{1,500}}\))?|"
    rf"【\s{{0,2}}(?P<b>{_NUMBERS})(?:†[^】\n]{{0,80}})?\s{{0,2}}】",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(?P<first>\d+)(?:\s*(?:-|–|—|to)\s*(?P<last>\d+))?")
_WIDEST = 50
"""Numbers that a range may stand for; a wider one is its two ends."""

_END_OF_TURN = "<|im_end|>"


def read_cited(text: str, passages: Sequence[Source], *, official: bool = False) -> CitedAnswer:
    """Read an answer as sentences with citations.

    By default a citation belongs to the sentence that it stands in or right after; but where the
    answer begins with one, each belongs to what follows it. A line ends a sentence, and white space
    becomes one space.

    Args:
        text: the answer with its marks.
        passages: what the numbers stand for.
        official: read as eval.py does.

    Example:
        >>> answer = read_cited("It sold.[1] Kay [2, 3] sang.", [])
        >>> [(sentence.text, sentence.citations) for sentence in answer.sentences]
        [('It sold.', (1,)), ('Kay sang.', (2, 3))]
        >>> answer = read_cited("It sold. [1] Kay [2, 3] sang.", [], official=True)
        >>> [(sentence.text, sentence.citations) for sentence in answer.sentences]
        [('It sold.', ()), ('Kay, 3 sang.', (1, 2))]
    """
    if official:
        # For NLTK, a sentence ends before a bracket and before a small letter.
        spaced = re.sub(r"(?<=[.!?])(?=\[\d)", " ", official_output(text))
        sentences = split_sentences(spaced, any_case=True)
        return CitedAnswer(
            tuple(
                CitedSentence(
                    remove_citations_officially(sentence).strip(),
                    tuple(number + 1 for number in official_citations(sentence)),
                )
                for sentence in sentences
            ),
            tuple(passages),
        )
    plain, marks = _without_marks(text.replace(_END_OF_TURN, ""))
    ranges = [
        (start, end)
        for start, end in sentence_ranges(plain)
        if any(char.isalnum() for char in plain[start:end])
    ]
    starts = [start for start, _ in ranges]
    ends = [end for _, end in ranges]
    ahead = bool(marks) and bool(ranges) and marks[0][0] <= starts[0]
    cited: list[list[int]] = [[] for _ in ranges]
    for at, numbers in marks:
        if ranges:
            # The first sentence that ends after the mark, or the last one that begins before it.
            place = bisect_right(ends, at) if ahead else bisect_left(starts, at) - 1
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
    return _without_marks(text)[0]


def official_output(text: str) -> str:
    """Return an answer as eval.py scores it: its first line."""
    return text.strip().split("\n", maxsplit=1)[0].replace(_END_OF_TURN, "")


def official_citations(sentence: str) -> list[int]:
    """Return the indices of passages, from 0, that eval.py finds cited; -1 for ``[0]``.

    Example:
        >>> official_citations("A [1][3]. [0] [ 2 ] [4, 5]")
        [0, 2, -1, 3]
    """
    return [int(found[1:]) - 1 for found in re.findall(r"\[\d+", sentence)]


def remove_citations_officially(text: str) -> str:
    """Return a text as eval.py strips it: with every ``]`` and every `` |`` gone.

    Example:
        >>> remove_citations_officially("see [a] | b [1].")
        'see [a b.'
    """
    opened = re.sub(r"\[\d+", "", re.sub(r" \[\d+", "", text))
    return opened.replace(" |", "").replace("]", "")


def _without_marks(text: str) -> tuple[str, list[tuple[int, list[int]]]]:
    """Return the text without marks, and for each mark its place in that text and its numbers."""
    pieces: list[str] = []
    marks = []
    length = at = 0
    for match in _MARK.finditer(text):
        piece = text[at : match.start()].rstrip(" \t\u00a0")  # with the blanks before it
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
        found += range(first, last + 1) if 0 <= last - first < _WIDEST else (first, last)
    return found
