"""The library: the collections of all owners."""

from __future__ import annotations

import re
import unicodedata
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from semqa.documents import Limits
from semqa.errors import ForbiddenError, InputError, NotFoundError
from semqa.quotes import Source
from semqa.retrieval.encoder import packaged_encoder
from semqa.retrieval.passages.collection import Collection
from semqa.retrieval.passages.search import DenseEncoder, Reranker
from semqa.retrieval.passages.store import CollectionInfo, Share, Store, access_of, literal

MAX_NAME_LENGTH = 100

_CATALOGUE = "collections"
_SHARES = "shares"

_DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded")


class Library:
    """Collections of documents by owner and name.

    All methods block. They may be called from several threads and processes at once. Each change is
    atomic and on the disk when the method returns.

    Methods of this class and of `Collection` raise NotFoundError for an unknown collection or
    document, ForbiddenError if a shared collection does not allow the action, and InputError for an
    invalid name or file.

    Args:
        where: a folder, created if missing, or a URL such as ``s3://bucket/folder``.
        encoder: whether to search vectors of the packaged encoder too, if the extra ``local`` is
            installed.
        limits: limits for documents.
        reranker: a cross-encoder that reranks the best passages, or None.
        read_ahead: called with new passages, so that an engine can prepare them for the first
            question.
    """

    def __init__(
        self,
        where: str | Path,
        *,
        encoder: bool = True,
        limits: Limits | None = None,
        reranker: str | None = None,
        read_ahead: Callable[[Sequence[Source]], object] | None = None,
    ) -> None:
        self.store = Store(where)
        self.read_ahead = read_ahead
        packaged = packaged_encoder() if encoder else None
        self.dense = DenseEncoder(packaged) if packaged is not None else None
        self.limits = limits or Limits()
        self.reranker = Reranker(reranker) if reranker else None

    @property
    def encoder(self) -> str | None:
        """The name of the encoder; None for full-text search only."""
        return self.dense.name if self.dense is not None else None

    def warm_up(self) -> None:
        """Open the database and load the models before the first upload or search."""
        self.store.warm_up()
        if self.dense is not None:
            self.dense.warm_up()
        if self.reranker is not None:
            self.reranker.scores("a first search", ["of a passage"])

    def collections(self, owner: str = "") -> list[CollectionInfo]:
        """Return an owner's collections, sorted by name."""
        with self.store.errors():
            rows = [*self._rows(f"owner = {literal(owner)}"), *self._shared(owner)]
        found = []
        for row in sorted(rows, key=lambda row: row["name"]):
            with suppress(NotFoundError):  # deleted in the meantime
                found.append(Collection(self, row).info())
        return found

    def names(self, owner: str = "") -> list[str]:
        """Return the names of an owner's collections without opening them."""
        with self.store.errors():
            rows = [*self._rows(f"owner = {literal(owner)}"), *self._shared(owner)]
            return sorted(row["name"] for row in rows)

    def create(self, owner: str, name: str) -> Collection:
        """Create an empty collection."""
        check_collection_name(name)
        with self.store.writing(_CATALOGUE):
            if self._find(owner, name) is not None:
                raise InputError(f"Collection {name!r} already exists.", value=name)
            return self._create(owner, name)

    def obtain(self, owner: str, name: str) -> Collection:
        """Return a collection, after creating it if it is missing."""
        check_collection_name(name)
        with self.store.writing(_CATALOGUE):
            row = self._find(owner, name)
            return self._create(owner, name) if row is None else Collection(self, row)

    def collection(self, owner: str, name: str) -> Collection:
        """Return a collection by name."""
        with self.store.errors():
            return Collection(self, self._row(owner, name))

    def share(self, owner: str, name: str, other: str, alias: str, *, write: bool = False) -> None:
        """Share a collection with another owner, or change an existing share.

        Args:
            other: the owner to share it with.
            alias: the collection's name for the other owner.
            write: whether the other owner may add and remove documents, too.
        """
        check_collection_name(alias)
        with self.store.writing(_CATALOGUE):
            key = self._own(owner, name)["key"]
            if other == owner:
                raise InputError(f"Collection {name!r} already belongs to them.", value=other)
            existing = self._find(other, alias)
            if existing is not None and existing["key"] != key:
                raise InputError(
                    f"Collection {alias!r} already exists.", hint="Choose another name."
                )
            self._shares.delete(f"owner = {literal(other)} AND key = {literal(key)}")
            access = "write" if write else "read"
            self._shares.add([{"owner": other, "name": alias, "key": key, "access": access}])

    def unshare(self, owner: str, name: str, other: str) -> None:
        """Stop sharing a collection with another owner."""
        with self.store.writing(_CATALOGUE):
            key = self._own(owner, name)["key"]
            condition = f"owner = {literal(other)} AND key = {literal(key)}"
            if not self._share_rows(condition):
                raise NotFoundError(
                    f"Collection {name!r} is not shared with {other!r}.", value=other
                )
            self._shares.delete(condition)

    def shares(self, owner: str, name: str) -> list[Share]:
        """Return the shares of a collection, sorted by owner."""
        with self.store.errors():
            rows = self._share_rows(f"key = {literal(self._own(owner, name)['key'])}")
        found = [Share(row["owner"], row["name"], access_of(row)) for row in rows]
        return sorted(found, key=lambda each: each.owner)

    def _row(self, owner: str, name: str) -> dict[str, str]:
        row = self._find(owner, name)
        if row is None:
            raise NotFoundError(f"{name[:80]!a} not found.", field="collection", value=name)
        return row

    def _own(self, owner: str, name: str) -> dict[str, str]:
        row = self._row(owner, name)
        if access_of(row) != "own":
            raise ForbiddenError(f"Collection {name!r} belongs to another owner.")
        return row

    def delete(self, owner: str, name: str) -> None:
        """Delete a collection and its documents, even if its tables are damaged."""
        with self.store.writing(_CATALOGUE):
            row = self._own(owner, name)
            try:
                self._catalogue.delete(f"key = {literal(row['key'])}")
            except (OSError, RuntimeError) as error:
                if not _DISK_FULL.search(str(error)):
                    raise
                # The disk is full: free space first, because this change needs some, too.
                self._drop([f"{kind}_{row['key']}" for kind in ("passages", "documents")])
                self._catalogue.delete(f"key = {literal(row['key'])}")
            # Also delete the tables that an interrupted `create` or `delete` left.
            kept = {each["key"] for each in self._rows("true")}
            own = (_CATALOGUE, _SHARES)
            tables = [table for table in self.store.names() if table not in own]
            if self._share_rows(f"key = {literal(row['key'])}"):
                self._shares.delete(f"key = {literal(row['key'])}")
        self._drop([table for table in tables if _key_of(table) not in kept])

    def _drop(self, tables: Sequence[str]) -> None:
        for table in tables:
            with self.store.writing(_key_of(table)):  # wait for writers
                self.store.drop(table)

    def _create(self, owner: str, name: str) -> Collection:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        row = {"owner": owner, "name": name, "key": uuid.uuid4().hex, "created": now}
        collection = Collection(self, row)
        collection.create_tables()
        self._catalogue.add([row])
        return collection

    @cached_property
    def _catalogue(self) -> Any:
        return self._table(_CATALOGUE, ("owner", "name", "key", "created"))

    @cached_property
    def _shares(self) -> Any:
        return self._table(_SHARES, ("owner", "name", "key", "access"))

    def _table(self, name: str, columns: Sequence[str]) -> Any:
        arrow = self.store.arrow
        schema = arrow.schema([arrow.field(column, arrow.string()) for column in columns])
        return self.store.create(name, schema)

    def _rows(self, condition: str) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self._catalogue.search().where(condition).to_list()
        return found

    def _find(self, owner: str, name: str) -> dict[str, str] | None:
        if not _storable(owner + name):
            return None
        condition = f"owner = {literal(owner)} AND name = {literal(name)}"
        rows = self._rows(condition) or self._shared(owner, name)
        return rows[0] if rows else None

    def _share_rows(self, condition: str) -> list[dict[str, str]]:
        # Reading does not create the table.
        if "_shares" not in self.__dict__ and _SHARES not in self.store.names():
            return []
        found: list[dict[str, str]] = self._shares.search().where(condition).to_list()
        return found

    def _shared(self, owner: str, name: str | None = None) -> list[dict[str, str]]:
        """Return the rows of collections shared with an owner, under the owner's names for them."""
        condition = f"owner = {literal(owner)}"
        if name is not None:
            condition += f" AND name = {literal(name)}"
        return [
            {**row, "name": share["name"], "access": share["access"]}
            for share in self._share_rows(condition)
            for row in self._rows(f"key = {literal(share['key'])}")  # empty if deleted
        ]

    def exists(self, key: str) -> bool:
        """Return whether the collection with this key still exists."""
        return bool(self._rows(f"key = {literal(key)}"))


def check_collection_name(name: str) -> str:
    """Return a collection's name, or raise if it is invalid."""
    invalid = any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in "/\\" for c in name)
    if (
        invalid
        or not name.strip()
        or name != name.strip()
        or len(name) > MAX_NAME_LENGTH
        or name[0] == "."
    ):
        raise InputError(
            f"A collection's name must have 1 to {MAX_NAME_LENGTH} characters, without slashes, control characters, outer spaces or a leading dot; got {name[:80]!a}.",
            value=name,
        )
    return name


def _key_of(table: str) -> str:
    return table.rpartition("_")[2]


def _storable(text: str) -> bool:
    """Return whether a text has no lone surrogates, which tables do not accept."""
    return not any("\ud800" <= c <= "\udfff" for c in text)
