"""HTML: the visible text of a page, with Markdown markup for headings, items and rows."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from semqa.documents.parsers.boilerplate import (
    HEADINGS,
    LONGEST_JUMP,
    LONGEST_VALUE,
    Boilerplate,
    is_hidden,
    is_longer,
    is_section_title,
    line_of,
    text_start,
)
from semqa.documents.parsers.plain import decode, numeral, superscript, table_lines
from semqa.errors import InputError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.documents.document import Limits
    from semqa.documents.parsers import Parsed

_DECLARED_ENCODING = re.compile(
    rb"<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?([\w.:-]{1,40})", re.I
)
_DECLARATION = re.compile(r"\s*<\?xml[^>]{0,500}\?>")

_CELLS = frozenset(["td", "th"])
_PARAGRAPHS = (
    "address article aside blockquote body center details dl fieldset figure footer form header hr "
    "main ol p section summary table ul"
)
_LINES = "br caption dd div dt figcaption legend li option td th tr"
_BREAKS = {
    **dict.fromkeys(_PARAGRAPHS.split(), 2),
    **dict.fromkeys((*_LINES.split(), "pre", *HEADINGS), 1),
}
"""Line breaks before and after an element."""

_BULLETS = frozenset("-–*•·»")


_SIGN = re.compile(
    r"(?:^|[ #_/-])(?:(?P<no>cross|times|remove|x-?mark|close|clear|no|not[ -]included|excluded|"
    r"(?:bi|fa|icon|lucide)-x)|check(?:ed|mark)?|done|ok|tick|yes|included)"
    r"(?:[ _-]?(?:alt|bold|circle|fill|icon|lg|square|\d+))*(?:$|[ .])",
    re.IGNORECASE,
)
"""Names of signs for "yes" and "no"."""


_NOTE_NUMBER, _NOTE_START = re.compile(r"\s*(\d{1,2})(?!\d)"), re.compile(r"[.):]?\s+[^\W\d_]")
_NOTED = re.compile(r"(?:[^\W\d_]{3,}|[.,;:)])\s*\Z")
"""The number of a note, the text after it at the start of the note, and the text before its mark."""

_LABELS = ("alt", "aria-label", "title")
_LINKED = ("src", "href", "{http://www.w3.org/1999/xlink}href", "xlink:href")
"""Attributes that describe a picture, and those that identify it."""

_CELL_TAGS = frozenset(["div", "span", "p", "a", "b", "strong", "em"])
_MIN_ROWS, _LONGEST_CELL, _MOST_IN_CELL = 3, 80, 20
"""Minimum number of rows of a table without table elements; maximum length and elements of a cell."""

_WORD_END, _WORD_START = re.compile(r"[^\W\d_]{2}[a-z]\Z"), re.compile(r"[A-Z\d£$€]")
"""The end and the start of adjacent elements that are separate words: "Serves" and "10"."""

_MAX_COLUMNS = 200

_MAX_INDENT = 5
"""Maximum indentation of nested list items, in levels."""


def parse_html(name: str, data: bytes, limits: Limits) -> Parsed:  # noqa: ARG001
    """Return the page's title and visible text."""
    declared = _DECLARED_ENCODING.search(data[:4096])
    page = decode(name, data, declared[1].decode("ascii", "ignore") if declared else None)
    title, heading, text = text_of(name, page)
    return title or heading, text, ()


def text_of(name: str, page: str) -> tuple[str, str, str]:
    """Return the title, the ``h1`` if there is only one, and the text of a page."""
    etree = require("lxml.etree", extra="documents", purpose=f"reading {name}")
    parser = etree.HTMLParser(
        encoding="utf-8",
        huge_tree=True,
        no_network=True,
        recover=True,
        remove_comments=True,
        remove_pis=True,
    )
    declaration = _DECLARATION.match(page)
    raw = page[declaration.end() if declaration else 0 :].encode("utf-8", "replace")
    try:
        root = etree.fromstring(raw, parser)
    except etree.LxmlError as error:
        if not page.strip():
            return "", "", ""
        raise InputError(f"The HTML cannot be read: {str(error)[:80]}.", where=name) from error
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        # The parser silently drops the rest.
        raise InputError("The page's elements are nested too deeply. Save it as text.", where=name)
    if root is None:
        return "", "", ""
    found = root.find(".//title")
    title = line_of(found) if found is not None else ""
    headings = set(map(line_of, root.iter("h1"))) - {""}
    return title, headings.pop() if len(headings) == 1 else "", _Text(etree).of(root)


class _Text:
    """Converts a page to text. Iterative, because elements may be nested too deeply for recursion."""

    def __init__(self, etree: Any) -> None:
        self._etree = etree
        self._parts: list[str] = []
        self._breaks = 0
        """Line breaks pending before the next text, at most two."""
        self._blank = False
        self._mark = ""
        """Pending item marker for the next text."""
        self._lists: list[tuple[str, int]] = []
        """For each open list, the style of its numbers (empty for bullets) and the next number."""
        self._tight: list[bool] = []
        """For each open item, whether its paragraphs are lines of one block."""
        self._answer_due = False

    def of(self, root: Any) -> str:
        walk = self._etree.iterwalk(root, events=("start", "end"))
        hidden: Any = None
        boilerplate = Boilerplate(root)
        _mark_notes(root)
        _write_signs(root)
        _title_panels(root)
        _open_panels(root)
        for event, element in walk:
            tag = element.tag
            if event == "start":
                left_out = boilerplate.leaves_out(element, tag, first=not self._parts)
                hidden = element if left_out else None
                if hidden is not None or self._is_whole(element, tag):
                    # Its end event still follows, with the tail text.
                    walk.skip_subtree()
                else:
                    self._start(element, tag)
                    self._add(element.text)
            else:
                if element is not hidden:
                    self._end(element, tag)
                if element is not root:
                    self._add(element.tail)
        return "".join(self._parts).strip()

    def _is_whole(self, element: Any, tag: str) -> bool:
        """Write a heading, a preformatted block or a data table; return False for other elements."""
        if tag in HEADINGS:
            self._write_block([f"{'#' * int(tag[1])} {self._line(element)}"], tag)
        elif is_section_title(element, tag):
            self._write_block([f"###### {self._line(element)}"], tag)
        elif tag == "pre":
            lines = self._visible(element, "\n").strip("\n").rstrip().split("\n")
            # Indented as in Markdown, so that no line of code looks like a heading.
            self._write_block([f"    {line}".rstrip() for line in lines], tag)
        elif tag == "div" and (cells := _grid(element)):
            self._write_block(self._grid_lines(cells), tag)
        elif tag == "table" and _is_data(element):
            rows = self._rows(element)
            for caption in element.iter("caption"):
                self._write_block([self._line(caption)], tag)
            titled = len(rows) > 2 and len(rows[0]) == 1 < len(rows[1]) and _names_columns(element)
            if titled and any(len(row) == 1 for row in rows[2:]):
                rows[:2] = rows[1::-1]  # the first of several sections
            elif titled:
                self._write_block(rows.pop(0), tag)
            self._write_block(table_lines(rows, headless=_is_headless(element, titled)), tag)
        else:
            return False
        return True

    def _grid_lines(self, cells: Sequence[Sequence[Any]]) -> list[str]:
        """Return the lines of a numbered list or table made of other elements."""
        rows = [[self._line(cell) or _label(cell) for cell in row] for row in cells]
        if [row[0] for row in rows] == [str(number) for number in range(1, len(rows) + 1)]:
            return [f"{row[0]}. {' '.join(row[1:])}" for row in rows]
        first, *others = (row[0].getparent().get("class") for row in cells)
        headless = len(rows[0]) == 2 or first in others or len(set(others)) > 1
        return table_lines(rows, headless=headless)

    def _rows(self, table: Any) -> list[list[str]]:
        """Return the rows of a table.

        A cell is repeated in the rows that it spans, and in the columns unless it is the first.
        The rows of a header with several are joined.
        """
        rows: list[list[str]] = []
        heads = 0
        spans: dict[int, tuple[int, str]] = {}  # by column: further rows, text
        for row in table.iter("tr"):
            if is_hidden(row):
                continue
            cells = [cell for cell in row if cell.tag in _CELLS]
            texts: list[str] = []

            def carry(texts: list[str] = texts) -> None:
                while len(texts) in spans and spans[len(texts)][0]:
                    left, text = spans[len(texts)]
                    spans[len(texts)] = left - 1, text
                    texts.append(text)

            head = heads == len(rows) and (
                row.getparent().tag == "thead" or all(cell.tag == "th" for cell in cells)
            )
            for cell in cells:
                carry()
                text = self._line(cell) or _label(cell)
                columns = min(_whole(cell.get("colspan"), 1) or 1, _MAX_COLUMNS)
                if len(cells) == 1 and not texts:
                    columns = 1
                further = _whole(cell.get("rowspan"), 1) - 1
                again = text if head or texts else ""
                for at in range(columns):
                    spans[len(texts)] = max(further, 0), text
                    texts.append(again if at else text)
            carry()
            if cells:
                rows.append(texts)
                heads += head
        if 1 < heads < len(rows) and len({len(row) for row in rows[:heads]}) == 1:
            joined = [
                " ".join(dict.fromkeys(filter(None, each)))
                for each in zip(*rows[:heads], strict=True)
            ]
            rows = [joined, *rows[heads:]]
        return rows

    def _write_block(self, lines: Sequence[str], tag: str) -> None:
        if not any(line.strip("# ") for line in lines):
            return
        if tag != "pre":
            self._loosen()
        self._break(2)
        lines = [lines[0].lstrip(), *lines[1:]] if self._mark else lines
        self._write("\n".join(lines))
        self._break(2)

    def _loosen(self) -> None:
        """Make the rest of an item separate blocks."""
        if self._tight:
            self._tight[-1] = False
            self._mark = ""

    def _start(self, element: Any, tag: str) -> None:
        if tag in ("ul", "ol"):
            self._break(2)
            style = (element.get("type") or "1")[0] if tag == "ol" else ""
            self._lists.append((style, _whole(element.get("start"), 1)))
        elif tag == "li":
            self._break(1)
            self._mark = self._item_mark(element)
            self._tight.append(True)
        elif tag == "dl":
            self._loosen()
            self._break(2)
        elif tag == "dt":
            before = element.getprevious()
            self._break(1 if before is not None and before.tag == "dt" else 2)
        elif tag == "br" and self._breaks:
            self._break(2)
        elif tag == "dd" and _is_value(element):
            self._parts.append(":")
            self._breaks, self._blank = 0, True
            self._tight.append(True)
        else:
            self._break(_breaks(element, tag))
            before = element.getprevious()
            if before is not None and not before.tail and not self._breaks and self._parts:
                # separated by their style
                self._blank |= tag == before.tag == "a" or (
                    {tag, before.tag} <= {"a", "span"}
                    and _WORD_END.search(self._parts[-1]) is not None
                    and _WORD_START.match(text_start(element).lstrip()) is not None
                )
            if tag == "dd":
                self._tight.append(True)

    def _end(self, element: Any, tag: str) -> None:
        if tag in ("li", "dd"):
            self._mark = ""
            self._break(1 if self._tight.pop() else 2)
        elif tag in ("ul", "ol"):
            self._lists.pop()
            self._break(2)
        elif tag == "summary":
            self._break(2)
            self._end_question()
        elif tag in ("b", "strong") and _begins_paragraph(element):
            self._end_question()
        elif tag != "br" and tag not in HEADINGS:
            self._break(_breaks(element, tag))

    def _item_mark(self, element: Any) -> str:
        style, number = self._lists[-1] if self._lists else ("", 0)
        mark = "- "
        if style:
            number = _whole(element.get("value"), number)
            self._lists[-1] = (style, number + 1)
            mark = f"{numeral(number, style)}{')' if style.isupper() else '.'} "
        return "  " * min(max(len(self._lists) - 1, 0), _MAX_INDENT) + mark

    def _asks(self) -> bool:
        return "".join(self._parts[-1:]).endswith(("?", "？"))

    def _end_question(self) -> None:
        """Put an answer on the line after its question."""
        if self._asks():
            self._breaks, self._answer_due = 1, True

    def _line(self, element: Any) -> str:
        return " ".join(self._visible(element, " ").split())

    def _visible(self, element: Any, between: str) -> str:
        """Return the visible text of an element, with `between` between its blocks."""
        parts: list[str] = []
        for event, each in (walk := self._etree.iterwalk(element, events=("start", "end"))):
            if event == "start":
                # A button in a heading toggles its section.
                if each.tag != "button" and is_hidden(each):
                    walk.skip_subtree()
                    continue
                parts += [between if each.tag in _BREAKS and parts else "", each.text or ""]
            elif each is not element:
                ends = each.tag in _BREAKS and each.tag != "br"
                parts += [between if ends else "", each.tail or ""]
        return "".join(parts)

    def _break(self, wanted: int) -> None:
        """Begin a new line (1) or block (2) before the next text; items contain only lines."""
        most = 1 if self._answer_due or (self._tight and self._tight[-1]) else 2
        self._breaks = max(self._breaks, min(wanted, most))

    def _add(self, text: str | None) -> None:
        words = (text or "").split()
        if self._mark and words and words[0] in _BULLETS:
            words = words[1:]  # a bullet typed into the text
        if text and words:
            self._blank = self._blank or text[0].isspace()
            self._write(" ".join(words))
            self._blank = text[-1].isspace()
        elif text:
            self._blank = True

    def _write(self, text: str) -> None:
        if self._breaks and self._parts:
            self._parts.append("\n" * self._breaks)
        elif self._blank and self._parts:
            self._parts.append(" ")
        self._parts.append(self._mark + text)
        self._breaks, self._blank, self._mark, self._answer_due = 0, False, "", False


def _is_value(element: Any) -> bool:
    """Whether a ``dd`` is the only paragraph below a term, as in "Weight", "3 kg"."""
    term, after = element.getprevious(), element.getnext()
    return (
        term is not None
        and term.tag == "dt"
        and (after is None or after.tag != "dd")
        and not is_section_title(term, "dt")
        and "".join(term.itertext()).rstrip()[-1:].isalnum()
        and next(element.iterdescendants(*_BREAKS), None) is None
    )


def _grid(element: Any) -> list[list[Any]]:
    """Return the cells of each row of a table made of other elements; empty for anything else.

    Its rows have equally many short cells without blocks; of two cells, the first is shorter.
    """
    rows = [list(row) for row in element]
    columns = len(rows[0]) if rows else 0
    if columns < 2 or len(rows) < _MIN_ROWS or (element.text or "").strip():
        return []
    for row, cells in zip(element, rows, strict=True):
        if (
            row.tag != "div"
            or len(cells) != columns
            or (row.text or "").strip()
            or (row.tail or "").strip()
            or is_hidden(row)
            or any(not _is_cell(cell) or (cell.tail or "").strip() for cell in cells)
            or (columns == 2 and is_longer(cells[0], LONGEST_VALUE // 2))
        ):
            return []
    return rows


def _is_cell(element: Any) -> bool:
    inside = list(islice(element.iterdescendants(), _MOST_IN_CELL))
    return (
        element.tag in _CELL_TAGS
        and len(inside) < _MOST_IN_CELL
        and not any(each.tag in _BREAKS or each.tag == "div" for each in inside)
        and not is_longer(element, _LONGEST_CELL)
    )


def _breaks(element: Any, tag: str) -> int:
    """Return the line breaks around an element; a ``div`` of some length without blocks is a paragraph.

    A table cell that contains line breaks is treated as a paragraph, too.
    """
    if tag in _CELLS and next(element.iter("br"), None) is not None:
        return 2
    if tag != "div" or any(each.tag != "br" for each in element.iterdescendants(*_BREAKS)):
        return _BREAKS.get(tag, 0)
    return 2 if is_longer(element, LONGEST_JUMP) else 1


def _mark_notes(root: Any) -> None:
    """Make the numbers of notes superscript like their marks, as in "£9<sup>1</sup>".

    The "2" of "m<sup>2</sup>" is not a mark. Nothing is changed unless one mark is 1 and each mark
    has a note: otherwise "2" may just begin a line such as "2 rooms".
    """
    marks: set[str] = set()
    notes: dict[str, list[Any]] = {}
    for each in root.iter():
        begins = _NOTE_NUMBER.match(each.text or "")
        if each.tag != "sup" or begins is None:
            if marks and begins and _NOTE_START.match(each.text, begins.end()):
                notes.setdefault(begins[1], []).append(each)
            continue
        before, parent = each.getprevious(), each.getparent()
        text = parent.text if before is None else before.tail
        if _NOTED.search(text or ""):
            marks.add(begins[1])
        elif before is None and not (text or "").strip():
            notes.setdefault(begins[1], []).append(each)
    for number in marks if "1" in marks and marks <= notes.keys() else ():
        raised = [each for each in notes[number] if each.tag == "sup"]
        for each in raised or notes[number] * (len(notes[number]) == 1):
            each.text = each.text.replace(number, superscript(number), 1)


def _write_signs(root: Any) -> None:
    """Write checkboxes as text, and superscripts as in "10⁶" except at the start of a note.

    Icons for "yes" and "no" in cells and items, recognised by their class names, become ✓ and ✗.
    """
    for each in root.iter("input"):
        if each.get("type", "").lower() in ("checkbox", "radio"):
            sign = "☐" if each.get("checked") is None else "☑"
            each.tail = f" {sign} {each.tail or ''}"
    written = None
    for each in root.iter("i", "img", "span", "svg"):
        within = next(each.iterancestors("a", "button", "li", "td", "th", "dd"), None)
        names = [each.get("class", ""), each.get("data-icon", "")]
        if "material-" in names[0]:  # a font whose words are pictures
            names[0], each.text = each.text or "", None
        if within is None or within.tag in ("a", "button"):  # "close" removes the item
            continue
        if written in each.iterancestors() or is_longer(each, 0):
            continue
        names += [use.get(key, "") for use in each.iter("use", "img") for key in _LINKED]
        if within.tag == "li":  # a cell shows its label
            names += [each.get(key, "") for key in _LABELS]
        shown = next(filter(None, map(_SIGN.search, names)), None)
        if shown and next(each.getparent().iter("input"), None) is None:
            each.tail = f"{'✗' if shown['no'] else '✓'} {each.tail or ''}"
            written = each
    for each in root.iter("sup"):
        if each.getprevious() is not None or (each.getparent().text or "").strip():
            each.text = superscript(each.text or "")


def _title_panels(root: Any) -> None:
    """Write the names of tabs above their panels, unless a heading there repeats them."""
    by_role: dict[str, list[Any]] = {"tab": [], "tabpanel": []}
    for each in root.iter():
        by_role.get(each.get("role"), []).append(each)
    tabs, panels = by_role.values()
    for tab, panel in zip(tabs, panels, strict=True) if len(tabs) == len(panels) else ():
        title = line_of(tab)
        if title not in map(line_of, panel.iter(*HEADINGS)):
            heading = panel.makeelement("h6")
            heading.text, heading.tail, panel.text = title, panel.text, None
            panel.insert(0, heading)


def _open_panels(root: Any) -> None:
    """Unhide what a button with `aria-expanded` unfolds: the elements it names and the next one."""
    named = set()
    for button in root.iter("button"):
        if button.get("aria-expanded") is not None:
            named.update(button.get("aria-controls", "").split())
            title = button.getparent() if button.getparent().tag in HEADINGS else button
            if (below := title.getnext()) is not None:
                below.attrib.pop("hidden", None)
    for each in root.iter() if named else ():
        if each.get("id") in named:
            each.attrib.pop("hidden", None)


def _label(cell: Any) -> str:
    """Return what a cell without visible text shows: the description of a picture or sign."""
    for each in islice(cell.iterdescendants(), _MOST_IN_CELL):
        for name in _LABELS:
            if label := each.get(name, "").strip():
                return str(label)
    return "".join(cell.itertext("title", "span")).strip()


def _is_data(table: Any) -> bool:
    """Whether a table contains data, not the layout of a page."""
    columns = rows = 0
    for each in table.iter():
        if each is not table and (each.tag == "table" or each.tag in HEADINGS):
            return False
        if each.tag == "tr":
            rows += 1
            columns = max(columns, sum(cell.tag in _CELLS for cell in each))
    if (
        rows == 1
        and next(table.iter("br"), None) is not None
        and next(table.iter("th"), None) is None
    ):
        return False
    return columns > 1 and table.get("role") not in ("none", "presentation")


def _is_headless(table: Any, titled: bool) -> bool:
    """Whether a table has row headers but no header row, ignoring its title if it has one."""
    first = next(islice(table.iter("tr"), int(titled), None))
    cells = [cell.tag for cell in first if cell.tag in _CELLS]
    blank = set(cells) == {"th"} and not "".join(first.itertext()).strip()
    return blank or (cells[:1] == ["th"] and "td" in cells)


def _names_columns(table: Any) -> bool:
    """Whether the second row begins with a header cell, so that the first row is a title."""
    second = next(islice(table.iter("tr"), 1, None))
    return next((cell.tag for cell in second if cell.tag in _CELLS), None) == "th"


def _begins_paragraph(element: Any) -> bool:
    parent, before = element.getparent(), element.getprevious()
    return parent.tag == "p" and before is None and not (parent.text or "").strip()


def _whole(value: str | None, default: int) -> int:
    return int(value) if value and value.isdecimal() and len(value) < 10 else default
