"""A source: a numbered passage that an answer may quote."""

from __future__ import annotations

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
