"""HTML: the text that a page shows, with the marks of Markdown for headings, items and rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from semqa.documents.parsers.plain import decode, numeral, table_lines
from semqa.errors import InputError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.documents.document import Limits

_STATED = re.compile(
    rb"<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?([\w.:-]{1,40})", re.I
)
_DECLARATION = re.compile(r"\s*<\?xml[^>]{0,500}\?>")

_SILENT = (
    "script style template noscript svg math iframe object embed canvas head nav select textarea "
    "button audio video map datalist"
)
_HEADINGS = frozenset(["h1", "h2", "h3", "h4", "h5", "h6"])
_CELLS = frozenset(["td", "th"])
_PARAGRAPHS = (
    "address article aside blockquote body center details dl fieldset figure footer form header hr "
    "main ol p section summary table ul"
)
_LINES = "br caption dd div dt figcaption legend li option td th tr"
_BREAKS = {
    **dict.fromkeys(_PARAGRAPHS.split(), 2),
    **dict.fromkeys((*_LINES.split(), "pre", *_HEADINGS), 1),
}
"""Line ends before and after an element."""

_NOT_SHOWN = frozenset(_SILENT.split())
_BULLETS = frozenset("-–*•·»")
_LISTS = frozenset(["ul", "ol", "dl"])
_FEWEST_LINKS = 3
"""Of a table of contents."""

_DEEPEST = 5
"""Levels by which the items of nested lists are indented."""


def parse(name: str, data: bytes, limits: Limits) -> tuple[str, str, tuple[int, ...]]:
    """Return the page's title and what it shows."""
    del limits
    stated = _STATED.search(data[:4096])
    page = decode(name, data, stated[1].decode("ascii", "ignore") if stated else None)
    title, heading, text = text_of(name, page)
    return title or heading, text, ()


def text_of(name: str, page: str) -> tuple[str, str, str]:
    """Return the title, the first heading and the text of a page."""
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
        # The parser leaves out what comes after, without a word.
        raise InputError("The page's elements are nested too deeply. Save it as text.", where=name)
    if root is None:
        return "", "", ""
    found = root.find(".//title")
    title = " ".join("".join(found.itertext()).split()) if found is not None else ""
    heading = root.find(".//h1")
    first = " ".join("".join(heading.itertext()).split()) if heading is not None else ""
    return title, first, _Text(etree).of(root)


class _Text:
    """Puts a page's text together; pages may be nested too deep for recursion."""

    def __init__(self, etree: Any) -> None:
        self._etree = etree
        self._parts: list[str] = []
        self._breaks = 0
        """Line ends due before the next text, at most two."""
        self._blank = False
        self._mark = ""
        """What the next text begins with if it is an item."""
        self._lists: list[tuple[str, int]] = []
        """For each open list the style of its numbers, empty for none, and the next number."""
        self._tight: list[bool] = []
        """For each open item, whether its paragraphs are lines of one block."""
        self._answer_due = False

    def of(self, root: Any) -> str:
        walk = self._etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            tag = element.tag if isinstance(element.tag, str) else ""
            if event == "start":
                if _is_silent(element) or self._is_whole(element, tag):
                    # Its end still comes, with the text after it.
                    walk.skip_subtree()
                else:
                    self._start(element, tag)
                    self._add(element.text)
            else:
                if not _is_silent(element):
                    self._end(element, tag)
                if element is not root:
                    self._add(element.tail)
        return "".join(self._parts).strip()

    def _is_whole(self, element: Any, tag: str) -> bool:
        """Write an element that is not a sequence of paragraphs; return whether it is one."""
        if tag in _HEADINGS:
            self._write_block([f"{'#' * int(tag[1])} {self._line(element)}"], tag)
        elif tag == "pre":
            lines = self._visible(element, "\n").strip("\n").rstrip().split("\n")
            # As in Markdown, and so that no line of a program is taken for a heading.
            self._write_block([f"    {line}".rstrip() for line in lines], tag)
        elif tag == "table" and _is_data(element):
            rows = [
                [self._line(cell) for cell in row if cell.tag in _CELLS]
                for row in element.iter("tr")
                if not _is_silent(row)
            ]
            for caption in element.iter("caption"):
                self._write_block([self._line(caption)], tag)
            self._write_block(table_lines(rows, headless=_is_headless(element)), tag)
        else:
            return False
        return True

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
        """Have what follows in an item be blocks of their own."""
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
        else:
            self._break(_BREAKS.get(tag, 0))
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
        elif tag != "br" and tag not in _HEADINGS:
            self._break(_BREAKS.get(tag, 0))

    def _item_mark(self, element: Any) -> str:
        style, number = self._lists[-1] if self._lists else ("", 0)
        mark = "- "
        if style:
            number = _whole(element.get("value"), number)
            self._lists[-1] = (style, number + 1)
            mark = f"{numeral(number, style)}{')' if style.isupper() else '.'} "
        return "  " * min(max(len(self._lists) - 1, 0), _DEEPEST) + mark

    def _asks(self) -> bool:
        return "".join(self._parts[-1:]).endswith(("?", "？"))

    def _end_question(self) -> None:
        """Have an answer follow its question at once."""
        if self._asks():
            self._breaks, self._answer_due = 1, True

    def _line(self, element: Any) -> str:
        return " ".join(self._visible(element, " ").split())

    def _visible(self, element: Any, between: str) -> str:
        """Return the text of an element, with a sign between its blocks."""
        parts: list[str] = []
        for event, each in (walk := self._etree.iterwalk(element, events=("start", "end"))):
            if event == "start":
                if _is_silent(each) and each.tag != "button":  # which unfolds what a heading heads
                    walk.skip_subtree()
                    continue
                parts += [between if each.tag in _BREAKS and parts else "", each.text or ""]
            elif each is not element:
                parts += [
                    between if each.tag in _BREAKS and each.tag != "br" else "",
                    each.tail or "",
                ]
        return "".join(parts)

    def _break(self, wanted: int) -> None:
        """Have the next text begin a line, or a block; within an item there are only lines."""
        most = 1 if self._answer_due or (self._tight and self._tight[-1]) else 2
        self._breaks = max(self._breaks, min(wanted, most))

    def _add(self, text: str | None) -> None:
        words = (text or "").split()
        if self._mark and words and words[0] in _BULLETS:
            words = words[1:]  # typed as well
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


def _is_silent(element: Any) -> bool:
    return (
        element.tag in _NOT_SHOWN
        or element.get("hidden") is not None
        or (element.tag in _LISTS and _is_contents(element))
    )


def _is_contents(element: Any) -> bool:
    """Whether a list is a table of contents: all its words are in links to sections."""
    links = 0
    walk = element.iter()
    next(walk)
    for each in walk:
        if each.tag == "a":
            if "#" not in each.get("href", ""):
                return False
            links += 1
        elif _says(each.text) and not _in_link(each, element):
            return False
        if _says(each.tail) and not _in_link(each.getparent(), element):
            return False
    return links >= _FEWEST_LINKS


def _says(text: str | None) -> bool:
    return text is not None and any(map(str.isalpha, text))


def _in_link(element: Any, within: Any) -> bool:
    while element is not None and element is not within:
        if element.tag == "a":
            return True
        element = element.getparent()
    return False


def _is_data(table: Any) -> bool:
    """Whether a table holds data; others only lay a page out."""
    columns = 0
    for each in table.iter():
        if each is not table and (each.tag == "table" or each.tag in _HEADINGS):
            return False
        if each.tag == "tr":
            columns = max(columns, sum(cell.tag in _CELLS for cell in each))
    return columns > 1 and table.get("role") not in ("none", "presentation")


def _is_headless(table: Any) -> bool:
    """Whether each row of a table has a name of its own, from the first on."""
    cells = [cell.tag for cell in next(table.iter("tr")) if cell.tag in _CELLS]
    return cells[:1] == ["th"] and "td" in cells


def _begins_paragraph(element: Any) -> bool:
    parent = element.getparent()
    return (
        parent is not None
        and parent.tag == "p"
        and element.getprevious() is None
        and not (parent.text or "").strip()
    )


def _whole(value: str | None, default: int) -> int:
    return int(value) if value and value.isdecimal() and len(value) < 10 else default
