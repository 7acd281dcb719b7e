"""A collection: documents and their passages, in two tables.

Each row of the documents table names the write that added the document's passages; searches ignore
passages of other writes. So adding documents is atomic. The next write deletes the passages that an
interrupted one left.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from semqa.documents import Document, Passage, extract, split
from semqa.documents.document import check_name
from semqa.errors import ForbiddenError, NotFoundError, UnavailableError
from semqa.quotes import Source
from semqa.retrieval import DEFAULT_PASSAGES
from semqa.retrieval.passages.search import (
    DocumentRows,
    Search,
    create_indexes,
    update_indexes,
)
from semqa.retrieval.passages.store import (
    CollectionInfo,
    DocumentInfo,
    Found,
    access_of,
    delete_passages,
    documents_schema,
    literal,
    passages_schema,
    recovering,
)

if TYPE_CHECKING:
    from semqa.retrieval.passages.library import Library

RECIPE = "10"
"""Version of parsing and splitting. Documents of another version are read again."""

MAX_READ_AHEAD = 500
"""Maximum number of passages to read ahead while indexing: about a minute of work."""

_INFO = tuple(field.name for field in fields(DocumentInfo))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that was read but not yet added.

    Attributes:
        origin: the folder that contains it, or empty.
        stamp: changes when the file does; empty if unknown.
    """

    info: DocumentInfo
    document: Document
    passages: Sequence[Passage]
    origin: str = ""
    stamp: str = ""


class Collection:
    """A searchable collection of documents; created by `Library`, from a row of its catalogue."""

    def __init__(self, library: Library, row: Mapping[str, str]) -> None:
        self.name = row["name"]
        self.access = access_of(row)
        self.limits = library.limits
        self._library = library
        self._store = library.store
        self._dense = library.dense
        self._key = row["key"]
        self._created = row["created"]
        self._ahead = 0

    def put(self, name: str, data: bytes) -> DocumentInfo:
        """Add a file, or replace the file of the same name. Adding an unchanged file does nothing."""
        return self.put_all([(name, data)])[0]

    def put_all(self, files: Sequence[tuple[str, bytes]]) -> list[DocumentInfo]:
        """Add files like `put`, all or none of them."""
        self._check_writable()
        infos: dict[str, DocumentInfo] = {}
        new: list[Prepared] = []
        for name, data in dict(files).items():  # the last file of each name
            unchanged = self.find_unchanged(name, data)
            if unchanged is None:
                new.append(self.prepare(name, data))
            infos[name] = unchanged or new[-1].info
        self.commit(new)
        return list(infos.values())

    def find_unchanged(self, name: str, data: bytes) -> DocumentInfo | None:
        """Return the document of that name if it has this content and the current recipe."""
        check_name(name)
        digest = hashlib.sha256(data).hexdigest()
        rows = self._read((*_INFO, "recipe"), f"name = {literal(name)}")
        for row in rows:
            if row["sha256"] == digest and row["recipe"] == self.recipe:
                return _info(row)
        return None

    def prepare(self, name: str, data: bytes, *, origin: str = "", stamp: str = "") -> Prepared:
        """Read a file and split it into passages, without adding it."""
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
        """Add documents, all or none of them; of several with the same name, the last one.

        Args:
            more: do not update the indexes nor read ahead, because more documents follow and then
                `optimize`. Searches find the new documents, but slowly.
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
            self._add_vector_column(passages)
            if columns["write"]:
                count = len(columns["write"])
                nulls = self._store.arrow.nulls
                table = self._store.arrow.table(
                    [
                        columns.get(field.name, nulls(count, field.type))
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
            delete_passages(passages, [(row["id"], row["write"]) for row in old])
        if not more:
            with self._writing():
                update_indexes(passages, documents)
            for each in by_name.values():
                self.read_ahead(each)

    def read_ahead(self, prepared: Prepared) -> None:
        """Embed the sentences of a document ahead of questions, if the library can."""
        read_ahead = self._library.read_ahead
        if read_ahead is not None and self._ahead < MAX_READ_AHEAD:
            new = list(_sources(prepared))
            read_ahead(new[: MAX_READ_AHEAD - self._ahead])
            self._ahead += len(new)

    def documents(self) -> list[DocumentInfo]:
        """Return the documents, sorted by name."""
        rows = self._read(_INFO)
        return sorted((_info(row) for row in rows), key=lambda info: info.name)

    def stamps(self) -> list[Mapping[str, str]]:
        """Return the id, name, sha256, origin, stamp and recipe of all documents."""
        return self._read(("id", "name", "sha256", "origin", "stamp", "recipe"))

    def stamp(self, stamps: Mapping[str, str]) -> None:
        """Store new stamps by document id."""
        if not stamps:
            return
        with self._writing():
            columns = {"id": list(stamps), "stamp": list(stamps.values())}
            merge = self._documents.merge_insert("id").when_matched_update_all()
            merge.execute(self._store.arrow.table(columns))

    def find(self, document_id: str) -> DocumentInfo:
        """Return the information about a document."""
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
        """Remove documents, all or none of them; unknown ids are ignored."""
        if not document_ids:
            return
        self._check_writable()
        listed = ", ".join(literal(each) for each in document_ids)
        with self._changing():
            old = self._select(("id", "write"), f"id IN ({listed})")
            self._documents.delete(f"id IN ({listed})")
            delete_passages(self._passages, [(row["id"], row["write"]) for row in old])

    def _check_writable(self) -> None:
        if self.access == "read":
            raise ForbiddenError(f"Collection {self.name!r} is read-only for you.")

    def search(self, query: str, limit: int = DEFAULT_PASSAGES) -> list[Found]:
        """Return the most relevant passages for a query, best first."""
        with self._reading():
            reranker = self._library.reranker
            search = Search(self._passages, self._rows, self.name, self._dense, reranker)
            return search.best(query, limit)

    def info(self) -> CollectionInfo:
        """Return the name, size and access of the collection."""
        rows = self._read(("passages",))
        passages = sum(row["passages"] for row in rows)
        return CollectionInfo(self.name, len(rows), passages, self._created, self.access)

    def optimize(self) -> None:
        """Add all passages to the indexes. `commit` does this only occasionally."""
        with self._changing():
            pass  # deletes what an interrupted write left
        with self._writing():
            update_indexes(self._passages, self._documents, now=True)

    @property
    def recipe(self) -> str:
        """An identifier of the parser, the splitter and the encoder used for documents."""
        return f"{RECIPE}/{self._dense.column if self._dense is not None else ''}"

    def create_tables(self) -> None:
        """Create the tables of a new collection."""
        arrow = self._store.arrow
        self._store.create(f"documents_{self._key}", documents_schema(arrow))
        create_indexes(self._store.create(f"passages_{self._key}", passages_schema(arrow)))

    @cached_property
    def _passages(self) -> Any:
        return self._open("passages")

    @cached_property
    def _documents(self) -> Any:
        return self._open("documents")

    @cached_property
    def _rows(self) -> DocumentRows:
        return self._store.cached(f"rows_{self._key}", lambda: DocumentRows(self._documents))

    def _open(self, kind: str) -> Any:
        name = f"{kind}_{self._key}"
        return self._store.cached(name, lambda: self._store.open(name))

    def _deleted(self) -> NotFoundError:
        return NotFoundError(f"{self.name!a} was deleted.", field="collection", value=self.name)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            with self._store.errors():
                yield
        except UnavailableError as error:
            with self._store.errors():
                # Deleting a collection removes it from the catalogue first, then its tables.
                if not self._library.exists(self._key):
                    raise self._deleted() from error
            raise UnavailableError(f"Collection {self.name!a}: {error}") from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._reading(), self._store.writing(self._key):
            yield

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._writing():
            if not self._library.exists(self._key):
                raise self._deleted()
            marker = self._store.marker(self._key)
            with recovering(marker, self._passages, self._documents):
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
            raise NotFoundError(
                f"Document {document_id[:80]!a} not found in collection {self.name!a}."
            )
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
        """Return the columns of all passages; title and context are part of the searched text."""
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

    def _add_vector_column(self, passages: Any) -> None:
        """Add the column for the encoder's vectors if it is missing."""
        if self._dense is None or self._dense.column in passages.schema.names:
            return
        arrow = self._store.arrow
        vector = arrow.list_(arrow.float32(), self._dense.width)
        passages.add_columns(arrow.schema([arrow.field(self._dense.column, vector)]))


def _sources(prepared: Prepared) -> Iterator[Source]:
    """Yield the passages of a document as sources, like those of a search."""
    for passage in prepared.passages:
        text = prepared.document.text[passage.start : passage.end]
        yield Source(text, prepared.info.title, context="\n".join(passage.context))


def _info(row: Mapping[str, Any]) -> DocumentInfo:
    return DocumentInfo(**{name: row[name] for name in _INFO})
