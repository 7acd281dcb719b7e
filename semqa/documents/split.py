"""Cut a document into passages, along its structure."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING, NamedTuple

from semqa.documents.document import Passage
from semqa.documents.structure import CONTENT, Kind, cut_long, plain, read_structure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semqa.documents.document import Document

USUAL = 800
"""Characters at which a passage is full: about 130 words, what an encoder of sentences reads."""

LEAST = 400
"""A passage of so many characters ends where a paragraph does, if its section goes on for long."""

SHORT = 200
"""A passage of so many characters ends before a heading."""

LONGEST = 1600
"""Characters up to which a list, a table or an answer stays whole."""

CONTEXT = 300
"""Characters of a passage's context."""

_HEADS: frozenset[Kind] = frozenset(("heading", "question", "meta"))


def split(document: Document) -> list[Passage]:
    """Cut a document into passages.

    Each word is in exactly one passage. A passage ends with a unit of the structure: at the end of
    a section, list, table or paragraph if it can, and before a sentence that begins on a new page.
    A heading goes with what it heads, a list with its lead-in, rows with their header and an answer
    with its question, if all of it has at most `LONGEST` characters.
    """
    return list(_Splitter(document).passages())


class _Piece(NamedTuple):
    """A unit of the text, or a part of a long one."""

    start: int
    end: int
    unit: int
    page: int | None


class _Splitter:
    def __init__(self, document: Document) -> None:
        structure = read_structure(document.text)
        self.text = document.text
        self.units = structure.units
        self.pieces: list[_Piece] = []
        self.sections: dict[int, int] = {}
        """Where the section under each heading ends."""
        for i, unit in enumerate(self.units):
            start = unit.start
            if unit.kind not in CONTENT:  # with its marks
                line = self.text[self.text.rfind("\n", 0, start) + 1 : start]
                start -= len(line.lstrip())
            for begin, end in cut_long(self.text, start, unit.end):
                self.pieces.append(_Piece(begin, end, i, document.page_of(begin)))
            self.sections |= dict.fromkeys(unit.headings, unit.end)

    def passages(self) -> Iterator[Passage]:
        first = 0
        for start, stop in self._parts():
            if start > first and self._ends_before(first, start, stop):
                yield self._passage(first, start)
                first = start
        if first < len(self.pieces):
            yield self._passage(first, len(self.pieces))

    def _parts(self) -> Iterator[tuple[int, int]]:
        """Yield what stays together, as places of its first piece and after its last.

        These are blocks with the headings above them; if they are longer than `LONGEST`, their
        pieces, those that need the next one with it.
        """
        opened = -1  # the first of the headings above a block
        for first, stop in self._blocks():
            start = first
            if opened >= 0 and self.pieces[opened].page == self.pieces[first].page:
                start = opened
            elif opened >= 0:
                yield opened, first
            size = self.pieces[stop - 1].end - self.pieces[start].start
            opened = -1
            if self._kind(stop - 1) not in CONTENT and size <= LEAST:
                opened = start
            elif size <= LONGEST:
                yield start, stop
            else:
                yield from self._smaller(start, stop)
        if opened >= 0:
            yield opened, len(self.pieces)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Yield lists, tables and answers with what they are under, and paragraphs.

        Of a long paragraph each sentence is a block; what is on another page is another one.
        """
        first, listed = 0, False
        sizes: dict[int, int] = {}
        for piece in self.pieces:
            group = self.units[piece.unit].group
            sizes[group] = sizes.get(group, 0) + piece.end - piece.start
        for i in range(1, len(self.pieces)):
            unit, before = (self.units[self.pieces[at].unit] for at in (i, i - 1))
            same = unit.group == before.group
            listed = unit.kind in ("item", "row") or (listed and same)
            under = unit.over is not None and unit.over >= self.pieces[first].unit
            short = unit.group >= 0 and sizes[unit.group] <= USUAL
            joined = under or (same and (listed or short))
            if not joined or self.pieces[i].page != self.pieces[i - 1].page:
                yield first, i
                first = i
        if self.pieces:
            yield first, len(self.pieces)

    def _smaller(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        at = start
        for i in range(start + 1, stop):
            above = self.pieces[i - 1].unit
            needed = (
                self._kind(i - 1) not in CONTENT or self.units[self.pieces[i].unit].over == above
            )
            if not needed or self.pieces[i].end - self.pieces[at].start > LONGEST:
                yield at, i
                at = i
        yield at, stop

    def _kind(self, piece: int) -> Kind:
        return self.units[self.pieces[piece].unit].kind

    def _ends_before(self, first: int, start: int, stop: int) -> bool:
        """Whether a passage that begins with the piece `first` ends before a part."""
        begin, before, here = (self.pieces[at] for at in (first, start - 1, start))
        size, longer = before.end - begin.start, self.pieces[stop - 1].end - begin.start
        kind = self._kind(start)
        if here.page != begin.page or longer > LONGEST:
            return True
        if longer > USUAL:
            return kind in _HEADS or size >= SHORT
        if kind != "question" and self._fits(begin, here):
            return False
        if kind in _HEADS:
            return size >= SHORT
        same = self.units[here.unit].group == self.units[before.unit].group
        return size >= LEAST and not same

    def _fits(self, begin: _Piece, here: _Piece) -> bool:
        """Whether two pieces are of one section that ends before a passage from `begin` is full."""
        return any(
            here.start < self.sections.get(each, 0) <= begin.start + USUAL
            for each in (*self.units[begin.unit].headings, begin.unit)
        )

    def _passage(self, first: int, stop: int) -> Passage:
        begin = self.pieces[first]
        return Passage(
            begin.start, self.pieces[stop - 1].end, begin.page, self._context(begin.unit)
        )

    def _context(self, index: int) -> tuple[str, ...]:
        """Return what stands above a unit; what is nearest gets its place first."""
        above = set(self.units[index].headings)
        over = self.units[index].over
        while over is not None:
            above.add(over)
            over = self.units[over].over
        lines: list[str] = []
        left = CONTEXT
        for each in sorted(above, reverse=True):
            unit = self.units[each]
            text = self.text[unit.start : min(unit.end, unit.start + 2 * CONTEXT)]
            cells = [plain(cell) for cell in text.strip(" |").split("|")]
            line = shorten(" | ".join(cells), min(left, 2 * CONTEXT // 3), placeholder=" …")
            if len(line) > 2:
                lines.append(line)
                left -= len(line)
        return tuple(reversed(lines))
