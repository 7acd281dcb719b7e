"""The tables that collections are kept in: LanceDB, in a folder or an object store."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from semqa.data.fetch import cache_folder
from semqa.data.files import locked
from semqa.errors import SemqaError, UnavailableError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Store", "literal"]

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
                f"{self.where}: the collections there failed: got {said[:300]!r}, expected a disk "
                "with room and tables that are whole; see that the folder can be written"
            ) from error


def literal(text: str) -> str:
    """Return a text as a literal of SQL.

    Example:
        >>> literal("it's")
        "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"
