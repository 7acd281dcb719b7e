"""Word documents (docx)."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any

from semqa.errors import InputError
from semqa.extras import require

if TYPE_CHECKING:
    from semqa.documents.limits import Limits

__all__ = ["parse"]

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_DELETED = frozenset([f"{_W}del", f"{_W}moveFrom", _FALLBACK, f"{_W}pPr", f"{_W}rPr"])
"""What is not shown: text that was removed, other versions of what is there, settings."""

_SIGNS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "\u2011"}
_NO_TITLE = "Word Document"
"""What the library says where a document has no properties."""

_OTHERS = (
    ("xl/", "an Excel workbook", "save its sheets as csv"),
    ("ppt/", "a PowerPoint presentation", "save it as PDF"),
    ("META-INF/container.xml", "an e-book", "save it as HTML"),
    ("META-INF/manifest.xml", "an OpenDocument file", "save it as docx or csv"),
)
"""What other archives begin some name with, what they are, and what to do."""

_MOST_PARTS = 10_000
_NOTES = ("footnotes", "endnotes")


def parse(name: str, data: bytes, limits: Limits) -> tuple[str, str, tuple[int, ...]]:
    """Return the body with its tables and text boxes, and the notes after it."""
    _check_archive(name, data, limits)
    library = require("docx", extra="documents", purpose=f"reading {name}")
    document: Any = library.Document(io.BytesIO(data))
    etree = require("lxml.etree", extra="documents", purpose=f"reading {name}")
    parts = [_text_of(etree, document.element.body)]
    for relation in document.part.rels.values():
        if not relation.is_external and relation.reltype.rpartition("/")[2] in _NOTES:
            parser = etree.XMLParser(resolve_entities=False, no_network=True)
            parts.append(_text_of(etree, etree.fromstring(relation.target_part.blob, parser)))
    title = document.core_properties.title
    if not title or title == _NO_TITLE:
        title = _heading(document)
    return title, "\n\n".join(filter(None, parts)), ()


def _check_archive(name: str, data: bytes, limits: Limits) -> None:
    """See that the archive is a Word document, and does not become much more than it is.

    Raises:
        InputError: it is not, or it does.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, OSError) as error:
        raise InputError(
            f"{name}: damaged: got an archive that cannot be opened "
            f"({str(error) or type(error).__name__}), expected a whole one with a Word document "
            "(docx); make it again"
        ) from error
    names = {entry.filename for entry in entries}
    if "[Content_Types].xml" not in names or not any(each.startswith("word/") for each in names):
        what, advice = next(
            (told for folder, *told in _OTHERS if any(each.startswith(folder) for each in names)),
            ("an archive that is no Word document", "unpack it"),
        )
        raise InputError(
            f"{name}: of no kind that is read: got {what}, expected a document; {advice}"
        )
    unpacked = sum(entry.file_size for entry in entries)
    # Python reads no more of an entry than it states.
    if unpacked > limits.unpacked or len(entries) > _MOST_PARTS:
        raise InputError(
            f"{name}: too large when unpacked: got {unpacked} bytes in {len(entries)} parts, "
            f"expected at most {limits.unpacked} in {_MOST_PARTS}; split it"
        )
    if any(entry.flag_bits & 1 for entry in entries):
        raise InputError(
            f"{name}: locked: got an encrypted archive, expected one without a password; remove it"
        )


def _heading(document: Any) -> str:
    for paragraph in document.paragraphs[:20]:
        style = paragraph.style.name if paragraph.style is not None else ""
        if style in ("Title", "Heading 1") and paragraph.text.strip():
            return str(paragraph.text)
    return ""


def _text_of(etree: Any, root: Any) -> str:
    """Return the text below an element, a paragraph or a row of a table a line."""
    parts: list[str] = []
    walk = etree.iterwalk(root, events=("start", "end"))
    rows = 0
    for event, element in walk:
        tag = element.tag
        if event == "start":
            if tag in _DELETED:
                walk.skip_subtree()
            elif tag == f"{_W}tr":
                rows += 1
        elif tag == f"{_W}t":
            parts.append(element.text or "")
        elif tag in _SIGNS:
            parts.append(_SIGNS[tag])
        elif tag == f"{_W}p":
            parts.append(" " if rows else "\n\n")
        elif tag == f"{_W}tc":
            if element.getnext() is not None:
                parts.append("| ")
        elif tag == f"{_W}tr":
            rows -= 1
            parts.append("\n")
        elif tag == f"{_W}tbl":
            parts.append("\n")
    lines = ("".join(parts)).split("\n")
    return "\n".join(line.strip() for line in lines).strip()
