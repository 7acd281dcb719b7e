"""The documents of a collection that are there now, as a search needs to know them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Live"]

MOST = 100_000
"""Documents that are remembered."""

ALL = 20_000
"""Documents up to which all are read at once: one look takes as long as another."""

_COLUMNS = ("id", "write", "name", "title")


class Live:
    """Rows of a table of documents by id; remembered until the table changes, whoever changes it.

    Safe from several threads.
    """

    def __init__(self, documents: Any) -> None:
        self._documents = documents
        self._lock = threading.Lock()
        self._version = -1
        self._rows: dict[str, Mapping[str, str] | None] = {}

    def find(self, ids: Iterable[str]) -> dict[str, Mapping[str, str]]:
        """Return id, write, name and title of those documents that are there, by id."""
        wanted = set(ids)
        version = self._documents.version
        with self._lock:
            if version != self._version or len(self._rows) > MOST:
                self._version, self._rows = version, {}
            rows = self._rows
        unknown = sorted(wanted - rows.keys())
        if unknown:
            found = self._documents.search().select(list(_COLUMNS))
            if self._documents.count_rows() > ALL:
                listed = ", ".join(f"'{each}'" for each in unknown)
                found = found.where(f"id IN ({listed})")
            read: dict[str, Mapping[str, str] | None] = dict.fromkeys(unknown)
            read |= {row["id"]: row for row in found.to_list()}
            # What was read just after a change goes to the rows of before, and with them.
            if self._documents.version == version:
                rows.update(read)
            return {
                each: row
                for each in wanted
                if (row := read.get(each) or rows.get(each)) is not None
            }
        return {each: row for each in wanted if (row := rows[each]) is not None}
