"""A library: the collections of all owners, in one place."""

from __future__ import annotations

import re
import unicodedata
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from semqa.errors import InputError, NotFoundError
from semqa.retrieval.passages.collection import Collection
from semqa.retrieval.passages.search import Dense, Reranker
from semqa.retrieval.passages.store import Store, literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from semqa.documents import Limits
    from semqa.quotes import Source
    from semqa.retrieval.passages.store import CollectionInfo

__all__ = ["Library"]

LONGEST_NAME = 100

_CATALOGUE = "collections"

_FULL = re.compile(r"No space left on device|Disk quota exceeded")


class Library:
    """Collections of documents by owner and name.

    All of it blocks, and is safe from several threads and processes. What a call has returned from
    is on the disk; what was cut off is there whole or not at all.

    Args:
        where: a folder, made where it is missing, or an address such as ``s3://bucket/folder``.
        encoder: the model that passages are compared with questions by, beside their words; None
            for words alone. ``auto`` is the packaged one where the extra ``local`` is installed, and
            None where it is not.
        limits: how much of a document is read.
        reranker: a cross-encoder that reads the best passages again, with the question; None for
            none.
        read_ahead: called with passages that were put there, so that an engine may do beforehand
            what the first question would wait for.

    Raises:
        InputError: there is no such encoder or reranker.
        UnavailableError: the place cannot be used, or packages are missing.
    """

    def __init__(
        self,
        where: str | Path,
        *,
        encoder: str | None = "auto",
        limits: Limits | None = None,
        reranker: str | None = None,
        read_ahead: Callable[[Sequence[Source]], object] | None = None,
    ) -> None:
        self._store = Store(where)
        self._read_ahead = read_ahead
        self._dense = Dense.named(encoder)
        self._limits = limits
        self._reranker = Reranker(reranker) if reranker else None

    @property
    def encoder(self) -> str | None:
        """The name of the encoder; None where passages are found by their words alone."""
        return self._dense.name if self._dense is not None else None

    def warm(self) -> None:
        """Load the models, so that the first upload or search need not wait for them.

        Raises:
            InputError: the model is not usable.
            UnavailableError: it cannot be had, or packages are missing.
        """
        if self._dense is not None:
            self._dense.warm()
        if self._reranker is not None:
            self._reranker.scores("a first search", ["of a passage"])

    def collections(self, owner: str = "") -> list[CollectionInfo]:
        """Return an owner's collections, by name."""
        with self._store.errors():
            rows = self._rows(f"owner = {literal(owner)}")
        found = []
        for row in sorted(rows, key=lambda row: row["name"]):
            with suppress(NotFoundError):  # removed meanwhile
                found.append(self._collection(row).info())
        return found

    def names(self, owner: str = "") -> list[str]:
        """Return the names of an owner's collections, without looking into them."""
        with self._store.errors():
            return sorted(row["name"] for row in self._rows(f"owner = {literal(owner)}"))

    def create(self, owner: str, name: str) -> Collection:
        """Make an empty collection.

        Raises:
            InputError: the owner has one of that name, or the name is not usable.
        """
        check_collection_name(name)
        with self._store.writing(_CATALOGUE):
            if self._find(owner, name) is not None:
                raise InputError(f"Collection {name!r} already exists.", value=name)
            return self._create(owner, name)

    def obtain(self, owner: str, name: str) -> Collection:
        """Return a collection, made where it is missing.

        Raises:
            InputError: the name is not usable.
        """
        check_collection_name(name)
        with self._store.writing(_CATALOGUE):
            row = self._find(owner, name)
            return self._create(owner, name) if row is None else self._collection(row)

    def collection(self, owner: str, name: str) -> Collection:
        """Return one of an owner's collections.

        Raises:
            NotFoundError: the owner has none of that name.
        """
        with self._store.errors():
            row = self._find(owner, name)
        if row is None:
            raise _not_found(name)
        return self._collection(row)

    def delete(self, owner: str, name: str) -> None:
        """Remove a collection with its documents, also one whose tables are damaged.

        Raises:
            NotFoundError: the owner has none of that name.
        """
        with self._store.writing(_CATALOGUE):
            row = self._find(owner, name)
            if row is None:
                raise _not_found(name)
            try:
                self._catalogue.delete(f"key = {literal(row['key'])}")
            except (OSError, RuntimeError) as error:
                if not _FULL.search(str(error)):
                    raise
                # To strike it off takes room as well, and who removes it may want to make some.
                self._drop([f"{kind}_{row['key']}" for kind in ("passages", "documents")])
                self._catalogue.delete(f"key = {literal(row['key'])}")
            # What a kill leaves of them here, or before in `create`, goes with the next removal.
            kept = {each["key"] for each in self._rows("true")}
            tables = [table for table in self._store.names() if table != _CATALOGUE]
        self._drop([table for table in tables if _key_of(table) not in kept])

    def _drop(self, tables: Sequence[str]) -> None:
        for table in tables:
            with self._store.writing(_key_of(table)):  # who is writing to it ends first
                self._store.drop(table)

    def _create(self, owner: str, name: str) -> Collection:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        row = {"owner": owner, "name": name, "key": uuid.uuid4().hex, "created": now}
        collection = self._collection(row)
        collection.make_tables()
        self._catalogue.add([row])
        return collection

    @cached_property
    def _catalogue(self) -> Any:
        arrow = self._store.arrow
        columns = ("owner", "name", "key", "created")
        schema = arrow.schema([arrow.field(column, arrow.string()) for column in columns])
        return self._store.create(_CATALOGUE, schema)

    def _rows(self, condition: str) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self._catalogue.search().where(condition).to_list()
        return found

    def _find(self, owner: str, name: str) -> dict[str, str] | None:
        if not _storable(owner + name):
            return None
        rows = self._rows(f"owner = {literal(owner)} AND name = {literal(name)}")
        return rows[0] if rows else None

    def _collection(self, row: dict[str, str]) -> Collection:
        return Collection(
            self._store,
            row["name"],
            row["key"],
            row["created"],
            self._dense,
            self._limits,
            self._reranker,
            lambda: bool(self._rows(f"key = {literal(row['key'])}")),
            self._read_ahead,
        )


def check_collection_name(name: str) -> str:
    """Return the name of a collection if it is one line that can stand in an address.

    Raises:
        InputError: it cannot.
    """
    bad = any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in "/\\" for c in name)
    if (
        bad
        or not name.strip()
        or name != name.strip()
        or len(name) > LONGEST_NAME
        or name[0] == "."
    ):
        raise InputError(
            f"A collection's name has 1 to {LONGEST_NAME} characters, no slashes or control characters, and no dot in front; got {name[:80]!a}.",
            value=name,
        )
    return name


def _key_of(table: str) -> str:
    return table.rpartition("_")[2]


def _storable(text: str) -> bool:
    """Whether a text has no halves of surrogate pairs, which no table takes."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


def _not_found(name: str) -> NotFoundError:
    return NotFoundError(
        f"Collection {name[:80]!a} not found.",
        hint="See semqa collections list, or make one with semqa index DIR.",
    )
