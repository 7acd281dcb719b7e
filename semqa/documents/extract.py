"""Extract a document's text from the bytes of a file; detect the file's kind."""

from __future__ import annotations

from pathlib import PurePosixPath

from semqa.documents.document import Document, Limits, check_name
from semqa.documents.reader import READERS
from semqa.errors import InputError

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
    ".eml": "eml",
}
"""File name extensions, in lower case, and the kind of each."""

KINDS = tuple(dict.fromkeys(SUFFIXES.values()))
"""Supported kinds of documents."""

_BINARY_KINDS = {"pdf": "a PDF", "docx": "a Word document (docx)"}
_ADVICE = f"semqa reads {', '.join(KINDS)}."

_UNSUPPORTED = (
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

    The content decides; the file name extension only tells kinds of text apart. A file named as a
    PDF or a Word document must be one.

    Example:
        >>> kind_of("notes.md", b"# Notes"), kind_of("notes.txt", b"%PDF-1.7 ...")
        ('md', 'pdf')
    """
    expected = SUFFIXES.get(PurePosixPath(name).suffix.lower(), "txt")
    before, marked, _ = data[:1024].partition(b"%PDF-")
    # The PDF header may come after other bytes, but a text may also mention it.
    if marked and (expected == "pdf" or not before.strip() or b"\0" in data[:_SAMPLE]):
        return "pdf"
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return "docx"  # the parser rejects other archives
    for magic, what, advice in _UNSUPPORTED:
        if data.startswith(magic):
            raise InputError(f"Unsupported file type: {what}.", where=name, hint=advice)
    if expected in _BINARY_KINDS:
        raise InputError(
            f"The file is not {_BINARY_KINDS[expected]}, although its name says so.", where=name
        )
    if not data.startswith(_BOMS) and b"\0" in data[:_SAMPLE]:
        raise InputError("Unsupported file type: binary data.", where=name, hint=_ADVICE)
    return expected


_DEFAULT_LIMITS = Limits()


def extract(name: str, data: bytes, limits: Limits = _DEFAULT_LIMITS) -> Document:
    """Return a file's text.

    The parser runs in a separate process with limited time and memory.

    Raises:
        InputError: the file cannot be read, has no text, or exceeds a limit.
        MissingExtraError: the packages for this kind are not installed.
    """
    check_name(name)
    if len(data) > limits.size:
        raise InputError(
            f"The file has {len(data):,} bytes; at most {limits.size:,} are allowed.", where=name
        )
    kind = kind_of(name, data)
    title, text, pages = READERS.read(name, kind, data, limits)
    if not text.strip():
        hint = "Run OCR on it first." if kind == "pdf" else None
        raise InputError("The document has no text.", where=name, hint=hint)
    return Document(name, kind, title, text, pages)
