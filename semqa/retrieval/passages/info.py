"""What is known of collections, of documents in them, and of passages that were found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from semqa.quotes import Source

__all__ = ["CollectionInfo", "DocumentInfo", "Found", "passage_url"]


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection.

    Attributes:
        name: its name, one of its owner's.
        documents: how many documents it holds.
        passages: how many passages they were cut into.
        created: when it was made, ISO 8601 in UTC.
    """

    name: str
    documents: int
    passages: int
    created: str


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document of a collection.

    Attributes:
        id: tells it from all others; other content has another id.
        name: the file's name; there is one document of a name in a collection.
        kind: one of `semqa.documents.KINDS`.
        title: its title.
        characters: code points of its text.
        passages: how many passages it was cut into.
        sha256: the digest of the file's bytes.
        added: when it was put there, ISO 8601 in UTC.
    """

    id: str
    name: str
    kind: str
    title: str
    characters: int
    passages: int
    sha256: str
    added: str


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that a search found.

    Attributes:
        source: the passage, ready to be quoted.
        document_id: the document's id.
        name: the document's name.
        start: where the passage begins in the document's text, in code points.
        end: where it ends, exclusive.
        page: the page of a PDF on which it begins, from 1.
        score: how well it fits; higher is better, and only the order of one search means something.
    """

    source: Source
    document_id: str
    name: str
    start: int
    end: int
    page: int | None
    score: float


def passage_url(collection: str, document_id: str, start: int, end: int) -> str:
    """Return the address of a passage.

    Example:
        >>> passage_url("my notes", "a1", 0, 9)
        'semqa://my%20notes/a1#char=0,9'
    """
    return f"semqa://{quote(collection, safe='')}/{document_id}#char={start},{end}"
