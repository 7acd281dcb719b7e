"""Read a document out of a file's bytes."""

from __future__ import annotations

from semqa.documents.document import Document
from semqa.documents.kinds import kind_of
from semqa.documents.limits import Limits
from semqa.documents.names import check_name
from semqa.documents.readers import READERS
from semqa.errors import InputError

__all__ = ["extract"]

_USUAL_LIMITS = Limits()


def extract(name: str, data: bytes, limits: Limits = _USUAL_LIMITS) -> Document:
    """Return a file's text.

    The parser runs in a process of its own, with a limit on its time and memory.

    Args:
        name: the file's name, or its path below some folder.
        data: what is in it.
        limits: how much is read.

    Raises:
        InputError: the file cannot be read, holds no text, or goes beyond a limit.
        MissingExtraError: the packages that read it are not installed.
    """
    check_name(name)
    if len(data) > limits.size:
        raise InputError(
            f"The file has {len(data):,} bytes; at most {limits.size:,} are read.", where=name
        )
    kind = kind_of(name, data)
    title, text, pages = READERS.read(name, kind, data, limits)
    if not text.strip():
        hint = "Recognise its text first (OCR)." if kind == "pdf" else None
        raise InputError("The document has no text.", where=name, hint=hint)
    return Document(name, kind, title, text, pages)
