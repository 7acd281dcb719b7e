"""Read a document out of the bytes of a file, whose kind its bytes and its name say."""

from __future__ import annotations

from pathlib import PurePosixPath

from semqa.documents.document import Document, Limits, check_name
from semqa.documents.readers import READERS
from semqa.errors import InputError

KINDS = ("txt", "md", "html", "pdf", "docx", "csv", "jsonl")
"""The kinds of documents that are read."""

SUFFIXES = {
    ".txt": "txt",
    ".text": "txt",
    ".md": "md",
    ".markdown": "md",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".docx": "docx",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
"""Endings of names, in lower case, and the kind that each stands for."""

_PACKED = {"pdf": "a PDF", "docx": "a Word document (docx)"}
_ADVICE = f"semqa reads {', '.join(KINDS)}."

_OTHERS = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file (doc, xls, ppt)", "Save it as docx."),
    (b"{\\rtf", "RTF", "Save it as docx."),
    (b"\x89PNG", "an image", _ADVICE),
    (b"\xff\xd8\xff", "an image", _ADVICE),
    (b"GIF8", "an image", _ADVICE),
    (b"\x7fELF", "a program", _ADVICE),
    (b"MZ\x90", "a program", _ADVICE),
    (b"\x1f\x8b", "a gzip archive", "Unpack it."),
    (b"Rar!", "a RAR archive", "Unpack it."),
    (b"7z\xbc\xaf", "a 7z archive", "Unpack it."),
    (b"SQLite format 3\0", "a database", _ADVICE),
)
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_SAMPLE = 2**16


def kind_of(name: str, data: bytes) -> str:
    """Return the kind of a file.

    What the bytes are decides; the ending of the name tells only kinds of text apart. A name that
    promises a PDF or a Word document must keep the promise.

    Example:
        >>> kind_of("notes.md", b"# Notes"), kind_of("notes.txt", b"%PDF-1.7 ...")
        ('md', 'pdf')
    """
    promised = SUFFIXES.get(PurePosixPath(name).suffix.lower(), "txt")
    before, marked, _ = data[:1024].partition(b"%PDF-")
    # A text may speak of it; other bytes before it are allowed.
    if marked and (promised == "pdf" or not before.strip() or b"\0" in data[:_SAMPLE]):
        return "pdf"
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return "docx"  # or no document at all, as its parser says
    for magic, what, advice in _OTHERS:
        if data.startswith(magic):
            raise InputError(f"Not a document that semqa reads: {what}.", where=name, hint=advice)
    if promised in _PACKED:
        raise InputError(
            f"The file is not {_PACKED[promised]}, although its name says so.", where=name
        )
    if not data.startswith(_BOMS) and b"\0" in data[:_SAMPLE]:
        raise InputError("Not a document: the file is binary.", where=name, hint=_ADVICE)
    return promised


_USUAL_LIMITS = Limits()


def extract(name: str, data: bytes, limits: Limits = _USUAL_LIMITS) -> Document:
    """Return a file's text.

    The parser runs in a process of its own, with a limit on its time and memory.

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
