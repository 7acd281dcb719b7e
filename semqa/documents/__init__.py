"""Documents: files of several kinds as text, cut into passages whose places are exact.

Knows nothing of collections and searching; `semqa.retrieval.passages` does.
"""

from semqa.documents.document import Document, Limits, Passage
from semqa.documents.extract import KINDS, SUFFIXES, extract
from semqa.documents.split import split

__all__ = ["KINDS", "SUFFIXES", "Document", "Limits", "Passage", "extract", "split"]
