"""What of a source a reader sees: the text cut at the borders of the quotes that stand in it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.quotes.answer import QuotedAnswer
    from semqa.quotes.source import Field

__all__ = ["Piece", "excerpt", "quoted_pieces"]


SHORTEST_CUT = 20
"""Fewer characters than this are not worth leaving out."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of a field's text, and which quotes cover all of it.

    Attributes:
        text: the characters; empty only for a cut.
        quotes: indices into ``answer.quotes``, ascending; empty for text that nobody quotes.
        cut: True for a place where text was left out.
    """

    text: str
    quotes: tuple[int, ...] = ()
    cut: bool = False


def quoted_pieces(answer: QuotedAnswer, number: int, field: Field) -> list[Piece]:
    """Cut one field of a source at the borders of its verified quotes.

    The pieces joined are the field's text; overlapping quotes share pieces. Works through borders
    in order, so its time grows with the quotes and their overlaps, not with the text.
    """
    text = answer.sources[number - 1].field(field)
    spans = [
        (quote.source_start, quote.source_end, index)
        for index, quote in enumerate(answer.quotes)
        if quote.verified and quote.source == number and quote.field == field
        if quote.source_start is not None and quote.source_end is not None
    ]
    borders = sorted({0, len(text), *(s for s, _, _ in spans), *(e for _, e, _ in spans)})
    begins: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for start, end, index in spans:
        begins.setdefault(start, []).append(index)
        ends.setdefault(end, []).append(index)
    covering: set[int] = set()
    pieces = []
    for start, end in itertools.pairwise(borders):
        covering.difference_update(ends.get(start, ()))
        covering.update(begins.get(start, ()))
        pieces.append(Piece(text[start:end], tuple(sorted(covering))))
    return pieces


def excerpt(pieces: Sequence[Piece], context: int) -> list[Piece]:
    """Shorten unquoted pieces to ``context`` characters beside each quote, cut between words.

    Nothing is quoted: the beginning of the text is kept.
    """
    if not any(piece.quotes for piece in pieces):
        whole = "".join(piece.text for piece in pieces)
        head = _head(whole, 2 * context)
        return [Piece(head)] + ([Piece("", cut=True)] if len(head) < len(whole) else [])
    shown: list[Piece] = []
    for at, piece in enumerate(pieces):
        if piece.quotes:
            shown.append(piece)
            continue
        head = _head(piece.text, context) if at > 0 else ""
        tail = _tail(piece.text, context) if at + 1 < len(pieces) else ""
        if len(head) + len(tail) + SHORTEST_CUT > len(piece.text):
            shown.append(piece)
            continue
        shown += [
            part for part in (Piece(head), Piece("", cut=True), Piece(tail)) if part != Piece("")
        ]
    return shown


def _head(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[: max(text.rfind(" ", 0, limit), 0) or limit]


def _tail(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    cut = text.find(" ", len(text) - limit)
    return text[len(text) - limit :] if cut < 0 else text[cut + 1 :]
