"""Split a document into passages along its structure."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING, NamedTuple

from semqa.documents.document import Passage
from semqa.documents.structure import CONTENT, NEGATES, Kind, cut_long, plain, read_structure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semqa.documents.document import Document

TARGET_LENGTH = 800
"""Target length of a passage in characters: about 130 words, the input of a sentence encoder."""

MIN_LENGTH = 400
"""Length from which a passage may end with a paragraph, if the rest of its section is long."""

MIN_BEFORE_HEADING = 200
"""Length from which a passage ends before a heading."""

MAX_LENGTH = 1600
"""Length up to which a list, a table or an answer is not split."""

MAX_CONTEXT = 300
"""Maximum length of a passage's context."""

_HEADING_KINDS: frozenset[Kind] = frozenset(("heading", "question", "meta"))


def split(document: Document) -> list[Passage]:
    """Split a document into passages.

    Each word is in exactly one passage. A passage ends after a whole unit of the structure: at the
    end of a section, list, table or paragraph if possible, and before a sentence that begins on a
    new page. A heading stays with the text below it, a list with its lead-in, rows with their
    header, an answer with its question and a section with a heading such as "What is not insured",
    if together they have at most `MAX_LENGTH` characters.
    """
    return list(_Splitter(document).passages())


class _Piece(NamedTuple):
    """A unit of the text, or a part of a long unit."""

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
        """The end offset of the section under each heading."""
        for i, unit in enumerate(self.units):
            start = unit.start
            if unit.kind not in CONTENT:  # include its markup
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
        """Yield ranges of pieces that stay together, with exclusive ends.

        A part is a block with the headings above it. A block longer than `MAX_LENGTH` is split into
        pieces; a piece that needs the next one stays with it.
        """
        opened = -1  # the first heading above a block
        for first, stop in self._blocks():
            start = first
            if opened >= 0 and self.pieces[opened].page == self.pieces[first].page:
                start = opened
            elif opened >= 0:
                yield opened, first
            size = self.pieces[stop - 1].end - self.pieces[start].start
            opened = -1
            if self._kind(stop - 1) not in CONTENT and size <= MIN_LENGTH:
                opened = start
            elif size <= MAX_LENGTH:
                yield start, stop
            else:
                yield from self._split_block(start, stop)
        if opened >= 0:
            yield opened, len(self.pieces)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Yield paragraphs, and lists, tables and answers with their lead-in, header or question.

        Each sentence of a long paragraph is a block. A new page begins a new block.
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
            short = unit.group >= 0 and sizes[unit.group] <= TARGET_LENGTH
            joined = under or (same and (listed or short))
            if not joined or self.pieces[i].page != self.pieces[i - 1].page:
                yield first, i
                first = i
        if self.pieces:
            yield first, len(self.pieces)

    def _split_block(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        at = start
        for i in range(start + 1, stop):
            above = self.pieces[i - 1].unit
            needed = (
                self._kind(i - 1) not in CONTENT or self.units[self.pieces[i].unit].over == above
            )
            if not needed or self.pieces[i].end - self.pieces[at].start > MAX_LENGTH:
                yield at, i
                at = i
        yield at, stop

    def _kind(self, piece: int) -> Kind:
        return self.units[self.pieces[piece].unit].kind

    def _ends_before(self, first: int, start: int, stop: int) -> bool:
        """Whether a passage that begins with the piece `first` ends before the part."""
        begin, before, here = (self.pieces[at] for at in (first, start - 1, start))
        size, longer = before.end - begin.start, self.pieces[stop - 1].end - begin.start
        kind = self._kind(start)
        heads = kind in _HEADING_KINDS and self.units[here.unit].group == -1
        if here.page != begin.page or longer > MAX_LENGTH:
            return True
        if self._is_negated(begin, here):
            return False
        if longer > TARGET_LENGTH:
            return heads or size >= MIN_BEFORE_HEADING
        if kind != "question" and self._fits(begin, here):
            return False
        if heads:
            return size >= MIN_BEFORE_HEADING
        same = self.units[here.unit].group == self.units[before.unit].group
        return size >= MIN_LENGTH and not same

    def _is_negated(self, begin: _Piece, here: _Piece) -> bool:
        """Whether the passage so far contains a heading that negates a piece, which belongs with it."""
        above = self.units[here.unit].headings[-1:]
        return any(
            each >= begin.unit
            and NEGATES.search(self.text, self.units[each].start, self.units[each].end)
            for each in above
        )

    def _fits(self, begin: _Piece, here: _Piece) -> bool:
        """Whether a section contains both pieces and fits into a passage that starts at `begin`."""
        return any(
            here.start < self.sections.get(each, 0) <= begin.start + TARGET_LENGTH
            for each in (*self.units[begin.unit].headings, begin.unit)
        )

    def _passage(self, first: int, stop: int) -> Passage:
        begin = self.pieces[first]
        return Passage(
            begin.start, self.pieces[stop - 1].end, begin.page, self._context(begin.unit)
        )

    def _context(self, index: int) -> tuple[str, ...]:
        """Return the context lines of a unit; if space runs out, the nearest ones are kept."""
        above = set(self.units[index].headings)
        over = self.units[index].over
        while over is not None:
            above.add(over)
            over = self.units[over].over
        lines: list[str] = []
        left = MAX_CONTEXT
        for each in sorted(above, reverse=True):
            unit = self.units[each]
            text = self.text[unit.start : min(unit.end, unit.start + 2 * MAX_CONTEXT)]
            cells = [plain(cell) for cell in text.strip(" |").split("|")]
            line = shorten(" | ".join(cells), min(left, 2 * MAX_CONTEXT // 3), placeholder=" …")
            if len(line) > 2:
                lines.append(line)
                left -= len(line)
            if left < 3:
                break  # no space for a word
        return tuple(reversed(lines))
