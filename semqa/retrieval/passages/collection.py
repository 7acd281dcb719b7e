"""A collection: documents and their passages, kept in two tables.

A document is there when its row is in the table of documents; that row names the write that brought
its passages, and passages of other writes do not count. So a write is one commit, whatever dies in
the middle, and what it left behind is cleared away by the next.
"""

from __future__ import annotations

import hashlib
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from semqa.documents import Document, Limits, extract, split
from semqa.documents.document import check_name
from semqa.errors import ForbiddenError, NotFoundError, UnavailableError
from semqa.quotes import Source
from semqa.retrieval.passages.search import Live, Search, keep_indexed, make_indexes
from semqa.retrieval.passages.store import (
    CollectionInfo,
    DocumentInfo,
    clear,
    documents_schema,
    literal,
    noted,
    passages_schema,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from semqa.documents import Passage
    from semqa.retrieval.passages.search import Dense, Reranker
    from semqa.retrieval.passages.store import Access, Found, Store

RECIPE = "4"
"""Changes when documents are read or cut differently: then all of them are done again."""

MOST_READ_AHEAD = 500
"""Passages of an indexing that are read ahead: a minute of work, where a question waits a second."""

_INFO = tuple(field.name for field in fields(DocumentInfo))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that was read and is not yet there.

    Attributes:
        origin: the folder that it was found in, if any.
    """

    info: DocumentInfo
    document: Document
    passages: Sequence[Passage]
    origin: str = ""
    stamp: str = ""


class Collection:
    """Documents to search; made by `Library`."""

    def __init__(
        self,
        store: Store,
        name: str,
        key: str,
        created: str,
        dense: Dense | None,
        limits: Limits | None,
        reranker: Reranker | None,
        listed: Callable[[], bool],
        read_ahead: Callable[[Sequence[Source]], object] | None,
        access: Access = "own",
    ) -> None:
        self.name = name
        self.access = access
        self._store = store
        self._key = key
        self._created = created
        self._dense = dense
        self._reranker = reranker
        self._listed = listed
        self._read_ahead = read_ahead
        self._ahead = 0
        self.limits = limits or Limits()

    def put(self, name: str, data: bytes) -> DocumentInfo:
        """Put a file there; the same again does nothing, other content takes the old one's place."""
        return self.put_all([(name, data)])[0]

    def put_all(self, files: Sequence[tuple[str, bytes]]) -> list[DocumentInfo]:
        """Put files there as `put` does, all or none of them."""
        self._check_writable()
        infos: dict[str, DocumentInfo] = {}
        new: list[Prepared] = []
        for name, data in dict(files).items():  # of one name, the last counts
            there = self.same(name, data)
            if there is None:
                new.append(self.prepare(name, data))
            infos[name] = there or new[-1].info
        self.commit(new)
        return list(infos.values())

    def same(self, name: str, data: bytes) -> DocumentInfo | None:
        """Return the document of that name if it was made of these bytes, as it would be today."""
        check_name(name)
        digest = hashlib.sha256(data).hexdigest()
        rows = self._read((*_INFO, "recipe"), f"name = {literal(name)}")
        for row in rows:
            if row["sha256"] == digest and row["recipe"] == self.recipe:
                return _info(row)
        return None

    def prepare(self, name: str, data: bytes, *, origin: str = "", stamp: str = "") -> Prepared:
        """Read a file and cut it into passages, without putting it there."""
        document = extract(name, data, self.limits)
        passages = split(document)
        digest = hashlib.sha256(data).hexdigest()
        identity = hashlib.sha256(f"{RECIPE}\0{name}\0{digest}".encode()).hexdigest()
        info = DocumentInfo(
            id=identity[:24],
            name=name,
            kind=document.kind,
            title=document.title,
            characters=len(document.text),
            passages=len(passages),
            sha256=digest,
            added=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        return Prepared(info, document, passages, origin, stamp)

    def commit(self, prepared: Sequence[Prepared], *, more: bool = False) -> None:
        """Put documents there, all or none of them; the last one of a name counts.

        Args:
            more: whether others follow at once, and then `optimize`: until then searches find all
                of them, but slowly.
        """
        self._check_writable()
        by_name = {each.info.name: each for each in prepared}
        if not by_name:
            return
        write = uuid.uuid4().hex
        columns = self._passage_columns(list(by_name.values()), write)
        with self._changing():
            passages, documents = self._passages, self._documents
            names = ", ".join(map(literal, by_name))
            old = self._select(("id", "write"), f"name IN ({names})")
            if self._dense is not None:
                self._need_vectors(passages)
            if columns["write"]:
                count = len(columns["write"])
                nothing = self._store.arrow.nulls
                table = self._store.arrow.table(
                    [
                        columns.get(field.name, nothing(count, field.type))
                        for field in passages.schema
                    ],
                    schema=passages.schema,
                )
                passages.add(table)
            table = self._store.arrow.Table.from_pylist(
                [self._document_row(each, write) for each in by_name.values()],
                schema=documents.schema,
            )
            merge = documents.merge_insert("name")
            merge.when_matched_update_all().when_not_matched_insert_all().execute(table)
            clear(passages, [(row["id"], row["write"]) for row in old])
        if not more:
            with self._writing():
                keep_indexed(passages, documents)
        if self._read_ahead is not None and self._ahead < MOST_READ_AHEAD:
            new = [source for each in by_name.values() for source in _sources(each)]
            self._read_ahead(new[: MOST_READ_AHEAD - self._ahead])
            self._ahead += len(new)

    def documents(self) -> list[DocumentInfo]:
        """Return what is there, by name."""
        rows = self._read(_INFO)
        return sorted((_info(row) for row in rows), key=lambda info: info.name)

    def stamps(self) -> list[Mapping[str, str]]:
        """Return name, sha256, origin, stamp and recipe of all documents."""
        return self._read(("id", "name", "sha256", "origin", "stamp", "recipe"))

    def stamp(self, stamps: Mapping[str, str]) -> None:
        """Note what tells that files are as they were, by the ids of their documents."""
        if not stamps:
            return
        with self._writing():
            columns = {"id": list(stamps), "stamp": list(stamps.values())}
            merge = self._documents.merge_insert("id").when_matched_update_all()
            merge.execute(self._store.arrow.table(columns))

    def find(self, document_id: str) -> DocumentInfo:
        """Return what is known of a document."""
        return _info(self._row(document_id, _INFO))

    def document(self, document_id: str) -> Document:
        """Return a document's text."""
        row = self._row(document_id, ("name", "kind", "title", "text", "pages"))
        return Document(row["name"], row["kind"], row["title"], row["text"], tuple(row["pages"]))

    def remove(self, document_id: str) -> None:
        """Remove a document."""
        self._row(document_id, ("id",))
        self.remove_all([document_id])

    def remove_all(self, document_ids: Sequence[str]) -> None:
        """Remove documents, all or none of them; those that are not there do not matter."""
        if not document_ids:
            return
        self._check_writable()
        listed = ", ".join(literal(each) for each in document_ids)
        with self._changing():
            old = self._select(("id", "write"), f"id IN ({listed})")
            self._documents.delete(f"id IN ({listed})")
            clear(self._passages, [(row["id"], row["write"]) for row in old])

    def _check_writable(self) -> None:
        """Raise if this is shared to be read only."""
        if self.access == "read":
            raise ForbiddenError(f"Collection {self.name!r} is shared with you to be read only.")

    def search(self, query: str, limit: int = 8) -> list[Found]:
        """Return the passages that speak to a question best, best first."""
        with self._reading():
            search = Search(self._passages, self._live, self.name, self._dense, self._reranker)
            return search.best(query, limit)

    def info(self) -> CollectionInfo:
        """Return how much is there."""
        rows = self._read(("passages",))
        passages = sum(row["passages"] for row in rows)
        return CollectionInfo(self.name, len(rows), passages, self._created, self.access)

    def optimize(self) -> None:
        """Bring all passages into the indexes, as is done now and then by itself."""
        with self._changing():
            pass  # what was cut off goes first
        with self._writing():
            keep_indexed(self._passages, self._documents, now=True)

    @property
    def recipe(self) -> str:
        """What documents are made with: of others, the same file is not the same document."""
        return f"{RECIPE}/{self._dense.column if self._dense is not None else ''}"

    def make_tables(self) -> None:
        """Make the tables of a new collection."""
        arrow = self._store.arrow
        self._store.create(f"documents_{self._key}", documents_schema(arrow))
        make_indexes(self._store.create(f"passages_{self._key}", passages_schema(arrow)))

    @cached_property
    def _passages(self) -> Any:
        return self._open("passages")

    @cached_property
    def _documents(self) -> Any:
        return self._open("documents")

    @cached_property
    def _live(self) -> Live:
        return self._store.kept(f"live_{self._key}", lambda: Live(self._documents))

    def _open(self, kind: str) -> Any:
        name = f"{kind}_{self._key}"
        return self._store.kept(name, lambda: self._store.open(name))

    def _gone(self) -> NotFoundError:
        return NotFoundError(f"The collection {self.name!a} was deleted.")

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            with self._store.errors():
                yield
        except UnavailableError as error:
            with self._store.errors():
                # Its tables go after it was struck off, one by one.
                if not self._listed():
                    raise self._gone() from error
            raise UnavailableError(f"Collection {self.name!a}: {error}") from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._reading(), self._store.writing(self._key):
            yield

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._writing():
            if not self._listed():  # who removes it waits for the lock
                raise self._gone()
            note = self._store.note(self._key)
            with noted(note, self._passages, self._documents):
                yield

    def _read(self, columns: Sequence[str], condition: str | None = None) -> list[Any]:
        with self._reading():
            return self._select(columns, condition)

    def _select(self, columns: Sequence[str], condition: str | None = None) -> list[Any]:
        query = self._documents.search().select(list(columns))
        found: list[Any] = (query.where(condition) if condition else query).to_list()
        return found

    def _row(self, document_id: str, columns: Sequence[str]) -> Any:
        rows = self._read(columns, f"id = {literal(document_id)}")
        if not rows:
            raise NotFoundError(f"No document {document_id[:80]!a} in the collection {self.name}.")
        return rows[0]

    def _document_row(self, each: Prepared, write: str) -> dict[str, object]:
        info = {name: getattr(each.info, name) for name in _INFO}
        return {
            **info,
            "origin": each.origin,
            "stamp": each.stamp,
            "recipe": self.recipe,
            "write": write,
            "pages": list(each.document.pages),
            "text": each.document.text,
        }

    def _passage_columns(self, prepared: Sequence[Prepared], write: str) -> dict[str, Any]:
        """Return the columns of all passages; each is searched with its title and context."""
        found = [(each, passage) for each in prepared for passage in each.passages]
        searched = [
            "\n".join(
                (each.info.title, *passage.context, each.document.text[passage.start : passage.end])
            )
            for each, passage in found
        ]
        columns: dict[str, Any] = {
            "write": [write] * len(found),
            "document": [each.info.id for each, _ in found],
            "start": [passage.start for _, passage in found],
            "end": [passage.end for _, passage in found],
            "page": [passage.page for _, passage in found],
            "searched": searched,
        }
        if self._dense is not None and found:
            vectors = self._dense.embed(searched)
            flat = self._store.arrow.array(vectors.ravel())
            lists = self._store.arrow.FixedSizeListArray
            columns[self._dense.column] = lists.from_arrays(flat, vectors.shape[1])
        return columns

    def _need_vectors(self, passages: Any) -> None:
        """Add the column for the encoder's vectors where the collection was made without it."""
        if self._dense is None or self._dense.column in passages.schema.names:
            return
        arrow = self._store.arrow
        vector = arrow.list_(arrow.float32(), self._dense.width)
        passages.add_columns(arrow.schema([arrow.field(self._dense.column, vector)]))


def _sources(prepared: Prepared) -> Iterator[Source]:
    """Yield the passages of a document as a search returns them."""
    for passage in prepared.passages:
        text = prepared.document.text[passage.start : passage.end]
        yield Source(text, prepared.info.title, context="\n".join(passage.context))


def _info(row: Mapping[str, Any]) -> DocumentInfo:
    return DocumentInfo(**{name: row[name] for name in _INFO})
