"""Types of fields that several interfaces have."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from semqa.quotes import Source
from semqa.server.answering import Given

__all__ = ["Collection", "Engine", "Limit", "Renumber", "SourceIn", "Sources", "Text"]


def _unicode(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        # JSON can write half of a character, which nothing else can.
        raise ValueError("half of a surrogate pair, expected Unicode text; remove it") from None
    return text


Text = Annotated[str, AfterValidator(_unicode)]
"""A string that is Unicode text."""


class SourceIn(BaseModel):
    """A passage to answer from."""

    text: Text = Field(description="The passage.")
    title: Text = Field("", description="Its title, which can be quoted as well.")
    url: Text | None = Field(None, description="Where a reader finds the whole document.")

    def given(self) -> Given:
        """Return it as a source of a question."""
        return Given(Source(self.text, self.title, self.url))


Sources = Annotated[
    list[SourceIn] | None,
    Field(description="Passages to answer from, numbered from 1; without any, collections are."),
]
Collection = Annotated[
    Text | None,
    Field(description="Name of the collection to answer from; without it, all are looked into."),
]
Engine = Annotated[
    Text | None, Field(description="The engine that answers; the server's default without it.")
]
Limit = Annotated[int | None, Field(ge=1, le=100, description="Most passages to find.")]
Renumber = Annotated[
    bool, Field(description="Number the sources in the order in which the answer quotes them.")
]
