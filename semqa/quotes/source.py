"""A source: a numbered passage that an answer may quote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Field = Literal["title", "body"]
"""The two quotable parts of a source; a quote never crosses from one to the other."""

FIELDS: tuple[Field, ...] = ("body", "title")
"""Both fields, in search order."""


@dataclass(frozen=True, slots=True)
class Source:
    """A passage that an answer may quote.

    Sources are numbered from 1, in the order given.

    Attributes:
        text: the quotable body of the passage.
        title: the title, a separate quotable field; may be empty.
        url: the address of the whole document, if known.
        context: lines that introduce the passage in its document, outermost first: headings, the
            lead-in of a list, the header of a table. Models read them but cannot quote them.
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
