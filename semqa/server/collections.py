"""`/v1/collections`: create, fill, search and delete collections.

Each owner sees only their own.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Request, UploadFile
from pydantic import BaseModel, Field

from semqa.errors import InputError
from semqa.retrieval import DEFAULT_PASSAGES
from semqa.retrieval.passages import Collection, CollectionInfo, DocumentInfo, Library
from semqa.server.asking import page_address, retrieved
from semqa.server.schemas import RequestBody, SourceOut
from semqa.server.work import DocumentWorkers

_log = logging.getLogger("semqa.server")

router = APIRouter(prefix="/v1/collections", tags=["collections"])


class NewCollection(RequestBody, extra="ignore"):
    """A new collection."""

    name: str = Field(min_length=1, max_length=100, description="A single line without slashes.")


class CollectionList(BaseModel):
    """The client's collections, sorted by name."""

    collections: list[CollectionInfo]


class DocumentList(BaseModel):
    """The documents of a collection."""

    documents: list[DocumentInfo]


@dataclass(frozen=True, slots=True)
class FullDocument(DocumentInfo):
    """A document with its text. ``pages`` has the offset of each page, if there are pages."""

    text: str
    pages: list[int]


class Query(RequestBody, extra="ignore"):
    """A search for passages."""

    query: str = Field(min_length=1, max_length=10_000)
    limit: int = Field(DEFAULT_PASSAGES, ge=1, le=100)


class PassageEntry(SourceOut):
    """A search result: ``text`` is ``text[start:end]`` of the document, ``number`` its rank."""

    score: float


class PassageList(BaseModel):
    """Passages, best first."""

    passages: list[PassageEntry]


def _library(request: Request) -> Any:
    return request.app.state.library


def _owner(request: Request) -> Any:
    return request.state.owner


InLibrary = Annotated[Library, Depends(_library)]
Owner = Annotated[str, Depends(_owner)]


def _collection(library: InLibrary, owner: Owner, name: str) -> Collection:
    return library.collection(owner, name)


InCollection = Annotated[Collection, Depends(_collection)]


@router.get("", summary="List collections")
def list_collections(library: InLibrary, owner: Owner) -> CollectionList:
    """List your collections."""
    return CollectionList(collections=library.collections(owner))


@router.post("", status_code=201, summary="Create a collection")
def create_collection(library: InLibrary, owner: Owner, body: NewCollection) -> CollectionInfo:
    """Create an empty collection."""
    return library.create(owner, body.name).info()


@router.delete("/{name}", status_code=204, summary="Delete a collection")
def delete_collection(library: InLibrary, owner: Owner, name: str) -> None:
    """Delete a collection with its documents."""
    library.delete(owner, name)


@router.get("/{name}/documents", summary="List documents")
def list_documents(collection: InCollection) -> DocumentList:
    """List the documents of a collection, sorted by name."""
    return DocumentList(documents=collection.documents())


@router.post("/{name}/documents", status_code=201, summary="Upload documents")
async def upload_documents(
    request: Request,
    library: InLibrary,
    owner: Owner,
    name: str,
    file: Annotated[
        list[UploadFile],
        File(description="One or more txt, md, html, pdf, docx, csv, jsonl or eml files."),
    ],
) -> DocumentList:
    """Add documents to a collection: either all of them, or none if one cannot be read.

    Uploading the same file again has no effect; another file of the same name replaces the
    document.
    """
    document_workers: DocumentWorkers = request.app.state.document_workers
    with document_workers.uploading(owner, name):
        return await document_workers.run(_save_uploads, library, owner, name, file)


@router.get("/{name}/documents/{document_id}", summary="Read a document")
def read_document(collection: InCollection, document_id: str) -> FullDocument:
    """Return the text of a document; the offsets of passages refer to it."""
    info, document = collection.find(document_id), collection.document(document_id)
    return FullDocument(**asdict(info), text=document.text, pages=list(document.pages))


@router.delete("/{name}/documents/{document_id}", status_code=204, summary="Delete a document")
def delete_document(collection: InCollection, document_id: str) -> None:
    """Delete a document from a collection."""
    collection.remove(document_id)


@router.post("/{name}/search", summary="Search passages")
def search_passages(
    request: Request, collection: InCollection, name: str, body: Query
) -> PassageList:
    """Return the best passages of a collection for a query."""
    page = page_address(request)
    entries = [
        PassageEntry(**retrieved(name, found, page).to_dict(number), score=found.score)
        for number, found in enumerate(collection.search(body.query, body.limit), 1)
    ]
    return PassageList(passages=entries)


def _save_uploads(
    library: Library, owner: str, name: str, uploads: list[UploadFile]
) -> DocumentList:
    collection = library.collection(owner, name)
    most = collection.limits.size + 1  # one more byte, to detect a file that is too large
    files = [(_file_name(each), each.file.read(most)) for each in uploads]
    try:
        return DocumentList(documents=collection.put_all(files))
    except Exception:
        # The documents may be stored even so, if the disk became full while they were indexed.
        with suppress(Exception):
            found = [collection.find_unchanged(name, data) for name, data in dict(files).items()]
            stored = [each for each in found if each is not None]
            if stored and len(stored) == len(found):
                _log.exception("an upload was stored, but not fully indexed")
                return DocumentList(documents=stored)
        raise


def _file_name(upload: UploadFile) -> str:
    if not upload.filename:
        raise InputError("must have a file name with an extension.", field="file")
    return upload.filename
