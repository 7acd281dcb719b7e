"""Documents: files of several kinds as text, cut into passages whose places are exact.

Knows nothing of collections and searching; `semqa.retrieval.passages` does.
"""

from semqa.documents.document import Document, Passage
from semqa.documents.extract import extract
from semqa.documents.kinds import KINDS, SUFFIXES
from semqa.documents.limits import Limits
from semqa.documents.split import split

__all__ = ["KINDS", "SUFFIXES", "Document", "Limits", "Passage", "extract", "split"]
