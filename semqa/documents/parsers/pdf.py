"""PDF: the text of each page, with lines joined to paragraphs."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

from semqa.documents.clean import clean, one_line
from semqa.documents.parsers.furniture import without_furniture
from semqa.errors import InputError
from semqa.extras import require

if TYPE_CHECKING:
    from semqa.documents.limits import Limits

__all__ = ["join_lines", "parse"]

_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)
_NO_TITLES = re.compile(
    r"(?i)^(untitled|microsoft (word|powerpoint|excel)\b.*|.*\.(docx?|tex|indd|pptx?|xlsx?|dvi|pdf))?$"
)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_BROKEN = re.compile(r"([^\W\d_]+)-$")
_LONGEST_WORD = 60
_ITEM = re.compile(r"(?:[-*•–·▪◦‣]|\(?\d{1,3}[.)]|[a-z][.)])\s")


def parse(name: str, data: bytes, limits: Limits) -> tuple[str, str, tuple[int, ...]]:
    """Return the text, and where in it each page begins."""
    library = require("pypdf", extra="documents", purpose=f"reading {name}")
    errors = require("pypdf.errors", extra="documents", purpose=f"reading {name}")
    try:
        raw, title = _pages(library.PdfReader(io.BytesIO(data)), errors, name, limits)
    except errors.LimitReachedError as error:
        raise InputError(
            f"{name}: too large when unpacked: got {one_line(str(error), 100)!r}, expected an "
            "ordinary PDF; make it again, or leave it out"
        ) from error
    raw = without_furniture(raw)
    words = {word for text in raw for word in _WORD.findall(text)}
    parts: list[str] = []
    starts: list[int] = []
    at = 0
    for lines in raw:
        joined = join_lines(lines, words)
        if parts and joined:
            goes_on = joined[0].islower() and parts[-1][-1] not in ".!?:"
            parts.append(" " if goes_on else "\n\n")
            at += len(parts[-1])
        starts.append(at)
        if joined:
            parts.append(joined)
            at += len(joined)
    return title, "".join(parts), tuple(starts)


def _pages(reader: Any, errors: Any, name: str, limits: Limits) -> tuple[list[str], str]:
    """Return what is printed on each page, and the title."""
    try:
        if reader.is_encrypted and not reader.decrypt(""):
            raise errors.WrongPasswordError("a password")
    except (errors.WrongPasswordError, errors.DependencyError, NotImplementedError) as error:
        raise InputError(
            f"{name}: locked: got a PDF that needs a password, expected one without; remove it"
        ) from error
    count = len(reader.pages)
    if count > limits.pages:
        raise InputError(
            f"{name}: too long: got {count} pages, expected at most {limits.pages}; split it"
        )
    raw: list[str] = []
    size = 0
    for page in reader.pages:
        raw.append(clean(page.extract_text() or "").translate(_LIGATURES))
        size += len(raw[-1])
        if size > limits.characters:
            raise InputError(
                f"{name}: too long: got more than {limits.characters} characters of text, expected "
                "no more; split it"
            )
    return raw, _title(reader)


def join_lines(text: str, words: set[str]) -> str:
    """Return a page's lines joined to paragraphs.

    A line goes on in the next one where it is about as long as the page is wide. A word that was
    broken at the end of a line is put together, with its hyphen where the document has it so.

    Args:
        text: the page, a line of print a line.
        words: the words of the document.
    """
    lines = [" ".join(line.split()) for line in text.split("\n")]
    lengths = sorted(len(line) for line in lines if line)
    if not lengths:
        return ""
    wide = 0.65 * lengths[int(0.9 * (len(lengths) - 1))]
    parts: list[str] = []
    for here, after in zip(lines, [*lines[1:], ""], strict=True):
        broken = _BROKEN.search(here[-_LONGEST_WORD:])
        if not here:
            parts.append("\n")
        elif broken and _goes_on(broken[1], after, words):
            rest = _WORD.match(after)
            second = rest[0] if rest else ""
            keep = f"{broken[1]}-{second}" in words and f"{broken[1]}{second}" not in words
            parts.append(here if keep else here[:-1])
        elif after and len(here) >= wide and not _ITEM.match(after):
            parts.append(f"{here} ")
        else:
            parts.append(f"{here}\n")
    return "".join(parts).strip()


def _goes_on(first: str, after: str, words: set[str]) -> bool:
    """Say whether a line begins with the rest of a word; one in capitals must be known."""
    rest = _WORD.match(after)
    return after[:1].islower() or (rest is not None and f"{first}{rest[0]}" in words)


def _title(reader: Any) -> str:
    try:
        title = reader.metadata.title if reader.metadata else None
    except Exception:  # noqa: BLE001 -- a title is not worth a document
        return ""
    found = title.strip() if isinstance(title, str) else ""
    return "" if _NO_TITLES.match(found) else found
