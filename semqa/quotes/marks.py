"""The syntax of marks: split marked text into free text, quotes and broken marks.

Whether a quote is in its source is decided in `answer.py`.

The canonical mark is ``[ 1 span ]``: a bracket, the number of a source, the quoted span, a bracket,
separated by single spaces. The tighter ``[1 span]`` and other white space are accepted too. A span
contains no square brackets and does not begin or end with white space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

MAX_NUMBER_DIGITS = 9
"""A mark with a longer source number is broken."""

# Possessive quantifiers keep the scan linear on malicious text ("[1" and a million spaces).
_MARK = re.compile(r"\[\s*+([0-9]++)([^\[\]]*+)(\]?)")
_CITATIONS = re.compile(r"(?:[,;–-]\s*+[0-9]++\s*+)++")


@dataclass(frozen=True, slots=True)
class FreePiece:
    """Text outside marks, including brackets that do not begin a mark."""

    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A well-formed mark: a span, and the number of its source (from 1)."""

    source: int
    text: str


@dataclass(frozen=True, slots=True)
class BrokenMark:
    """A mark that names a source but cannot be parsed as a quote.

    Attributes:
        text: the whole mark as written.
        source: the number as written; 0 if it has too many digits.
    """

    text: str
    source: int
    reason: str


MarkedPiece = FreePiece | Mark | BrokenMark


def canonical_mark(source: int, span: str) -> str:
    """Return a mark in canonical form.

    Example:
        >>> canonical_mark(2, "Josh Gates")
        '[ 2 Josh Gates ]'
    """
    return f"[ {source} {span} ]"


def scan_marks(text: str) -> Iterator[MarkedPiece]:
    """Split marked text into its pieces, in order and without loss.

    Takes linear time and never raises. Adjacent free pieces are joined.

    Example:
        >>> list(scan_marks("by [1 Bing Crosby] in [sic] 1943"))
        [FreePiece(text='by '), Mark(source=1, text='Bing Crosby'), FreePiece(text=' in [sic] 1943')]
    """
    free_from = 0
    for match in _MARK.finditer(text):
        piece = _read(match)
        if piece is None:
            continue
        if match.start() > free_from:
            yield FreePiece(text[free_from : match.start()])
        yield piece
        free_from = match.end()
    if free_from < len(text):
        yield FreePiece(text[free_from:])


def _read(match: re.Match[str]) -> Mark | BrokenMark | None:
    """Parse one candidate; None if the bracket is ordinary text, such as ``[2nd ed.]``."""
    digits, rest, close = match.groups()
    span = rest.strip()
    too_long = len(digits) > MAX_NUMBER_DIGITS
    number = 0 if too_long else int(digits)
    reason = None
    if not span or _CITATIONS.fullmatch(rest):
        reason = "it names a source but quotes nothing"
    elif not rest[0].isspace():
        return None
    if not close:
        reason = "its closing bracket is missing"
    elif too_long:
        reason = f"its source number has {len(digits)} digits"
    elif digits[0] == "0":
        reason = f"{digits} is not a source number (they start at 1 and have no leading zeros)"
    return Mark(number, span) if reason is None else BrokenMark(match.group(), number, reason)


_BRACKET = re.compile(r"[\[\]]")
_MAY_BE_MARK = re.compile(r"\[\s*+(?:$|[0-9]++(?:$|\s|[,;–-](?:[0-9,;–\s-])*+$))")


def may_be_mark(text: str, opening: int = 0) -> bool:
    """Return whether an unclosed bracket may still become a mark."""
    return _MAY_BE_MARK.match(text, opening) is not None


class Candidate(NamedTuple):
    """A possible mark: the text from a bracket to its end or to the next opening bracket.

    Attributes:
        last: whether the text ended before either of them.
    """

    text: str
    last: bool


class MarkCutter:
    """Splits streamed text at brackets and holds back text that may still become a mark."""

    def __init__(self) -> None:
        self.held = ""
        self._searched = 1

    def cut(self, piece: str, *, final: bool) -> Iterator[str | Candidate]:
        """Yield free text and candidates for `scan_marks`. Exhaust the iterator."""
        text = self.held + piece
        at = 0
        while (opening := text.find("[", at)) >= 0:
            if opening > at:
                yield text[at:opening]
            at = opening
            bracket = _BRACKET.search(text, opening + self._searched)
            if bracket is None and not final and may_be_mark(text, opening):
                break
            if bracket is None:
                end = len(text)
            else:
                end = bracket.end() if bracket[0] == "]" else bracket.start()
            yield Candidate(text[at:end], bracket is None)
            at, self._searched = end, 1
        else:
            if at < len(text):
                yield text[at:]
            at = len(text)
        self.held = text[at:]
        self._searched = max(1, len(self.held))
