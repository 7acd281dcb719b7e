"""The tables of collections: LanceDB, in a folder or an object store, and what interrupted writes leave."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import quote

from semqa.data.fetch import cache_folder
from semqa.data.files import locked
from semqa.errors import SemqaError, UnavailableError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from semqa.quotes import Source


def documents_schema(arrow: Any) -> Any:
    """Return the schema of the table of documents.

    What a reader is told comes first; then where a document is from, what it was made with, the
    write that brought its passages, and its text.
    """
    text, count = arrow.string(), arrow.int64()
    return arrow.schema(
        [
            *((name, text) for name in ("id", "name", "kind", "title", "sha256", "added")),
            *((name, text) for name in ("origin", "stamp", "recipe", "write")),
            ("characters", count),
            ("passages", count),
            ("pages", arrow.list_(count)),
            ("text", arrow.large_string()),
        ]
    )


def passages_schema(arrow: Any) -> Any:
    """Return the schema of the table of passages, without the vectors, which come when needed.

    `searched` is the document's title, the lines of the passage's context, and the passage, with
    a line end after each but the last.
    """
    text, count = arrow.string(), arrow.int64()
    return arrow.schema(
        [
            ("write", text),
            ("document", text),
            ("start", count),
            ("end", count),
            ("page", count),
            ("searched", text),
        ]
    )


Access = Literal["own", "read", "write"]


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection.

    Attributes:
        created: when it was made, ISO 8601 in UTC.
        access: ``own``, or what its owner lets this one do: ``read``, or ``write`` as well.
    """

    name: str
    documents: int
    passages: int
    created: str
    access: Access = "own"


@dataclass(frozen=True, slots=True)
class Share:
    """A collection that its owner shares with another.

    Attributes:
        access: ``read`` or ``write``.
    """

    owner: str
    name: str
    access: Access


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A document of a collection.

    Attributes:
        id: tells it from all others; other content has another id.
        name: the file's name; there is one document of a name in a collection.
        characters: code points of its text.
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


_T = TypeVar("_T")

KEPT = 256
"""Opened tables, and what is known of them, that are kept in memory."""

_PURPOSE = "a collection of documents"

_PLACE = re.compile(r",? ?/\S+\.rs:\d+:\d+.*")
"""Where in the source of Lance an error came up: of no use to anybody here."""


class Store:
    """A place with tables.

    Args:
        where: a folder, or an address such as ``s3://bucket/folder``. In a folder any number of
            processes may read and write at a time; at an address one machine may write.
    """

    def __init__(self, where: str | Path) -> None:
        self.where = str(where)
        remote = "://" in self.where
        folder = Path(self.where).expanduser().resolve()
        digest = hashlib.sha256(self.where.encode("utf-8", "surrogateescape")).hexdigest()
        self._kept: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._locks = cache_folder() / "locks" / digest[:16] if remote else folder / "locks"
        # Else it tells of its own work on standard error.
        os.environ.setdefault("LANCE_LOG", "error")
        self._lance = require("lancedb", extra="documents", purpose=_PURPOSE)
        self.arrow: Any = require("pyarrow", extra="documents", purpose=_PURPOSE)
        with self.errors():
            self._locks.mkdir(parents=True, exist_ok=True)
            self._tables = self._lance.connect(
                self.where if remote else str(folder), read_consistency_interval=timedelta(0)
            )

    def names(self) -> list[str]:
        """Return the names of all tables."""
        found: list[str] = []
        token = None
        while True:
            page = self._tables.list_tables(page_token=token, limit=1000)
            found += page.tables
            token = page.page_token
            if not token or not page.tables:
                return found

    def create(self, name: str, schema: Any) -> Any:
        """Create an empty table, or open the one that is there."""
        return self._tables.create_table(name, schema=schema, exist_ok=True)

    def open(self, name: str) -> Any:
        """Open a table; reading it always reads its newest state."""
        return self._tables.open_table(name)

    def kept(self, name: str, make: Callable[[], _T]) -> _T:
        """Return what is kept in memory under a name, made if it is not.

        To open a table takes as long as a search; one that is kept reads the newest state as well.
        """
        with self._lock:
            found: _T | None = self._kept.get(name)
        if found is None:
            found = make()
        with self._lock:
            self._kept.pop(name, None)
            self._kept[name] = found  # what was asked for last goes last
            while len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]
        return found

    def drop(self, name: str) -> None:
        """Remove a table if it is there."""
        self._tables.drop_table(name, ignore_missing=True)

    @contextmanager
    def writing(self, key: str) -> Iterator[None]:
        """Hold the right to write to a collection, before all other threads and processes."""
        with self.errors(), locked(self._locks / f"{key}.lock"):
            yield

    def note(self, key: str) -> Path:
        """Return the file that stands while a collection is being written to."""
        return self._locks / f"{key}.unfinished"

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what fails below into errors of semqa."""
        try:
            yield
        except SemqaError:
            raise
        except (OSError, RuntimeError, ValueError) as error:
            said = next(iter(str(error).splitlines()), type(error).__name__)
            said = _PLACE.sub("", said)
            raise UnavailableError(
                f"{self.where}: The collections cannot be read or written: {said[:300]}. Check the disk and the folder's permissions."
            ) from error


def literal(text: str) -> str:
    """Return a text as a literal of SQL.

    Example:
        >>> literal("it's")
        "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


_AT_ONCE = 500
"""Conditions in one removal."""


@contextmanager
def noted(note: Path, passages: Any, documents: Any) -> Iterator[None]:
    """Have a file stand beside the tables while they are being written to.

    Where it stands already, a write was cut off, and what it left is cleared away first. So nobody
    looks through all passages but after that. To be called by whoever may write.
    """
    if note.exists():
        clear_leftovers(passages, documents)
    note.touch()
    yield
    note.unlink(missing_ok=True)


def clear_leftovers(passages: Any, documents: Any) -> None:
    """Remove the passages that no document speaks for; until then no search shows them."""
    columns = passages.search().select(["document", "write"]).to_arrow()
    there = columns.group_by(["document", "write"]).aggregate([]).to_pylist()
    known = documents.search().select(["id", "write"]).to_list()
    live = {(row["id"], row["write"]) for row in known}
    pairs = [(row["document"], row["write"]) for row in there]
    clear(passages, [pair for pair in pairs if pair not in live])


def clear(passages: Any, pairs: Sequence[tuple[str, str]]) -> None:
    """Remove passages, by document and write."""
    for at in range(0, len(pairs), _AT_ONCE):
        some = pairs[at : at + _AT_ONCE]
        passages.delete(
            " OR ".join(
                f"(document = {literal(document)} AND write = {literal(write)})"
                for document, write in some
            )
        )
