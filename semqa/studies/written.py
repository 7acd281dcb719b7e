"""An answer as it is written: free text between quotes that are places in passages, never typed words.

The page sends a list of pieces: strings, and ``{"source", "field", "start", "end"}`` with offsets in code
points. The server takes the quoted words from the passage itself, so a quote cannot differ from it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

from semqa.errors import InputError
from semqa.quotes import Quote, QuotedAnswer
from semqa.quotes.marks import canonical_mark
from semqa.quotes.source import FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.quotes import Source
    from semqa.quotes.source import Field

MAX_WORDS = 100
"""Words of an answer, as in the paper."""

MAX_PIECES = 400
MAX_GLUE = 10_000
ZERO_WIDTH = "\u200b"
"""The space without a width, which the page has for the caret's sake."""

_BRACKETS = str.maketrans("[]", "()")
_WORD = re.compile(r"[^\W_]+")
_KEYS = {"source", "field", "start", "end"}


@dataclass(frozen=True, slots=True)
class Place:
    """The words of a quote, by their place.

    Attributes:
        source: number of the passage, from 1.
        start, end: code points.
    """

    source: int
    field: Field
    start: int
    end: int

    def text(self, sources: Sequence[Source]) -> str:
        """Return the words."""
        return sources[self.source - 1].field(self.field)[self.start : self.end]


Piece = str | Place


def read_pieces(given: object, sources: Sequence[Source]) -> list[Piece]:
    """Read an answer that the page sent; white space in free text becomes single spaces.

    Args:
        sources: the passages by number; a number that is not used has an empty one.
    """
    if not isinstance(given, list) or len(given) > MAX_PIECES:
        raise InputError(f"must be a list of at most {MAX_PIECES} pieces.", field="answer")
    pieces: list[Piece] = []
    for each in given:
        if isinstance(each, str):
            text = _glue(each)
            if text and pieces and isinstance(pieces[-1], str):
                pieces[-1] += " " + text
            elif text:
                pieces.append(text)
        else:
            pieces.append(_place(each, sources))
    return pieces


def _glue(text: str) -> str:
    if len(text) > MAX_GLUE:
        raise InputError("is too long.", field="answer")
    if "[" in text or "]" in text:
        raise InputError("Square brackets mark quotes. Write round ones.", field="answer")
    words = " ".join(text.replace(ZERO_WIDTH, "").split())
    if any(unicodedata.category(char) == "Cc" for char in words):
        raise InputError("must not hold control characters.", field="answer")
    return words


def _place(given: object, sources: Sequence[Source]) -> Place:
    if not isinstance(given, dict) or set(given) != _KEYS:
        raise InputError("must hold strings and quotes.", field="answer")
    numbers = [given[name] for name in ("source", "start", "end")]
    if any(type(number) is not int for number in numbers) or given["field"] not in FIELDS:
        raise InputError("holds a quote that is no place.", field="answer")
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
            f"A quote of passage {source} holds a square bracket, which marks cannot.",
            field="answer",
        )
    return place


def marked(pieces: Sequence[Piece], sources: Sequence[Source]) -> str:
    """Return an answer with marks, a space on both sides of each, as the released answers have it.

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
    """Return an answer with marks, if reading it again finds the same quotes, all verified."""
    text = marked(pieces, sources)
    wanted = [(p.source, p.text(sources)) for p in pieces if isinstance(p, Place)]
    answer = QuotedAnswer.parse(text, sources)
    found = [(quote.source, quote.text) for quote in answer.quotes if quote.verified]
    if found != wanted or len(answer.quotes) != len(wanted):
        raise InputError("A quote cannot be marked as it is.", field="answer")
    return text


def count_words(text: str) -> int:
    """Return how many words a text has: what stands between spaces and has a letter or a digit.

    Example:
        >>> count_words("Bing Crosby ( 1943 ) .")
        3
    """
    return sum(any(char.isalnum() for char in word) for word in text.split())


def words_of(pieces: Sequence[Piece], sources: Sequence[Source]) -> int:
    """Return the words of an answer, quotes and free text, without the marks."""
    return sum(count_words(p if isinstance(p, str) else p.text(sources)) for p in pieces)


def covered_short_answers(
    pieces: Sequence[Piece], sources: Sequence[Source], short_answers: Sequence[str]
) -> str:
    """Return the short answers that an answer quotes, as marks, by the numbers of their sources.

    A short answer is covered if its words stand in this order in what is quoted of its source, the
    quotes joined. So it is in each of the 129 released answers of `dev_a`.

    Args:
        short_answers: that of source *k* at *k* - 1; may be empty.

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
    """Return a marked answer as pieces to correct.

    Returns:
        The pieces, and the words of quotes that are not verified: these became free text.
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
    """Return pieces as the page has them."""
    return [each if isinstance(each, str) else asdict(each) for each in pieces]


def as_segments(pieces: Sequence[Piece], sources: Sequence[Source]) -> list[Mapping[str, Any]]:
    """Return pieces as the page shows an answer that is not edited."""
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
