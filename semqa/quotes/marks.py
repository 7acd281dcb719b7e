"""The marks of a quoted answer: from marked text to free text, quotes and broken marks.

Knows the syntax only; whether a quote is really in its source is decided in `answer.py`.

The canonical mark is ``[ 1 span ]``: a bracket, the number of a source, the quoted span, a bracket,
with single spaces between. The tighter ``[1 span]`` is read as well, and any white space in place
of the single spaces. A span holds no square bracket and neither begins nor ends with white space.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_NUMBER_DIGITS = 9
"""Longer source numbers are broken marks: no answer has a thousand million sources."""

# Possessive quantifiers keep the scan linear on hostile text ("[1" and a million spaces).
_MARK = re.compile(r"\[\s*+([0-9]++)([^\[\]]*+)(\]?)")
_CITATIONS = re.compile(r"(?:[,;–-]\s*+[0-9]++\s*+)++")


@dataclass(frozen=True, slots=True)
class FreePiece:
    """Text outside of any mark, brackets that begin no mark included."""

    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A well-formed mark: a span and the number of the source that it names (from 1)."""

    source: int
    span: str


@dataclass(frozen=True, slots=True)
class BrokenMark:
    """A mark that names a source but cannot be read as a quote.

    Attributes:
        source: the number as written; 0 where it is no possible number.
    """

    raw: str
    source: int
    reason: str


MarkedPiece = FreePiece | Mark | BrokenMark


def canonical_mark(source: int, span: str) -> str:
    """Write one mark in its canonical form.

    Example:
        >>> canonical_mark(2, "Josh Gates")
        '[ 2 Josh Gates ]'
    """
    return f"[ {source} {span} ]"


def scan_marks(text: str) -> Iterator[MarkedPiece]:
    """Split marked text into its pieces, in order and without loss.

    Runs in time linear in the text and raises nothing, whatever the text. Neighbouring free pieces
    are joined.

    Example:
        >>> list(scan_marks("by [1 Bing Crosby] in [sic] 1943"))
        [FreePiece(text='by '), Mark(source=1, span='Bing Crosby'), FreePiece(text=' in [sic] 1943')]
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
    """Read one candidate mark; None when the bracket is ordinary text, such as ``[2nd ed.]``."""
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
        reason = f"{digits} is no source number (they count from 1, without leading zeros)"
    return Mark(number, span) if reason is None else BrokenMark(match.group(), number, reason)


_BRACKET = re.compile(r"[\[\]]")
_MAY_BE_MARK = re.compile(r"\[\s*+(?:$|[0-9]++(?:$|\s|[,;–-](?:[0-9,;–\s-])*+$))")


def may_be_mark(text: str, opening: int = 0) -> bool:
    """Whether a bracket without an end so far may still begin a mark."""
    return _MAY_BE_MARK.match(text, opening) is not None


class Candidate(NamedTuple):
    """A bracket and what follows, up to its end, to the next one, or, if it is the `last`, to that of the text."""

    text: str
    last: bool


class MarkCutter:
    """Cuts text that comes in pieces at brackets, and holds back what may still become a mark."""

    def __init__(self) -> None:
        self.held = ""
        self._looked = 1

    def cut(self, piece: str, *, final: bool) -> Iterator[str | Candidate]:
        """Yield free text, and candidates for marks, which `scan_marks` reads; to be used up."""
        text = self.held + piece
        at = 0
        while (opening := text.find("[", at)) >= 0:
            if opening > at:
                yield text[at:opening]
            at = opening
            bracket = _BRACKET.search(text, opening + self._looked)
            if bracket is None and not final and may_be_mark(text, opening):
                break
            if bracket is None:
                end = len(text)
            else:
                end = bracket.end() if bracket[0] == "]" else bracket.start()
            yield Candidate(text[at:end], bracket is None)
            at, self._looked = end, 1
        else:
            if at < len(text):
                yield text[at:]
            at = len(text)
        self.held = text[at:]
        self._looked = max(1, len(self.held))
