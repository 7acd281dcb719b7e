"""Cut a document into passages, at the ends of sentences."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from semqa.documents.document import Passage
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semqa.documents.document import Document

__all__ = ["LONGEST", "USUAL", "split"]

USUAL = 800
"""Characters at which a passage is full: about 130 words, what an encoder of sentences reads."""

LEAST = 250
"""A passage of so many characters ends where a paragraph does."""

LONGEST = 1600
"""A sentence longer than this is cut, at white space where there is any."""

AT_ONCE = 5000
"""Characters of a paragraph that are cut into sentences at a time."""

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
_JOINED = frozenset("\u200d\ufe0f")
_ENDS = frozenset(".!?…。！？؟۔।:;\"'”’»)]")


class _Piece(NamedTuple):
    """A sentence or a part of one, without the blanks around it."""

    start: int
    end: int
    closes: bool
    """Whether a paragraph of text ends with it."""
    heading: bool


def split(document: Document) -> list[Passage]:
    """Cut a document into passages of a few sentences.

    Each character but white space is in exactly one passage. A passage ends with a sentence (only
    one of more than `LONGEST` characters is cut), at the end of a paragraph if it can, never right
    after a heading, and where a sentence begins a new page.
    """
    passages: list[Passage] = []
    start = end = -1
    head = body = -1  # where the headings at its end begin, and where the text before them ends
    page: int | None = None
    closed = False
    for piece in _pieces(document.text, short=LEAST // 2 if not document.pages else 0):
        here = document.page_of(piece.start)
        full = piece.end - start > USUAL or (closed and end - start >= LEAST)
        if start >= 0 and here != page:
            passages.append(Passage(start, end, page))
            start = head = -1
        elif start >= 0 and full and head == start:
            if piece.end - start > LONGEST:
                passages.append(Passage(start, end, page))
                start = head = -1
        elif start >= 0 and full:
            passages.append(Passage(start, end if head < 0 else body, page))
            start = head  # a heading goes with what it heads
        if start < 0:
            start, page = piece.start, here
        if not piece.heading or (head >= 0 and piece.end - head > LEAST):
            head = -1  # so many lines without a full stop are a list
        elif head < 0:
            head, body = piece.start, end
        end, closed = piece.end, piece.closes
    if start >= 0:
        passages.append(Passage(start, end, page))
    return passages


def _pieces(text: str, short: int) -> Iterator[_Piece]:
    """Yield all sentences in order; what is longer than `LONGEST` in parts.

    A paragraph of at most `short` characters stays whole: no passage would end within it.
    """
    for first, last in _paragraphs(text):
        whole = last - first <= short
        for start, end in [(first, last)] if whole else _sentences(text, first, last):
            at = start
            while end - at > LONGEST:
                cut = _cut(text, at, at + LONGEST)
                yield from _trimmed(text, at, cut, (first, last))
                at = cut
            yield from _trimmed(text, at, end, (first, last))


def _trimmed(text: str, start: int, end: int, paragraph: tuple[int, int]) -> Iterator[_Piece]:
    kept = text[start:end].rstrip()
    end = start + len(kept)
    start += len(kept) - len(kept.lstrip())
    if start >= end:
        return
    first, last = paragraph
    heading = (
        (start, end) == (first, last)
        and end - start < LEAST // 2
        and "\n" not in text[start:end]
        and text[end - 1] not in _ENDS
    )
    yield _Piece(start, end, closes=end == last and not heading, heading=heading)


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for gap in _BLANK_LINE.finditer(text):
        if gap.start() > at:
            yield at, at + len(text[at : gap.start()].rstrip())
        at = gap.end()
    if at < len(text):
        yield at, at + len(text[at:].rstrip())


def _sentences(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    sentencex = require("sentencex", extra="documents", purpose="cutting documents into passages")
    at = first
    while at < last:
        # What it takes grows with the square of the length for some texts.
        until = last if last - at <= AT_ONCE else _cut(text, at, at + AT_ONCE)
        ends = [
            at + found["end_index"]
            for found in sentencex.get_sentence_boundaries("en", text[at:until])
        ]
        if until < last and len(ends) > 1:
            ends.pop()  # it may go on
        for end in ends:
            yield at, end
            at = end


def _cut(text: str, start: int, end: int) -> int:
    """Return where to cut a run: after its last white space, or else between two characters."""
    least = (start + end) // 2
    for at in range(end, least, -1):
        if text[at - 1].isspace():
            return at
    at = end
    # A base character keeps its marks, unless nothing but marks is there.
    while at > least and (unicodedata.combining(text[at]) or text[at] in _JOINED):
        at -= 1
    return at
