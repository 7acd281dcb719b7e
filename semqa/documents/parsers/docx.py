"""Word documents (docx)."""

from __future__ import annotations

import io
import re
import zipfile
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from semqa.documents.parsers.plain import numeral, superscript, table_lines
from semqa.errors import InputError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from semqa.documents.document import Limits
    from semqa.documents.parsers import Parsed

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_WATERMARK = "{urn:schemas-microsoft-com:vml}textpath"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_DELETED = frozenset([f"{_W}del", f"{_W}moveFrom"])
_NO_TEXT = frozenset([_FALLBACK, f"{_W}pPr", f"{_W}rPr"])
"""Elements to skip: deleted text; fallback versions and properties."""

_JOINED = tuple(f"{_W}pPr/{_W}rPr/{_W}{name}" for name in ("del", "moveFrom", "vanish"))
"""Marks of a paragraph that continues in the next one, because its end is deleted or hidden."""

_GONE = "\0"
"""Placeholder for deleted text; the spaces around it become one space."""

_UNSAID = tuple(f"{_W}rPr/{_W}{name}" for name in ("strike", "dstrike", "vanish"))
_OFF = ("0", "false", "off")
_WINGDINGS = {"F0FE": "☑", "F0FD": "☒", "F0A8": "☐", "F06F": "☐", "F0FC": "✓", "F0FB": "✗"}
"""Checkboxes and ticks in Word's font Wingdings."""

_SYMBOLS = {
    f"F0{ord(code):02X}": sign
    for code, sign in zip(
        "abgdezhqiklmnxoprstufcywDGLPQSFCYW<=>+-/°±£³´¸¹»¥®¢²",
        "αβγδεζηθικλμνξοπρστυφχψωΔΓΛΠΘΣΦΧΨΩ<=>+−/°±≤≥×÷≠≈∞→′″",
        strict=True,
    )
}
"""Characters of the font Symbol."""

_EQUATION = {
    "num": ("\1", "\2/"),
    "den": ("\1", "\2"),
    "rad": ("√\1", "\2"),
    "sup": ("^\1", "\2"),
    "sub": ("_\1", "\2"),
    "d": ("(", ")"),
}
"""Text before and after each part of an equation on one line; control characters become brackets."""

_SINGLE, _POWER = re.compile("\1(\\w+)\2"), re.compile(r"\^(\d+)")

_CHARACTERS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "\u2011"}
_NO_TITLE = "Word Document"
"""The library's title for a document without properties."""

_MOST_BEFORE_TITLE = 20
"""Maximum number of paragraphs before a title."""

_OTHER_ARCHIVES = (
    ("xl/", "an Excel workbook", "Save its sheets as csv."),
    ("ppt/", "a PowerPoint presentation", "Save it as PDF."),
    ("META-INF/container.xml", "an e-book", "Save it as HTML."),
    ("META-INF/manifest.xml", "an OpenDocument file", "Save it as docx or csv."),
)
"""Other archives: prefix of an entry name, description, advice."""

_MAX_PARTS = 10_000
_PARTS = ("numbering", "footnotes", "endnotes")
_NOTES = (f"{_W}footnote", f"{_W}endnote")
_REFERENCES = tuple(f"{note}Reference" for note in _NOTES)

_HEADING_STYLE = re.compile(r"heading ([1-9])")
_PAGE = re.compile(
    r"[\W\d]*(?:(?:page|seite|página)[\W\d]*(?:(?:of|von|sur|de)[\W\d]*)?)?", re.IGNORECASE
)
"""A header or footer that only has the number of the page."""

_CONTENTS = re.compile(r"toc |table of figures|index \d")
"""Names of styles for lines of a table of contents or an index."""

_LONGEST_HEADING = 200
_ITEM = re.compile(r"-|\(?\w{1,3}[.)]")
_PLACE = re.compile(r"%([1-9])")
_LEVELS = 9
_MAX_COLUMNS = 200
_LONGEST_ROW = 120
"""Maximum length of a row whose cells are separated by tabs."""

_FIGURE = re.compile(r"\d")
_BY_HAND = re.compile(r"\W*|\(?(?:\d{1,2}(?:\.\d{1,2})*|[ivx]+|[a-zA-Z])[.)]?")
"""A list number or bullet that was typed, not generated."""
_NESTED_STYLE = re.compile(r"list (?:bullet|number) ([2-5])")
"""Names of styles for nested items; the numbering of each has a single level."""

_MAX_BASE_STYLES = 10
"""Maximum depth of style inheritance."""

_NUMERALS = {"lowerLetter": "a", "upperLetter": "A", "lowerRoman": "i", "upperRoman": "I"}


def parse_docx(name: str, data: bytes, limits: Limits) -> Parsed:
    """Return the title and the text: the body with tables and text boxes, each note below its mark."""
    _check_archive(name, data, limits)
    library = require("docx", extra="documents", purpose=f"reading {name}")
    document: Any = library.Document(io.BytesIO(data))
    etree = require("lxml.etree", extra="documents", purpose=f"reading {name}")
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    roots = {
        kind: etree.fromstring(relation.target_part.blob, parser)
        for relation in document.part.rels.values()
        if not relation.is_external and (kind := relation.reltype.rpartition("/")[2]) in _PARTS
    }
    text = _Text(etree, document.styles.element, roots.pop("numbering", None))
    for root in roots.values():
        text.add_notes(root)
    text.number_notes(document.element.body)
    body = text.of(document.element.body)
    title = _title(document)
    edges = {" ".join(text.line(each).split()): None for each in _edges(document, etree, parser)}
    rows = [[each] for each in edges if not _PAGE.fullmatch(each)]
    around = "\n".join(table_lines(rows, headless=True))
    return title, "\n\n".join(filter(None, [body, *text.other_notes(), around])), ()


def _edges(document: Any, etree: Any, parser: Any) -> Iterator[Any]:
    """Yield the headers and footers that are shown, such as letterheads and dates of versions."""
    shown: dict[str, None] = {}
    for section in document.element.body.iter(f"{_W}sectPr"):
        kinds = ["default"] if section.find(f"{_W}titlePg") is None else ["default", "first"]
        for each in section.iter(f"{_W}headerReference", f"{_W}footerReference"):
            if each.get(f"{_W}type") in kinds:
                shown[each.get(f"{_R}id")] = None
    for key in filter(document.part.rels.__contains__, shown):
        relation = document.part.rels[key]
        if not relation.is_external:
            yield etree.fromstring(relation.target_part.blob, parser)


def _check_archive(name: str, data: bytes, limits: Limits) -> None:
    """Check that the archive is a Word document, and not a zip bomb."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, OSError) as error:
        raise InputError(
            f"Not a valid Word document (docx): {str(error) or type(error).__name__}.", where=name
        ) from error
    names = {entry.filename for entry in entries}
    if "[Content_Types].xml" not in names or not any(each.startswith("word/") for each in names):
        what, advice = next(
            (
                found
                for prefix, *found in _OTHER_ARCHIVES
                if any(n.startswith(prefix) for n in names)
            ),
            ("an archive", "Unpack it."),
        )
        raise InputError(f"Unsupported file type: {what}.", where=name, hint=advice)
    unpacked = sum(entry.file_size for entry in entries)
    # The stated sizes are safe to use: Python never reads more of an entry than that.
    if unpacked > limits.unpacked or len(entries) > _MAX_PARTS:
        raise InputError(
            f"The document is too large: {unpacked:,} bytes unpacked in {len(entries):,} parts; at most {limits.unpacked:,} in {_MAX_PARTS:,} are allowed.",
            where=name,
        )
    if any(entry.flag_bits & 1 for entry in entries):
        raise InputError("The document is encrypted. Save it without a password.", where=name)


def _title(document: Any) -> str:
    """Return the title at the start, else that of the properties, else the only heading of level 1.

    The properties come second, because they often have the title of a template.
    """
    names = {style.style_id: style.name for style in document.styles}  # `paragraph.style` is slow
    headings = []
    for number, paragraph in enumerate(document.paragraphs):
        style = names.get(paragraph._p.style)
        if style not in ("Title", "Heading 1") or not paragraph.text.strip():
            continue
        if style == "Heading 1":
            headings.append((number, str(paragraph.text)))
        elif number < _MOST_BEFORE_TITLE:
            return str(paragraph.text)
    stated = str(document.core_properties.title or "")
    if stated and stated != _NO_TITLE:
        return stated
    only = len(headings) == 1 and headings[0][0] < _MOST_BEFORE_TITLE
    return headings[0][1] if only else ""


class _Text:
    """Converts a document to text, with Markdown markup for headings, items and rows."""

    def __init__(self, etree: Any, styles: Any, numbering: Any) -> None:
        self._etree = etree
        self._styles = {style.get(f"{_W}styleId"): style for style in styles.iter(f"{_W}style")}
        self._numbers = _Numbers(numbering)
        self._notes: dict[str, str] = {}
        """Texts of notes that were not written yet, by the tag of the reference and the id."""

    def add_notes(self, root: Any) -> None:
        """Keep the notes below an element, to be written after the paragraphs that refer to them."""
        for note in root.iter(*_NOTES):
            if text := self.of(note):
                self._notes[f"{note.tag}Reference {note.get(f'{_W}id')}"] = text

    def number_notes(self, body: Any) -> None:
        """Give each note a mark and write it where the body refers to it, unless it has its own mark."""
        for number, reference in enumerate(body.iter(*_REFERENCES), 1):
            key = _key_of(reference)
            if key in self._notes and not reference.get(f"{_W}customMarkFollows"):
                reference.text = superscript(str(number))
                self._notes[key] = f"{reference.text} {self._notes[key]}"

    def other_notes(self) -> list[str]:
        """Return the notes that nothing refers to."""
        return list(self._notes.values())

    def of(self, root: Any) -> str:
        """Return the text below an element."""
        blocks: list[tuple[str, str]] = []  # (indented item marker, text)
        paragraphs: list[list[str]] = []  # open ones: a text box is nested in a paragraph
        notes: list[str] = []  # due after the list, table or paragraph
        begun = ""  # the text of a paragraph that continues in the next one
        for math in root.iter(f"{_M}oMath"):
            text = _equation(self._etree, math)
            math.clear()
            self._etree.SubElement(math, f"{_W}t").text = text
        walk = self._etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            tag = element.tag
            if event == "start":
                if tag in _NO_TEXT or _is_deleted(element) or _is_contents(element):
                    walk.skip_subtree()
                    if paragraphs and tag not in _NO_TEXT:
                        paragraphs[-1].append(_GONE)
                elif tag == f"{_W}p":
                    paragraphs.append([])
                elif tag == f"{_W}tbl" and (lines := self._table(element)):
                    blocks += [*_due(notes), ("", "\n".join(lines))]
                    notes += self._notes_of(element)
                    walk.skip_subtree()
            elif tag == f"{_W}p":
                said = begun + "".join(paragraphs.pop())
                begun = said if _goes_on(element) else ""
                lines = [line.strip() for line in _without_gaps(said).split("\n")]
                if not begun:
                    block = self._paragraph(element, "\n".join(lines).strip())
                    if any(lines) and block[1]:
                        blocks += [*(_due(notes) if not block[0] else ()), block]
                notes += self._notes_of(element)
            elif paragraphs:
                paragraphs[-1].append(_shown(element))
        blocks += _due(notes)
        parts: list[str] = []
        before = ""
        for mark, text in _with_rows(blocks):
            # A number after deeper items may belong to a heading.
            listed = before and (mark.strip() == "-" or _depth(mark) >= _depth(before))
            parts.append("\n" if mark and listed else "\n\n")
            parts.append(f"{mark} {text}" if mark else text)
            before = mark
        return "".join(parts).strip()

    def _notes_of(self, element: Any) -> list[str]:
        """Return the notes that an element refers to, each once."""
        keys = map(_key_of, element.iter(*_REFERENCES) if self._notes else ())
        return [self._notes.pop(key) for key in keys if key in self._notes]

    def _paragraph(self, element: Any, text: str) -> tuple[str, str]:
        """Return the marker of a paragraph and its text; the marker is empty unless it is a list item."""
        settings = [element.find(f"{_W}pPr")]
        style = self._styles.get(_value(settings, "pStyle"))
        name = ""
        for _ in range(_MAX_BASE_STYLES):
            if style is None:
                break
            name = name or _value([style], "name").lower()
            settings.append(style.find(f"{_W}pPr"))
            style = self._styles.get(_value([style], "basedOn"))
        if _CONTENTS.match(name):
            return "", ""
        number, depth = self._numbers.next(settings)
        level = _level(name, _value(settings, "outlineLvl"))
        if level and len(text) <= _LONGEST_HEADING:
            words = text.split() if number in ("", "-") else [number, *text.split()]
            return "", f"{'#' * level} {' '.join(words)}"
        if not number and name.startswith("list bullet"):
            number = "-"
        if nested := _NESTED_STYLE.fullmatch(name):
            depth = max(depth, int(nested[1]) - 1)
        if _ITEM.fullmatch(number):
            return f"{'  ' * depth}{number}", text
        return "", f"{number} {text}".strip()

    def _table(self, table: Any) -> list[str]:
        """Return the lines of a table; empty for a layout table."""
        if any(each is not table for each in islice(table.iter(f"{_W}tbl"), 2)):
            return []
        rows: list[list[str]] = []
        above: list[str] = []  # the first row, with its cells in all columns that they span
        for number, row in enumerate(table.iter(f"{_W}tr")):
            texts: list[str] = []
            cells = list(row.iter(f"{_W}tc"))
            merged = False
            for cell in cells:
                merge, span = _merge(cell)
                goes_on = merge and rows and len(texts) < len(rows[-1])
                merged = merged or bool(goes_on)
                texts.append(rows[-1][len(texts)] if goes_on else self.line(cell))
                above += [texts[-1]] * (0 if rows else span)
                texts += [""] * (span - 1 if len(cells) > 1 else 0)
            if number == 1 and rows[0] != above and merged and len(above) == len(texts):
                rows = [[a if a == b else f"{a} {b}" for a, b in zip(above, texts, strict=True)]]
            else:
                rows.append(texts)
        return table_lines(rows) if max(map(len, rows), default=0) > 1 else []

    def line(self, cell: Any) -> str:
        """Return the text of a cell, header or footer on one line."""
        parts: list[str] = []
        walk = self._etree.iterwalk(cell, events=("start", "end"))
        for event, element in walk:
            if event == "start" and (element.tag in _NO_TEXT or _is_deleted(element)):
                walk.skip_subtree()
            elif event == "end":
                parts.append(" " if element.tag == f"{_W}p" else _shown(element))
        return "".join(parts)


class _Numbers:
    """Numbers the paragraphs of lists, by the document's numbering part if it has one."""

    def __init__(self, numbering: Any) -> None:
        parts = [] if numbering is None else [numbering]
        self._lists = {
            each.get(f"{_W}numId"): each for part in parts for each in part.iter(f"{_W}num")
        }
        self._formats = {
            each.get(f"{_W}abstractNumId"): {
                level.get(f"{_W}ilvl"): level for level in each.iter(f"{_W}lvl")
            }
            for part in parts
            for each in part.iter(f"{_W}abstractNum")
        }
        self._counts: dict[str, list[int]] = {}
        """For each abstract list, the last number at each level; 0 before the first item."""
        self._begun: set[str] = set()

    def next(self, settings: Sequence[Any]) -> tuple[str, int]:
        """Return the number of a paragraph with these properties, and its level from 0.

        The number is ``-`` for a bullet, and empty for a paragraph outside of lists.
        """
        numbered = [each.find(f"{_W}numPr") for each in settings if each is not None]
        list_id = _value(numbered, "numId")
        if list_id not in self._lists:
            return "", 0
        kind = _value([self._lists[list_id]], "abstractNumId")
        levels = self._formats.get(kind, {})
        depth = _whole(_value(numbered, "ilvl"))
        level = levels.get(str(depth))
        if level is None or depth >= _LEVELS:
            return "", 0
        counts = self._counts.setdefault(kind, [0] * _LEVELS)
        if list_id not in self._begun:
            self._begun.add(list_id)
            for each in self._lists[list_id].iter(f"{_W}lvlOverride"):
                if override := _value([each], "startOverride"):
                    counts[_whole(each.get(f"{_W}ilvl")) % _LEVELS] = _whole(override) - 1
        start = _whole(_value([level], "start") or "1")
        counts[depth] = counts[depth] + 1 if counts[depth] else max(start, 1)
        for deeper in range(depth + 1, _LEVELS):
            if _value([levels.get(str(deeper))], "lvlRestart") != "0":
                counts[deeper] = 0
        if _value([level], "numFmt") == "bullet":
            return "-", depth

        legal = level.find(f"{_W}isLgl") is not None  # all numbers are decimal

        def number(found: re.Match[str]) -> str:
            at = int(found[1]) - 1
            style = _value([levels.get(str(at))], "numFmt")
            text = numeral(counts[at] or 1, "1" if legal else _NUMERALS.get(style, "1"))
            return text.zfill(2) if style == "decimalZero" else text

        return _PLACE.sub(number, _value([level], "lvlText")[:100]).strip(), depth


def _due(notes: list[str]) -> list[tuple[str, str]]:
    """Return notes as blocks, and remove them from the list."""
    blocks = [("", note) for note in notes]
    notes.clear()
    return blocks


def _with_rows(blocks: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the blocks; consecutive paragraphs with equally many cells between tabs become a table."""
    for columns, run in groupby(blocks, key=lambda block: len(_cells(block))):
        some = list(run)
        if columns < 2 or len(some) < 2:
            yield from some
            continue
        header, *rows = map(_cells, some)
        named = columns > 2 and not any(map(_FIGURE.search, header[1:]))
        yield "", "\n".join(table_lines([header, *rows], headless=not named))


def _cells(block: tuple[str, str]) -> list[str]:
    """Return the cells of a paragraph; none if it is a list item, a heading or longer than a line."""
    mark, text = block
    cells = [cell.strip() for cell in text.split("\t") if cell.strip()]
    listed = mark or text.startswith(("|", "#")) or _BY_HAND.fullmatch(cells[0])
    return [] if listed or "\n" in text or len(text) > _LONGEST_ROW else cells


def _merge(cell: Any) -> tuple[bool, int]:
    """Return whether a cell is the lower part of a merged one, and how many columns it spans."""
    found = cell.find(f"{_W}tcPr")
    merge = found.find(f"{_W}vMerge") if found is not None else None
    lower = merge is not None and merge.get(f"{_W}val") != "restart"
    return lower, min(_whole(_value([found], "gridSpan")) or 1, _MAX_COLUMNS)


def _depth(mark: str) -> int:
    return len(mark) - len(mark.lstrip())


def _level(name: str, outline: str) -> int:
    """Return the heading level of a paragraph; 0 if it is not a heading."""
    if found := _HEADING_STYLE.fullmatch(name):
        return min(int(found[1]), 6)
    if name == "title":
        return 1
    return min(int(outline) + 1, 6) if outline in set("012345678") else 0


def _equation(etree: Any, element: Any) -> str:
    parts: list[str] = []
    for event, each in etree.iterwalk(element, events=("start", "end")):
        name = str(each.tag).removeprefix(_M)
        before, after = _EQUATION.get(name, ("", each.text or "" if name == "t" else ""))
        parts.append(before if event == "start" else after)
    text = _SINGLE.sub(r"\1", "".join(parts)).translate({1: "(", 2: ")"})
    return _POWER.sub(lambda found: superscript(found[1]), text)


def _without_gaps(text: str) -> str:
    return text.replace(f" {_GONE} ", " ").replace(_GONE, "")


def _goes_on(element: Any) -> bool:
    after = element.getnext()
    return after is not None and after.tag == element.tag and _is_marked(element, _JOINED)


def _is_marked(element: Any, paths: Iterable[str]) -> bool:
    marks = (element.find(path) for path in paths)
    return any(mark is not None and mark.get(f"{_W}val") not in _OFF for mark in marks)


def _is_deleted(element: Any) -> bool:
    """Whether an element is deleted, hidden, or struck through."""
    return element.tag in _DELETED or (element.tag == f"{_W}r" and _is_marked(element, _UNSAID))


def _is_contents(element: Any) -> bool:
    """Whether an element is a table of contents that Word or Google Docs made."""
    found = element.find(f"{_W}sdtPr//{_W}docPartGallery") if element.tag == f"{_W}sdt" else None
    return found is not None and found.get(f"{_W}val") == "Table of Contents"


def _key_of(reference: Any) -> str:
    return f"{reference.tag} {reference.get(f'{_W}id')}"


def _shown(element: Any) -> str:
    """Return the text of an element, without its children."""
    if element.tag in _REFERENCES:
        return element.text or ""
    if element.tag == f"{_W}t":
        raised = _value([element.getparent().find(f"{_W}rPr")], "vertAlign") == "superscript"
        return superscript(element.text or "") if raised else element.text or ""
    if element.tag == f"{_W}sym":
        code = element.get(f"{_W}char", "").upper()
        signs = _SYMBOLS if element.get(f"{_W}font") == "Symbol" else _WINGDINGS
        return signs.get(code, "")
    if element.tag == f"{_W}ddList":  # of a form, as are the boxes
        chosen = _whole(_value([element], "result") or _value([element], "default"))
        entries = element.findall(f"{_W}listEntry")
        return str(entries[chosen].get(f"{_W}val")) if chosen < len(entries) else ""
    if element.tag == f"{_W}checkBox":  # of a form
        given = element.find(f"{_W}checked")
        given = element.find(f"{_W}default") if given is None else given
        return "☐" if given is None or given.get(f"{_W}val") in _OFF else "☑"
    if element.tag == _WATERMARK:
        return str(element.get("string") or "")
    return _CHARACTERS.get(element.tag, "")


def _value(parents: Iterable[Any], tag: str) -> str:
    """Return the value of the first child with this tag; empty if no parent has one."""
    for parent in parents:
        child = parent.find(f"{_W}{tag}") if parent is not None else None
        if child is not None:
            return str(child.get(f"{_W}val") or "")
    return ""


def _whole(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 6 else 0
