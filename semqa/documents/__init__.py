"""Documents: extract text from files and split it into passages with exact offsets.

Read `extract` and `split` first; parsers run in separate processes. Collections and search are in
`semqa.retrieval.passages`.
"""

from semqa.documents.document import Document, Limits, Passage
from semqa.documents.extract import KINDS, SUFFIXES, extract
from semqa.documents.split import split

__all__ = ["KINDS", "SUFFIXES", "Document", "Limits", "Passage", "extract", "split"]
