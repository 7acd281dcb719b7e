"""A source: a numbered passage that an answer may quote; and its offsets in other runtimes."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal

Field = Literal["title", "body"]
"""The two quotable parts of a source; a quote never crosses from one to the other."""

FIELDS: tuple[Field, ...] = ("body", "title")
"""Both fields, in the order in which a quote is looked for."""


@dataclass(frozen=True, slots=True)
class Source:
    """A passage that an answer may quote.

    Sources are numbered by their place in the sequence they are given in, from 1.

    Attributes:
        text: the body of the passage, quotable.
        title: the title, quotable as a field of its own; may be empty.
        url: where a reader finds the whole document, if anywhere.
        context: what stands above a passage in its document, a line each, the outermost first:
            headings, the lead-in of a list, the header of a table. Read, but not quotable.
    """

    text: str
    title: str = ""
    url: str | None = None
    context: str = ""

    def field(self, name: Field) -> str:
        """Return the text of one field.

        Example:
            >>> Source("Released in 1943.", title="White Christmas").field("title")
            'White Christmas'
        """
        return self.title if name == "title" else self.text


_LAST_BMP = "\uffff"


class Utf16Offsets:
    """Converts the code point offsets of one text to UTF-16 offsets.

    Built once in time linear in the text; each conversion is a binary search.

    Example:
        >>> offsets = Utf16Offsets("🎄 White Christmas")
        >>> offsets(2)
        3
    """

    def __init__(self, text: str) -> None:
        self._length = len(text)
        self._astral = [at for at, char in enumerate(text) if char > _LAST_BMP]

    def __call__(self, offset: int) -> int:
        """Return the UTF-16 offset of a code point offset.

        Raises:
            IndexError: the offset is negative or beyond the end of the text.
        """
        if not 0 <= offset <= self._length:
            raise IndexError(
                f"offset must be from 0 to {self._length}, the length of the text, got {offset}"
            )
        return offset + bisect_left(self._astral, offset)
