"""A document as text, and its passages."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

__all__ = ["Document", "Passage"]


@dataclass(frozen=True, slots=True)
class Document:
    """What was read of a file.

    All places are offsets into `text`, in Unicode code points from 0.

    Attributes:
        name: the file's name, with ``/`` between folders.
        kind: one of `semqa.documents.KINDS`.
        title: its title, or its name without the ending.
        text: all of its text.
        pages: where each page begins, ascending; empty for kinds without pages.
    """

    name: str
    kind: str
    title: str
    text: str
    pages: tuple[int, ...] = ()

    def page_of(self, offset: int) -> int | None:
        """Return the number of the page, from 1, that holds the character at `offset`.

        Example:
            >>> Document("a.pdf", "pdf", "a", "one. two.", (0, 5)).page_of(6)
            2
        """
        return max(bisect_right(self.pages, offset), 1) if self.pages else None


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document: ``document.text[start:end]``.

    Attributes:
        start: offset of its first character.
        end: offset after its last.
        page: the page, from 1, on which it begins; None for a document without pages.
        context: what stands above it in the document, the outermost first: headings, the lead-in
            of a list, the header of a table, the question it answers. One line each, without marks.
    """

    start: int
    end: int
    page: int | None = None
    context: tuple[str, ...] = ()
