"""Answers of the writing task: free text, and quotes given as places in the passages.

The page sends a list of pieces: strings, and quotes ``{"source", "field", "start", "end"}`` with
offsets in code points. The server copies the quoted words from the passage, so that quotes are
always verbatim.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from semqa.errors import InputError
from semqa.quotes import Quote, QuotedAnswer, Source
from semqa.quotes.marks import canonical_mark
from semqa.quotes.quote import FIELDS, Field

MAX_WORDS = 100
"""Maximum number of words of an answer, as in the paper."""

MAX_PIECES = 400
MAX_FREE_TEXT = 10_000
"""Maximum length of a piece of free text, in characters."""

ZERO_WIDTH = "\u200b"
"""The zero-width space, which the page inserts as a place for the caret."""

_BRACKETS = str.maketrans("[]", "()")
_WORD = re.compile(r"[^\W_]+")
_KEYS = {"source", "field", "start", "end"}


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a quote in a passage, which is numbered from 1. Offsets are code points."""

    source: int
    field: Field
    start: int
    end: int

    def text(self, sources: Sequence[Source]) -> str:
        """Return the quoted text."""
        return sources[self.source - 1].field(self.field)[self.start : self.end]


Piece = str | Place


def read_pieces(given: object, sources: Sequence[Source]) -> list[Piece]:
    """Validate an answer from the page; whitespace in free text is collapsed to single spaces.

    Args:
        sources: the passages by number; unused numbers have an empty text.
    """
    if not isinstance(given, list) or len(given) > MAX_PIECES:
        raise InputError(f"must be a list of at most {MAX_PIECES} pieces.", field="answer")
    pieces: list[Piece] = []
    for each in given:
        if isinstance(each, str):
            text = _free_text(each)
            if text and pieces and isinstance(pieces[-1], str):
                pieces[-1] += " " + text
            elif text:
                pieces.append(text)
        else:
            pieces.append(_place(each, sources))
    return pieces


def _free_text(text: str) -> str:
    if len(text) > MAX_FREE_TEXT:
        raise InputError(f"must be at most {MAX_FREE_TEXT:,} characters.", field="answer")
    if "[" in text or "]" in text:
        raise InputError("Square brackets mark quotes. Use round brackets instead.", field="answer")
    words = " ".join(text.replace(ZERO_WIDTH, "").split())
    if any(unicodedata.category(char) == "Cc" for char in words):
        raise InputError("must not contain control characters.", field="answer")
    return words


def _place(given: object, sources: Sequence[Source]) -> Place:
    if not isinstance(given, dict) or set(given) != _KEYS:
        raise InputError("must be a list of strings and quotes.", field="answer")
    numbers = [given[name] for name in ("source", "start", "end")]
    if any(type(number) is not int for number in numbers) or given["field"] not in FIELDS:
        raise InputError("has a quote with an invalid place.", field="answer")
    source, start, end = numbers
    place = Place(source, cast("Field", given["field"]), start, end)
    if not 1 <= source <= len(sources):
        raise InputError(f"There is no passage {source}.", field="answer")
    if not 0 <= start < end <= len(sources[source - 1].field(place.field)):
        raise InputError(f"A quote is not in passage {source}.", field="answer")
    text = place.text(sources)
    if text != text.strip():
        raise InputError(
            f"A quote of passage {source} begins or ends with a space.", field="answer"
        )
    if "[" in text or "]" in text:
        raise InputError(
            f"A quote of passage {source} contains a square bracket, which is not allowed.",
            field="answer",
        )
    return place


def marked(pieces: Sequence[Piece], sources: Sequence[Source]) -> str:
    """Return an answer with quote marks, spaced as in the released answers.

    Example:
        >>> from semqa import Source
        >>> marked(["By", Place(1, "body", 0, 4), "."], [Source("Bing sang it.")])
        'By [ 1 Bing ] .'
    """
    return " ".join(
        each if isinstance(each, str) else canonical_mark(each.source, each.text(sources))
        for each in pieces
    )


def verified(pieces: Sequence[Piece], sources: Sequence[Source]) -> str:
    """Return the marked answer, and raise unless parsing it yields the same verified quotes."""
    text = marked(pieces, sources)
    expected = [(p.source, p.text(sources)) for p in pieces if isinstance(p, Place)]
    answer = QuotedAnswer.parse(text, sources)
    found = [(quote.source, quote.text) for quote in answer.quotes if quote.verified]
    if found != expected or len(answer.quotes) != len(expected):
        raise InputError("A quote cannot be marked in the text.", field="answer")
    return text


def count_words(text: str) -> int:
    """Count the words of a text: its whitespace-separated tokens with a letter or a digit.

    Example:
        >>> count_words("Bing Crosby ( 1943 ) .")
        3
    """
    return sum(any(char.isalnum() for char in word) for word in text.split())


def words_of(pieces: Sequence[Piece], sources: Sequence[Source]) -> int:
    """Count the words of an answer, including those of its quotes."""
    return sum(count_words(p if isinstance(p, str) else p.text(sources)) for p in pieces)


def covered_short_answers(
    pieces: Sequence[Piece], sources: Sequence[Source], short_answers: Sequence[str]
) -> str:
    """Return the short answers that an answer quotes, as quote marks with their source numbers.

    A short answer is covered if its words appear in sequence in the joined quotes of its source.
    This reproduces all 129 released answers of `dev_a`.

    Args:
        pieces: the answer.
        sources: the passages by number.
        short_answers: the short answer of each source; may be empty strings.

    Example:
        >>> from semqa import Source
        >>> pieces = [Place(1, "body", 0, 4), Place(1, "body", 5, 9)]
        >>> covered_short_answers(pieces, [Source("Bing sang it.")], ["Bing sang"])
        '[ 1 Bing sang ]'
    """
    quoted: dict[int, list[str]] = defaultdict(list)
    for each in pieces:
        if isinstance(each, Place):
            quoted[each.source].append(each.text(sources))
    return " ".join(
        canonical_mark(number, answer)
        for number, answer in enumerate(short_answers, 1)
        if answer and _words(answer) in _words(" ".join(quoted.get(number, ())))
    )


def _words(text: str) -> str:
    return " " + " ".join(_WORD.findall(text.lower())) + " "


def pieces_of(text: str, sources: Sequence[Source]) -> tuple[list[Piece], list[str]]:
    """Convert a marked answer to pieces that can be edited.

    Returns:
        The pieces, and the texts of unverified quotes, which became free text.
    """
    pieces: list[Piece] = []
    lost: list[str] = []
    for segment in QuotedAnswer.parse(text, sources).segments:
        place = _place_of(segment) if isinstance(segment, Quote) else None
        if place is not None:
            pieces.append(place)
            continue
        if isinstance(segment, Quote):
            lost.append(segment.text)
        shown = "".join(" " if unicodedata.category(c) == "Cc" else c for c in segment.text)
        pieces.append(" ".join(shown.translate(_BRACKETS).split()))
    return pieces, lost


def _place_of(quote: Quote) -> Place | None:
    if not quote.verified or quote.source_start is None or quote.source_end is None:
        return None
    return Place(quote.source, quote.field or "body", quote.source_start, quote.source_end)


def as_json(pieces: Sequence[Piece]) -> list[str | dict[str, Any]]:
    """Return pieces as JSON for the page."""
    return [each if isinstance(each, str) else asdict(each) for each in pieces]


def as_segments(pieces: Sequence[Piece], sources: Sequence[Source]) -> list[Mapping[str, Any]]:
    """Return pieces as segments of a read-only answer, with the spacing between them."""
    shown: list[Mapping[str, Any]] = []
    for number, each in enumerate(pieces):
        gap = " " if number else ""
        if isinstance(each, str):
            close = gap if each[0].isalnum() or each[0] in "([{“‘\"'–—-&" else ""
            shown.append({"text": close + each})
        else:
            if gap:
                shown.append({"text": gap})
            shown.append({"text": each.text(sources), "source": each.source})
    return shown
