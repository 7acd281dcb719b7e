"""A library: the collections of all owners, in one place."""

from __future__ import annotations

import re
import unicodedata
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from semqa.errors import ForbiddenError, InputError, NotFoundError
from semqa.retrieval.passages.collection import Collection
from semqa.retrieval.passages.search import Dense, Reranker
from semqa.retrieval.passages.store import Share, Store, literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from semqa.documents import Limits
    from semqa.quotes import Source
    from semqa.retrieval.passages.store import Access, CollectionInfo

LONGEST_NAME = 100

_CATALOGUE = "collections"
_SHARES = "shares"

_FULL = re.compile(r"No space left on device|Disk quota exceeded")


class Library:
    """Collections of documents by owner and name.

    All of it blocks, and is safe from several threads and processes. What a call has returned from
    is on the disk; what was cut off is there whole or not at all.

    What an owner does not have raises a NotFoundError, what another shares and does not let them do a
    ForbiddenError, a name or a file that is not usable an InputError. The same goes for a `Collection`.

    Args:
        where: a folder, made where it is missing, or an address such as ``s3://bucket/folder``.
        encoder: the model that passages are compared with questions by, beside their words; None
            for words alone. ``auto`` is the packaged one where the extra ``local`` is installed, and
            None where it is not.
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
        """Load the models, so that the first upload or search need not wait for them."""
        if self._dense is not None:
            self._dense.warm()
        if self._reranker is not None:
            self._reranker.scores("a first search", ["of a passage"])

    def collections(self, owner: str = "") -> list[CollectionInfo]:
        """Return an owner's collections, by name."""
        with self._store.errors():
            rows = [*self._rows(f"owner = {literal(owner)}"), *self._shared(owner)]
        found = []
        for row in sorted(rows, key=lambda row: row["name"]):
            with suppress(NotFoundError):  # removed meanwhile
                found.append(self._collection(row).info())
        return found

    def names(self, owner: str = "") -> list[str]:
        """Return the names of an owner's collections, without looking into them."""
        with self._store.errors():
            rows = [*self._rows(f"owner = {literal(owner)}"), *self._shared(owner)]
            return sorted(row["name"] for row in rows)

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
        """Return a collection, made where it is missing."""
        check_collection_name(name)
        with self._store.writing(_CATALOGUE):
            row = self._find(owner, name)
            return self._create(owner, name) if row is None else self._collection(row)

    def collection(self, owner: str, name: str) -> Collection:
        """Return one of an owner's collections."""
        with self._store.errors():
            row = self._find(owner, name)
        if row is None:
            raise _not_found(name)
        return self._collection(row)

    def share(self, owner: str, name: str, other: str, alias: str, *, write: bool = False) -> None:
        """Let another read a collection, and put and remove documents if they may write.

        Shared again with the same one, it has the new name and access.

        Args:
            write: whether they may change its documents. They cannot delete the collection.

        Raises:
            InputError: the other has a collection of that name, the name is not usable, or the other
                is the owner.
        """
        check_collection_name(alias)
        with self._store.writing(_CATALOGUE):
            key = self._own(owner, name)["key"]
            if other == owner:
                raise InputError(f"{name!r} is theirs already.", value=other)
            there = self._find(other, alias)
            if there is not None and there["key"] != key:
                raise InputError(
                    f"There is a collection {alias!r} already.", hint="Choose another name."
                )
            self._shares.delete(f"owner = {literal(other)} AND key = {literal(key)}")
            access = "write" if write else "read"
            self._shares.add([{"owner": other, "name": alias, "key": key, "access": access}])

    def unshare(self, owner: str, name: str, other: str) -> None:
        """Share a collection with another no longer."""
        with self._store.writing(_CATALOGUE):
            key = self._own(owner, name)["key"]
            condition = f"owner = {literal(other)} AND key = {literal(key)}"
            if not self._share_rows(condition):
                raise NotFoundError(f"{name!r} is not shared with {other!r}.", value=other)
            self._shares.delete(condition)

    def shares(self, owner: str, name: str) -> list[Share]:
        """Return with whom a collection is shared."""
        with self._store.errors():
            rows = self._share_rows(f"key = {literal(self._own(owner, name)['key'])}")
        found = [Share(row["owner"], row["name"], _access(row)) for row in rows]
        return sorted(found, key=lambda each: each.owner)

    def _own(self, owner: str, name: str) -> dict[str, str]:
        row = self._find(owner, name)
        if row is None:
            raise _not_found(name)
        if _access(row) != "own":
            raise ForbiddenError(f"Collection {name!r} belongs to another.")
        return row

    def delete(self, owner: str, name: str) -> None:
        """Remove a collection with its documents, also one whose tables are damaged."""
        with self._store.writing(_CATALOGUE):
            row = self._own(owner, name)
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
            own = (_CATALOGUE, _SHARES)
            tables = [table for table in self._store.names() if table not in own]
            if self._share_rows(f"key = {literal(row['key'])}"):
                self._shares.delete(f"key = {literal(row['key'])}")
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
        return self._table(_CATALOGUE, ("owner", "name", "key", "created"))

    @cached_property
    def _shares(self) -> Any:
        return self._table(_SHARES, ("owner", "name", "key", "access"))

    def _table(self, name: str, columns: Sequence[str]) -> Any:
        arrow = self._store.arrow
        schema = arrow.schema([arrow.field(column, arrow.string()) for column in columns])
        return self._store.create(name, schema)

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
        # Whoever only reads makes no table.
        if "_shares" not in self.__dict__ and _SHARES not in self._store.names():
            return []
        found: list[dict[str, str]] = self._shares.search().where(condition).to_list()
        return found

    def _shared(self, owner: str, name: str | None = None) -> list[dict[str, str]]:
        """Return the rows of collections that others share with an owner, by the names there."""
        condition = f"owner = {literal(owner)}"
        if name is not None:
            condition += f" AND name = {literal(name)}"
        return [
            {**row, "name": share["name"], "access": share["access"]}
            for share in self._share_rows(condition)
            for row in self._rows(f"key = {literal(share['key'])}")  # none if it was removed
        ]

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
            _access(row),
        )


def check_collection_name(name: str) -> str:
    """Return the name of a collection if it is one line that can stand in an address."""
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


def _access(row: dict[str, str]) -> Access:
    given = row.get("access", "own")
    return "own" if given == "own" else "write" if given == "write" else "read"


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
