"""A document as text, its passages, and limits for untrusted files."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from semqa.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits for one document. A file that exceeds one of them is rejected.

    Attributes:
        size: file size in bytes.
        unpacked: total size of an archive's entries, in bytes.
        characters: length of the text in code points.
        pages: number of pages of a PDF.
        seconds: time to read the file.
        memory: memory of the process that reads the file, in bytes; enforced if the operating
            system supports it.
    """

    size: int = 64 * 2**20
    unpacked: int = 512 * 2**20
    characters: int = 20_000_000
    pages: int = 5000
    seconds: float = 60.0
    memory: int = 2 * 2**30


LONGEST_NAME = 500


def check_name(name: str) -> str:
    """Return a document's name if it is a valid relative path.

    Example:
        >>> check_name("reports/2024.pdf")
        'reports/2024.pdf'
    """
    wrong = None
    if not name.strip() or len(name) > LONGEST_NAME:
        wrong = f"it must have 1 to {LONGEST_NAME} characters"
    elif any(unicodedata.category(c) in ("Cc", "Cs") or c in "\\\u2028\u2029" for c in name):
        wrong = "it must not contain control characters or backslashes"
    elif name.startswith("/") or any(part in ("", ".", "..") for part in name.split("/")):
        wrong = "it must be a relative path such as reports/2024.pdf"
    if wrong is not None:
        raise InputError(f"Invalid document name {name[:80]!a}: {wrong}.", value=name)
    return name


def stem_of(name: str) -> str:
    """Return a file name without its folders and extension, as a fallback title.

    Example:
        >>> stem_of("terms/hire.md"), stem_of("licences/MPL-2.0")
        ('hire', 'MPL-2.0')
    """
    path = PurePosixPath(name)
    return (path.stem if path.suffix[1:2].isalpha() else path.name) or name


_LINE_ENDS = re.compile("\r\n?|\x0c|\x85|\u2028|\u2029")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


def clean(text: str) -> str:
    r"""Normalise line endings to ``\n`` and replace unprintable characters with spaces.

    Characters that change the text direction are kept: they belong to the text.

    Example:
        >>> clean("a\r\nb\x00c")
        'a\nb c'
    """
    return _UNPRINTABLE.sub(" ", _LINE_ENDS.sub("\n", text)).removeprefix("\ufeff")


def one_line(text: str, longest: int = 300) -> str:
    """Return a text as one stripped line of at most `longest` characters, for a title."""
    return " ".join(clean(text[: longest * 4]).split())[:longest].strip()


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a file.

    All offsets are in Unicode code points of `text`, from 0.

    Attributes:
        name: the file's name, with ``/`` between folders.
        pages: the start offset of each page, ascending; empty if the kind has no pages.
    """

    name: str
    kind: str
    title: str
    text: str
    pages: tuple[int, ...] = ()

    def page_of(self, offset: int) -> int | None:
        """Return the number of the page, from 1, that holds the character at `offset`.

        Example:
            >>> Document("a.pdf", "pdf", "a", "one. two.", (0, 5)).page_of(6)
            2
        """
        return max(bisect_right(self.pages, offset), 1) if self.pages else None


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document: ``document.text[start:end]``.

    Attributes:
        start: offset of the first character.
        end: offset after the last character.
        page: the page on which it begins, from 1; None for a document without pages.
        context: text above the passage that it needs, outermost first: headings, the lead-in of a
            list, the header of a table, the question it answers. One line each, without markup.
    """

    start: int
    end: int
    page: int | None = None
    context: tuple[str, ...] = ()


def distinct_titles(documents: Sequence[tuple[str, str]]) -> list[str]:
    """Return the title of each document, with its name if others have the same title.

    Args:
        documents: name and title of each; a document may occur several times.

    Example:
        >>> distinct_titles([("may.docx", "Minutes"), ("june.docx", "Minutes"), ("a.pdf", "Rules")])
        ['Minutes (may)', 'Minutes (june)', 'Rules']
    """
    names: dict[str, set[str]] = {}
    for name, title in documents:
        names.setdefault(title, set()).add(name)
    out = []
    for name, title in documents:
        stem = stem_of(name)
        several = title and len(names[title]) > 1
        out.append(f"{title} ({name if stem == title else stem})" if several else title)
    return out
