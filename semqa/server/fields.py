"""Types of fields that several interfaces have."""

from __future__ import annotations

from typing import Annotated, TypeVar

from annotated_types import MaxLen
from pydantic import AfterValidator, BaseModel, FailFast, Field

from semqa.quotes import Source
from semqa.server.answering import Given

__all__ = ["Collection", "Engine", "Limit", "Many", "Renumber", "SourceIn", "Sources", "Text"]


def _unicode(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        # JSON can write half of a character, which nothing else can.
        raise ValueError("half of a surrogate pair, expected Unicode text; remove it") from None
    return text


Text = Annotated[str, AfterValidator(_unicode)]
"""A string that is Unicode text."""


MOST_MEMBERS = 10_000
"""Members of a list, before any of them is looked at closely."""

_T = TypeVar("_T")


class _FirstWrong(FailFast):
    """Ends at the first member that is wrong: a million errors would fill the memory."""

    __hash__ = object.__hash__  # what stands in a union must have one


Many = Annotated[list[_T], MaxLen(MOST_MEMBERS), _FirstWrong()]
"""A list in a request."""


class SourceIn(BaseModel):
    """A passage to answer from."""

    text: Text = Field(description="The passage.")
    title: Text = Field("", description="Its title, which can be quoted as well.")
    url: Text | None = Field(None, description="Where a reader finds the whole document.")

    def given(self) -> Given:
        """Return it as a source of a question."""
        return Given(Source(self.text, self.title, self.url))


Sources = Annotated[
    Many[SourceIn] | None,
    Field(
        description="Passages to answer from, numbered from 1; without any, collections are looked into."
    ),
]
Collection = Annotated[
    Text | None,
    Field(
        description="Name of the collection to answer from, after the sources if there are any. "
        "Without a name and without sources, all are looked into."
    ),
]
Engine = Annotated[
    Text | None, Field(description="The engine that answers; the server's default without it.")
]
Limit = Annotated[int | None, Field(ge=1, le=100, description="Most passages to find.")]
Renumber = Annotated[
    bool, Field(description="Number the sources in the order in which the answer quotes them.")
]
