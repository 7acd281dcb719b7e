"""Collections of documents, and the search for passages that are relevant to a question."""

from semqa.retrieval.passages.collection import Collection
from semqa.retrieval.passages.library import Library
from semqa.retrieval.passages.store import CollectionInfo, DocumentInfo, Found, Share

__all__ = ["Collection", "CollectionInfo", "DocumentInfo", "Found", "Library", "Share"]
