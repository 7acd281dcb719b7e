"""Collections over HTTP: made, filled, searched, removed; each owner sees their own."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, File, Request, UploadFile
from pydantic import BaseModel, Field

from semqa.errors import InputError
from semqa.retrieval.passages import Collection, CollectionInfo, DocumentInfo, Library
from semqa.server.asking import address, page_link
from semqa.server.work import Reading

_log = logging.getLogger("semqa.server")

router = APIRouter(prefix="/v1/collections", tags=["collections"])


class NewCollection(BaseModel):
    """A collection that is made."""

    name: str = Field(min_length=1, max_length=100, description="One line, without slashes.")


class CollectionList(BaseModel):
    """The client's collections, by name."""

    collections: list[CollectionInfo]


class DocumentList(BaseModel):
    """Documents of a collection."""

    documents: list[DocumentInfo]


class FullDocument(BaseModel):
    """A document with its text."""

    id: str
    name: str
    kind: str
    title: str
    characters: int = Field(description="Unicode code points of its text.")
    passages: int
    sha256: str
    added: str = Field(description="ISO 8601, in UTC.")
    text: str
    pages: list[int] = Field(description="Where each page begins, in code points; else empty.")


class Query(BaseModel):
    """What passages are searched for."""

    query: str = Field(min_length=1, max_length=10_000)
    limit: int = Field(8, ge=1, le=100)


class PassageEntry(BaseModel):
    """A passage that speaks to the query: ``text`` is the document's ``text[start:end]``."""

    number: int = Field(description="Its place, from 1.")
    title: str
    text: str
    url: str
    collection: str
    document_id: str
    name: str
    start: int = Field(description="Offset in the document, in Unicode code points.")
    end: int = Field(description="Offset after its last character.")
    page: int | None
    score: float


class PassageList(BaseModel):
    """Passages, best first."""

    passages: list[PassageEntry]


def _library(request: Request) -> Library:
    library: Library = request.app.state.library
    return library


def _owner(request: Request) -> str:
    owner: str = request.state.owner
    return owner


InLibrary = Annotated[Library, Depends(_library)]
Owner = Annotated[str, Depends(_owner)]


def _collection(library: InLibrary, owner: Owner, name: str) -> Collection:
    return library.collection(owner, name)


InCollection = Annotated[Collection, Depends(_collection)]


@router.get("", summary="List collections")
def list_collections(library: InLibrary, owner: Owner) -> CollectionList:
    """List your collections."""
    return CollectionList(collections=library.collections(owner))


@router.post("", status_code=201, summary="Make a collection")
def create_collection(library: InLibrary, owner: Owner, body: NewCollection) -> CollectionInfo:
    """Make an empty collection."""
    return library.create(owner, body.name).info()


@router.delete("/{name}", status_code=204, summary="Remove a collection")
def delete_collection(library: InLibrary, owner: Owner, name: str) -> None:
    """Remove a collection with its documents."""
    library.delete(owner, name)


@router.get("/{name}/documents", summary="List documents")
def list_documents(collection: InCollection) -> DocumentList:
    """List the documents of a collection, by name."""
    return _listed(collection.documents())


@router.post("/{name}/documents", status_code=201, summary="Upload documents")
async def upload_documents(
    request: Request,
    library: InLibrary,
    owner: Owner,
    name: str,
    file: Annotated[
        list[UploadFile],
        File(description="txt, md, html, pdf, docx, csv or jsonl; one or several."),
    ],
) -> DocumentList:
    """Put documents into a collection: all of them, or none if one cannot be read.

    The same file again does nothing; another one of the same name takes its place.
    """
    reading: Reading = request.app.state.reading
    with reading.into(owner, name):
        return await reading.run(_put, library, owner, name, file)


@router.get("/{name}/documents/{document_id}", summary="Read a document")
def read_document(collection: InCollection, document_id: str) -> FullDocument:
    """Return a document's text, which the offsets of passages are places in."""
    info, document = collection.find(document_id), collection.document(document_id)
    return FullDocument(**asdict(info), text=document.text, pages=list(document.pages))


@router.delete("/{name}/documents/{document_id}", status_code=204, summary="Remove a document")
def delete_document(collection: InCollection, document_id: str) -> None:
    """Remove a document from a collection."""
    collection.remove(document_id)


@router.post("/{name}/search", summary="Search passages")
def search_passages(
    request: Request, collection: InCollection, name: str, body: Query
) -> PassageList:
    """Return the passages of a collection that speak to a question best."""
    base = address(request)
    entries = [
        PassageEntry(
            number=number,
            title=found.source.title,
            text=found.source.text,
            url=page_link(found.source.url, base, name, found.document_id, found.start, found.end),
            collection=name,
            document_id=found.document_id,
            name=found.name,
            start=found.start,
            end=found.end,
            page=found.page,
            score=found.score,
        )
        for number, found in enumerate(collection.search(body.query, body.limit), 1)
    ]
    return PassageList(passages=entries)


def _put(library: Library, owner: str, name: str, uploads: list[UploadFile]) -> DocumentList:
    collection = library.collection(owner, name)
    most = collection.limits.size + 1  # one more tells that it is too large
    files = [(_name_of(each), each.file.read(most)) for each in uploads]
    try:
        return _listed(collection.put_all(files))
    except Exception:
        # They may be there all the same, if the disk was full when they were indexed.
        with suppress(Exception):
            same = [collection.same(name, data) for name, data in dict(files).items()]
            kept = [each for each in same if each is not None]
            if kept and len(kept) == len(same):
                _log.exception("an upload was kept, but not all of its indexes")
                return _listed(kept)
        raise


def _listed(found: list[DocumentInfo]) -> DocumentList:
    return DocumentList(documents=found)


def _name_of(upload: UploadFile) -> str:
    if not upload.filename:
        raise InputError("must have a file name with its ending.", field="file")
    return upload.filename
