"""LanceDB tables of collections, in a folder or an object store; recovery from interrupted writes."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeVar
from urllib.parse import quote

from semqa.data.files import cache_folder, locked
from semqa.errors import SemqaError, UnavailableError
from semqa.extras import require
from semqa.quotes import Source


def documents_schema(arrow: Any) -> Any:
    """Return the schema of the documents table.

    `origin`, `stamp` and `recipe` tell whether a document is up to date. `write` is the write that
    added its passages.
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
    """Return the schema of the passages table. The vector column is added when it is needed.

    `searched` is the document's title, the lines of the passage's context, and the passage, joined
    by line breaks.
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
"""An owner's access to a collection: ``own``, or for a shared one ``read`` or ``write``."""


def access_of(row: Mapping[str, str]) -> Access:
    """Return the access of an owner to the collection in a row of the catalogue or of a share."""
    access = row.get("access", "own")
    return "own" if access == "own" else "write" if access == "write" else "read"


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A collection: its number of documents and passages, and its time of creation (ISO 8601, UTC)."""

    name: str
    documents: int
    passages: int
    created: str
    access: Access = "own"


@dataclass(frozen=True, slots=True)
class Share:
    """The owner that a collection is shared with, and its name and access for that owner."""

    owner: str
    name: str
    access: Access


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """Information about a document in a collection.

    Attributes:
        id: depends on the name and the content.
        name: the file's name, unique in a collection.
        characters: length of the text in code points.
        added: time in ISO 8601, UTC.
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
    """A passage found by a search.

    Attributes:
        start: offset of the passage in the document's text, in code points.
        end: offset of its end, exclusive.
        page: the page of a PDF on which it begins, from 1; None for other documents.
        score: relevance, higher is better. Scores of different searches are not comparable.
    """

    source: Source
    document_id: str
    name: str
    start: int
    end: int
    page: int | None
    score: float


def passage_url(collection: str, document_id: str, start: int, end: int) -> str:
    """Return the URL of a passage.

    Example:
        >>> passage_url("my notes", "a1", 0, 9)
        'semqa://my%20notes/a1#char=0,9'
    """
    return f"semqa://{quote(collection, safe='')}/{document_id}#char={start},{end}"


_T = TypeVar("_T")

MAX_CACHED = 256
"""Maximum number of open tables and caches kept in memory."""

_PURPOSE = "a collection of documents"

_RUST_LOCATION = re.compile(r",? ?/\S+\.rs:\d+:\d+.*")
"""Matches the location in Lance's source code in an error message."""


_IMPORT = threading.Lock()


def _lancedb() -> Any:
    """Import LanceDB, without the HTTP clients that it imports and does not use.

    These take about 1 of 3.3 s. LanceDB needs only the models of their package, so its modules are
    imported without its ``__init__``, which other imports of the package still get afterwards.
    """
    clients = "lance_namespace_urllib3_client"
    with _IMPORT:
        found = None if "lancedb" in sys.modules or clients in sys.modules else find_spec(clients)
        if found is not None:
            package: Any = ModuleType(clients)
            package.__path__ = found.submodule_search_locations
            sys.modules[clients] = package
            # If another release needs more of the package, LanceDB is imported again below.
            with suppress(ImportError):
                import_module("lancedb")
            sys.modules.pop(clients, None)
        return require("lancedb", extra="documents", purpose=_PURPOSE)


class Store:
    """A database of tables.

    Args:
        where: a folder, or a URL such as ``s3://bucket/folder``. Any number of processes may read
            and write a folder; only the processes of one machine may write to a URL.
    """

    def __init__(self, where: str | Path) -> None:
        self.where = str(where)
        remote = "://" in self.where
        folder = Path(self.where).expanduser().resolve()
        digest = hashlib.sha256(self.where.encode("utf-8", "surrogateescape")).hexdigest()
        self._cache: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._locks = cache_folder() / "locks" / digest[:16] if remote else folder / "locks"
        self._address = self.where if remote else str(folder)
        # By default Lance logs to standard error.
        os.environ.setdefault("LANCE_LOG", "error")
        for package in ("lancedb", "pyarrow"):
            if find_spec(package) is None:
                require(package, extra="documents", purpose=_PURPOSE)
        with self.errors():
            self._locks.mkdir(parents=True, exist_ok=True)

    @cached_property
    def arrow(self) -> Any:
        """The module `pyarrow`."""
        return require("pyarrow", extra="documents", purpose=_PURPOSE)

    @cached_property
    def _tables(self) -> Any:
        """The connection, opened on first use because the import of LanceDB takes a second."""
        lance = _lancedb()
        with self.errors():
            return lance.connect(self._address, read_consistency_interval=timedelta(0))

    def warm_up(self) -> None:
        """Open the connection before the first use."""
        _ = self._tables

    def names(self) -> list[str]:
        """Return the names of all tables."""
        page = self._tables.list_tables(limit=1000)
        found: list[str] = [*page.tables]
        while page.page_token and page.tables:
            page = self._tables.list_tables(page_token=page.page_token, limit=1000)
            found += page.tables
        return found

    def create(self, name: str, schema: Any) -> Any:
        """Create an empty table, or open it if it exists."""
        return self._tables.create_table(name, schema=schema, exist_ok=True)

    def open(self, name: str) -> Any:
        """Open a table. Reads always see its latest version."""
        return self._tables.open_table(name)

    def cached(self, name: str, make: Callable[[], _T]) -> _T:
        """Return an object from an LRU cache, or make it and add it.

        Opening a table takes as long as a search, so open tables are cached.
        """
        with self._lock:
            found: _T | None = self._cache.get(name)
        if found is None:
            found = make()
        with self._lock:
            self._cache.pop(name, None)
            self._cache[name] = found  # most recently used last
            while len(self._cache) > MAX_CACHED:
                del self._cache[next(iter(self._cache))]
        return found

    def drop(self, name: str) -> None:
        """Delete a table if it exists."""
        self._tables.drop_table(name, ignore_missing=True)

    @contextmanager
    def writing(self, key: str) -> Iterator[None]:
        """Hold the write lock of a collection, against other threads and processes."""
        with self.errors(), locked(self._locks / f"{key}.lock"):
            yield

    def marker(self, key: str) -> Path:
        """Return the path of the file that exists while a collection is being written to."""
        return self._locks / f"{key}.unfinished"

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Convert errors of LanceDB and the disk into UnavailableError."""
        try:
            yield
        except SemqaError:
            raise
        except (OSError, RuntimeError, ValueError) as error:
            message = next(iter(str(error).splitlines()), type(error).__name__)
            message = _RUST_LOCATION.sub("", message)
            raise UnavailableError(
                f"{self.where}: The collections cannot be read or written: {message[:300]}. Check the disk and the folder's permissions."
            ) from error


def literal(text: str) -> str:
    """Return a text as an SQL string literal.

    Example:
        >>> literal("it's")
        "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


_CONDITIONS = 500
"""Maximum number of conditions per deletion."""


@contextmanager
def recovering(marker: Path, passages: Any, documents: Any) -> Iterator[None]:
    """Create a marker file for the time of a write, after cleaning up an interrupted write.

    If the marker exists already, a write was interrupted, and the passages that it left are
    deleted. The caller must hold the write lock.
    """
    if marker.exists():
        columns = passages.search().select(["document", "write"]).to_arrow()
        rows = columns.group_by(["document", "write"]).aggregate([]).to_pylist()
        known = documents.search().select(["id", "write"]).to_list()
        live = {(row["id"], row["write"]) for row in known}
        pairs = [(row["document"], row["write"]) for row in rows]
        delete_passages(passages, [pair for pair in pairs if pair not in live])
    marker.touch()
    yield
    marker.unlink(missing_ok=True)


def delete_passages(passages: Any, pairs: Sequence[tuple[str, str]]) -> None:
    """Delete passages by document and write."""
    for at in range(0, len(pairs), _CONDITIONS):
        some = pairs[at : at + _CONDITIONS]
        passages.delete(
            " OR ".join(
                f"(document = {literal(document)} AND write = {literal(write)})"
                for document, write in some
            )
        )
