"""Collections of documents, and the passages in them that speak to a question."""

from semqa.retrieval.passages.collection import Collection
from semqa.retrieval.passages.info import CollectionInfo, DocumentInfo, Found
from semqa.retrieval.passages.library import Library

__all__ = ["Collection", "CollectionInfo", "DocumentInfo", "Found", "Library"]
