"""Which kind a file is: what its bytes say, and among texts what its name says."""

from __future__ import annotations

from pathlib import PurePosixPath

from semqa.errors import InputError

__all__ = ["KINDS", "SUFFIXES", "kind_of"]

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
_ADVICE = "choose a file of the kinds " + ", ".join(KINDS)

_OTHERS = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file (doc, xls, ppt)", "save it as docx"),
    (b"{\\rtf", "RTF", "save it as docx"),
    (b"\x89PNG", "an image", _ADVICE),
    (b"\xff\xd8\xff", "an image", _ADVICE),
    (b"GIF8", "an image", _ADVICE),
    (b"\x7fELF", "a program", _ADVICE),
    (b"MZ\x90", "a program", _ADVICE),
    (b"\x1f\x8b", "a gzip archive", "unpack it"),
    (b"Rar!", "a RAR archive", "unpack it"),
    (b"7z\xbc\xaf", "a 7z archive", "unpack it"),
    (b"SQLite format 3\0", "a database", _ADVICE),
)
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_SAMPLE = 2**16


def kind_of(name: str, data: bytes) -> str:
    """Return the kind of a file.

    What the bytes are decides; the ending of the name tells only kinds of text apart. A name that
    promises a PDF or a Word document must keep the promise.

    Raises:
        InputError: it is of no kind that is read.

    Example:
        >>> kind_of("notes.md", b"# Notes"), kind_of("notes.txt", b"%PDF-1.7 ...")
        ('md', 'pdf')
    """
    if b"%PDF-" in data[:1024]:
        return "pdf"
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return "docx"  # or no document at all, as its parser says
    for magic, what, advice in _OTHERS:
        if data.startswith(magic):
            raise InputError(
                f"{name}: of no kind that is read: got {what}, expected text; {advice}"
            )
    promised = SUFFIXES.get(PurePosixPath(name).suffix.lower(), "txt")
    if promised in _PACKED:
        raise InputError(
            f"{name}: not what its name says: it is not {_PACKED[promised]}. Correct the name or the "
            "file."
        )
    if not data.startswith(_BOMS) and b"\0" in data[:_SAMPLE]:
        raise InputError(
            f"{name}: of no kind that is read: got bytes that are no text, expected text; {_ADVICE}"
        )
    return promised
