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
            f"{name}: too large: got {len(data)} bytes, expected at most {limits.size}; "
            "split it, or raise the limit"
        )
    kind = kind_of(name, data)
    title, text, pages = READERS.read(name, kind, data, limits)
    if not text.strip():
        advice = "recognise its text first (OCR)" if kind == "pdf" else "leave it out"
        raise InputError(f"{name}: empty: got no text, expected a document with some; {advice}")
    return Document(name, kind, title, text, pages)
