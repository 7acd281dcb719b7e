"""HTML: the visible text of a page, with Markdown markup for headings, items and rows.

Markdown is rendered to HTML first. E-mails may contain HTML.
"""

from __future__ import annotations

import re
from contextlib import suppress
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header, make_header
from email.policy import default
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from semqa.documents.document import clean
from semqa.documents.parsers.plain import decode, numeral, superscript, table_lines
from semqa.documents.structure import NEGATES
from semqa.errors import InputError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence
    from email.message import EmailMessage, MIMEPart

    from semqa.documents.document import Limits
    from semqa.documents.parsers import Parsed

_DECLARED_ENCODING = re.compile(
    rb"<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?([\w.:-]{1,40})", re.I
)
_DECLARATION = re.compile(r"\s*<\?xml[^>]{0,500}\?>")

_HIDDEN_TAGS = (
    "script style template noscript svg math iframe object embed canvas head nav select textarea "
    "button audio video map datalist del s strike"
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
"""Line breaks before and after an element."""

_HIDDEN = frozenset(_HIDDEN_TAGS.split())
_BULLETS = frozenset("-–*•·»")
_LISTS = frozenset(["ul", "ol", "dl"])
_MOST_LINKED = 20_000
"""An element with more elements than this is part of the text."""

_TITLES = frozenset(["dt", "summary", "button", *_HEADINGS])
_TITLE_SIGN = re.compile(r"\s*[#¶§🔗+−–▼▲▾▴▸►›»⌄∨]\s*")
"""A sign in a title that links to it or unfolds the text below it."""

_MIN_LINKS = 3
"""Minimum number of links in a table of contents."""

_ROLES = frozenset(["navigation", "search", "menu", "menubar", "dialog", "alertdialog", "tablist"])
"""Roles of elements that are not part of the page's text."""

_BLOCKS = frozenset(["div", "section", "aside", "header", "ul", "ol", "p", "a", "span", "form"])
_BEFORE_HEADING = _BLOCKS - {"a", "span"} | {"td"}
"""Blocks that are left out before the ``h1`` if they hold only links."""

_NOTICE = re.compile(
    r"cookie[-_]?(?:banner|bar|consent|notice|law|popup|message|modal|overlay|dialog)|cookiebot"
    r"|onetrust|\bgdpr|\bskip[-_]?(?:link|to|nav)|(?:^| )skip(?: |$)|breadcrumb|\bcrumbs\b"
    r"|\bscreen-reader-text\b|\bsr-only\b|\bvisually-hidden\b",
    re.IGNORECASE,
)
"""Class names and ids of cookie notices, breadcrumbs, and what only a screen reader reads."""

_UNSEEN = frozenset(["screen-reader-text", "sr-only", "visually-hidden"])
_TELLS = re.compile(rf"{NEGATES.pattern}|\b(?:old|original|previous|regular|was)\b", re.IGNORECASE)
"""What a screen reader must say: "Not included", or which of two prices is the old one."""

_STRUCK = re.compile(
    r"(?:^|[ _-])(?:line-through|strike(?:through)?|struck|old-price|price-old|was-price|price-was)(?:$| )",
    re.IGNORECASE,
)
"""Class names of text that a style sheet strikes through."""

_SIGN = re.compile(
    r"(?:^|[ #_/-])(?:(?P<no>cross|times|remove|x-?mark|close|clear|no|not[ -]included|excluded|"
    r"(?:bi|fa|icon|lucide)-x)|check(?:ed|mark)?|done|ok|tick|yes|included)"
    r"(?:[ _-]?(?:alt|bold|circle|fill|icon|lg|square|\d+))*(?:$|[ .])",
    re.IGNORECASE,
)
"""Names of signs for "yes" and "no"."""

_ACCEPT = re.compile(
    r"\s*(?:(?:I|yes,?) )?(?:accept|agree|allow|got it|ok(?:ay)?|understood|alle (?:cookies )?akzeptieren|akzeptieren|"
    r"zustimmen|einverstanden|verstanden|(?:tout )?accepter|j[’']accepte|aceptar|de acuerdo)\b",
    re.IGNORECASE,
)
"""The text of the button of a cookie notice."""

_PRIVACY = re.compile(
    r"\b(?:us(?:e|es|ing|amos|o) |(?:web)?sites?\b|privacy|consent|experience|preferences|settings|"
    r"analy|datenschutz|verwend|nutz|einstellungen|utilis|utiliza)",
    re.IGNORECASE,
)
"""Words of a cookie notice that are rare in a recipe for cookies."""

_MAX_BUTTONS, _LEVELS, _MAX_HEADINGS = 20, 6, 5
"""Maximum number of buttons examined, of ancestors of each, and of headings."""

_LINKS = re.compile(
    r"(?:^|[ _-])(?:menu|nav|navbar|topbar|sidebar|share|social|footer)\b", re.IGNORECASE
)
"""Class names and ids of elements that are left out if all of their words are links."""

_CONTROL = re.compile(
    r"(?:back to top|continue reading|copy link|like|permalink|pin it|read more|reply|share|tweet)\W*",
    re.IGNORECASE,
)
"""The text of a link that does something with a comment or page, rather than tell something."""

_TRAIL = re.compile(r"([^>›»→|]{1,40})(?: [>›»→] [^>›»→|]{1,60}){1,6}")
_MOST_IN_TRAIL = 30
"""Maximum number of elements in a breadcrumb trail."""

_LONGEST_NOTICE = 2_000
_LONGEST_JUMP = 60
_LONGEST_VALUE, _TERM_WORDS, _MOST_TERMS = 40, 4, 20
"""Maximum length of a value in a definition list, minimum number of words of most terms if these are
headings, and maximum number of terms examined."""

_LONGEST_MARK = 6
"""Maximum length of the mark of a note."""

_NOTE_NUMBER, _NOTE_START = re.compile(r"\s*(\d{1,2})(?!\d)"), re.compile(r"[.):]?\s+[^\W\d_]")
_NOTED = re.compile(r"(?:[^\W\d_]{3,}|[.,;:)])\s*\Z")
"""The number of a note, what follows at its start, and what may stand before its mark."""

_LABELS = ("alt", "aria-label", "title")
_LINKED = ("src", "href", "{http://www.w3.org/1999/xlink}href", "xlink:href")
"""Attributes that describe a picture, and that say which one it is."""

_CELL_TAGS = frozenset(["div", "span", "p", "a", "b", "strong", "em"])
_MIN_ROWS, _LONGEST_CELL, _MOST_IN_CELL = 3, 80, 20
"""Minimum number of rows of a table without table elements; maximum length and elements of a cell."""

_WORD_END, _WORD_START = re.compile(r"[^\W\d_]{2}[a-z]\Z"), re.compile(r"[A-Z\d£$€]")
"""Of elements side by side that are words apart: "Serves" and "10"."""

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
    title = _line_of(found) if found is not None else ""
    headings = set(map(_line_of, root.iter("h1"))) - {""}
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
        self._cookies: list[Any] = []
        self._around: frozenset[Any] = frozenset()
        """The ancestors of the first ``h1``; empty once a heading has been read."""

    def of(self, root: Any) -> str:
        walk = self._etree.iterwalk(root, events=("start", "end"))
        hidden: Any = None
        self._cookies = _cookie_notices(root)
        self._around = _around_heading(root)
        _mark_notes(root)
        _write_signs(root)
        _title_panels(root)
        _open_panels(root)
        for event, element in walk:
            tag = element.tag
            if event == "start":
                hidden = element if self._is_left_out(element, tag) else None
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

    def _is_left_out(self, element: Any, tag: str) -> bool:
        """Whether to leave out an element: hidden, a cookie notice, a control or a jump.

        Links and breadcrumbs before the ``h1`` are left out too.
        """
        before = self._around and element not in self._around and tag in _BEFORE_HEADING
        return (
            _is_hidden(element)
            or element in self._cookies
            or (before and _has_only_links(element, "", 1) and not _has_contact(element))
            or (before and _is_trail(element))
            or (tag == "a" and not self._parts and _is_jump(element))
            or (tag == "a" and _is_control(element))
        )

    def _is_whole(self, element: Any, tag: str) -> bool:
        """Write a heading, a preformatted block or a data table; return False for other elements."""
        if tag in _HEADINGS:
            self._around = frozenset()
            self._write_block([f"{'#' * int(tag[1])} {self._line(element)}"], tag)
        elif _is_section_title(element, tag):
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
            if _is_hidden(row):
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
                # parted by their style
                self._blank |= tag == before.tag == "a" or (
                    {tag, before.tag} <= {"a", "span"}
                    and _WORD_END.search(self._parts[-1]) is not None
                    and _WORD_START.match(_text(element).lstrip()) is not None
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
        elif tag != "br" and tag not in _HEADINGS:
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
                if each.tag != "button" and _is_hidden(each):
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


def _is_hidden(element: Any) -> bool:
    panel = element.get("role") in ("tabpanel", "region")
    return (
        (
            element.tag in _HIDDEN
            and not (element.tag == "button" and _is_section_title(element, "button"))
        )
        or (element.get("hidden") not in (None, "until-found") and not panel)
        or "line-through" in element.get("style", "")
        or _STRUCK.search(element.get("class", "")) is not None
        or element.get("role") in _ROLES
        or (element.get("aria-hidden") == "true" and _is_decoration(element))
        or (element.tag in _BLOCKS and _is_around_text(element))
        or (element.tag in _LISTS and _has_only_links(element, "#", _MIN_LINKS))
        or (element.tag == "sup" and _is_note_mark(element))
        or (
            element.tag in ("a", "i", "span")
            and _TITLE_SIGN.fullmatch("".join(islice(element.itertext(), 2))) is not None
            and next(element.iterancestors(*_TITLES), None) is not None
        )
    )


def _is_around_text(element: Any) -> bool:
    """Whether a block is a cookie notice, or links around the text of a page."""
    name = f"{element.get('class', '')} {element.get('id', '')}"
    if name != " " and (notice := _NOTICE.search(name)):
        tells = notice[0].lower() in _UNSEEN and _TELLS.search(_text(element))
        return not tells and not _is_longer(element, _LONGEST_NOTICE)
    around = name != " " and _LINKS.search(name) is not None
    if not around and element.tag in _LISTS:
        around = any(
            each.tag in ("footer", "aside")
            or (each.tag not in ("body", "main") and _LINKS.search(each.get("class", "")))
            for each in element.iterancestors()
        )
    return around and _has_only_links(element, "", 2)


def _around_heading(root: Any) -> frozenset[Any]:
    """Return the ancestors of the first visible ``h1``, or an empty set."""
    for heading in islice(root.iter("h1"), _MAX_HEADINGS):
        around = frozenset(heading.iterancestors())
        if not any(map(_is_hidden, around)):
            return around
    return frozenset()


def _cookie_notices(root: Any) -> list[Any]:
    """Return the smallest elements around a button such as "Accept all" that speak of cookies."""
    found: list[Any] = []
    buttons = (each for each in root.iter("button", "a") if _ACCEPT.match(_text(each)))
    for button in islice(buttons, _MAX_BUTTONS):
        for element in islice(button.iterancestors(*_BLOCKS), _LEVELS):
            page = next(element.iter("h1", "main", "table"), None) is not None
            if page or _is_longer(element, _LONGEST_NOTICE // 2):
                break
            text = "".join(element.itertext()).lower()
            if "cookie" in text and _PRIVACY.search(text):
                found.append(element)
                break
    return found


def _text(element: Any) -> str:
    """Return the beginning of an element's text."""
    return "".join(islice(element.itertext(), 4))


def _line_of(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


def _is_jump(link: Any) -> bool:
    """Whether a link jumps within the page, as "Skip to content" does, and is not part of a sentence."""
    return (
        link.get("href", "").startswith("#")
        and not (link.tail or "").strip()
        and next(link.iter(*_HEADINGS), None) is None
        and not _is_longer(link, _LONGEST_JUMP)
    )


def _is_control(link: Any) -> bool:
    """Whether a link such as "Reply" is no part of a sentence."""
    before = link.getprevious()
    above = link.getparent().text if before is None else before.tail
    alone = not (above or "").strip() and not (link.tail or "").strip()
    return alone and _CONTROL.fullmatch(_text(link).strip()) is not None


def _is_trail(element: Any) -> bool:
    """Whether an element is a breadcrumb trail, such as "Home > Support > Returns"."""
    return (
        len(list(islice(element.iter(), _MOST_IN_TRAIL + 1))) <= _MOST_IN_TRAIL
        and not _is_longer(element, 2 * _LONGEST_JUMP)
        and (trail := _TRAIL.fullmatch(_line_of(element))) is not None
        and (trail[1] == "Home" or next(element.iter("a"), None) is not None)
    )


def _has_contact(element: Any) -> bool:
    """Whether an element has a link to a phone number or an address."""
    return any(link.get("href", "").startswith(("tel:", "mailto:")) for link in element.iter("a"))


def _is_decoration(element: Any) -> bool:
    """Whether a short element has no words, or those of the element before it."""
    if _is_longer(element, _LONGEST_JUMP):
        return False
    words, before = " ".join(element.itertext()).split(), element.getprevious()
    if before is not None and not _is_longer(before, _LONGEST_JUMP):
        return words == " ".join(before.itertext()).split()
    return not any(map(str.isalnum, "".join(words)))


def _is_section_title(element: Any, tag: str) -> bool:
    """Whether an element is the title of the longer text after it.

    That is a phrase in a definition list, what unfolds a ``details``, or the button of a panel. A
    question in a ``summary`` stays with its answer.
    """
    if tag not in ("dt", "summary", "button"):
        return False
    below = element.getnext()
    if below is None or (tag == "button" and element.get("aria-expanded") is None):
        return False
    if below.tag == "nav" or not _is_longer(below, _LONGEST_VALUE):
        return False
    if tag == "dt":
        terms = islice(element.getparent().iterchildren("dt"), _MOST_TERMS)
        words = sorted(len("".join(term.itertext()).split()) for term in terms)
        return below.tag == "dd" and words[len(words) // 2] >= _TERM_WORDS
    return tag == "button" or not "".join(element.itertext()).rstrip().endswith(("?", "？"))


def _is_value(element: Any) -> bool:
    """Whether a ``dd`` is the only paragraph below a term, as in "Weight", "3 kg"."""
    term, after = element.getprevious(), element.getnext()
    return (
        term is not None
        and term.tag == "dt"
        and (after is None or after.tag != "dd")
        and not _is_section_title(term, "dt")
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
            or _is_hidden(row)
            or any(not _is_cell(cell) or (cell.tail or "").strip() for cell in cells)
            or (columns == 2 and _is_longer(cells[0], _LONGEST_VALUE // 2))
        ):
            return []
    return rows


def _is_cell(element: Any) -> bool:
    inside = list(islice(element.iterdescendants(), _MOST_IN_CELL))
    return (
        element.tag in _CELL_TAGS
        and len(inside) < _MOST_IN_CELL
        and not any(each.tag in _BREAKS or each.tag == "div" for each in inside)
        and not _is_longer(element, _LONGEST_CELL)
    )


def _breaks(element: Any, tag: str) -> int:
    """Return the line breaks around an element; a ``div`` of some length without blocks is a paragraph.

    A table cell that contains line breaks is treated as a paragraph, too.
    """
    if tag in _CELLS and next(element.iter("br"), None) is not None:
        return 2
    if tag != "div" or any(each.tag != "br" for each in element.iterdescendants(*_BREAKS)):
        return _BREAKS.get(tag, 0)
    return 2 if _is_longer(element, _LONGEST_JUMP) else 1


def _is_note_mark(element: Any) -> bool:
    """Whether a superscript refers to a note, as in encyclopaedias."""
    return not _is_longer(element, _LONGEST_MARK) and _has_only_links(element, "#", 1)


def _mark_notes(root: Any) -> None:
    """Raise the numbers of notes on the page like their marks, as in "£9<sup>1</sup>".

    Those of "m<sup>2</sup>" are no marks, nor are any if there are not notes for all of them or none
    is 1: "2 rooms" may begin a line, too.
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
    """Write boxes to tick, and superscript numbers as in "10⁶" but not at the start of a note.

    Signs for "yes" and "no" in cells and items, which only their class names tell, become ✓ and ✗.
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
        if written in each.iterancestors() or _is_longer(each, 0):
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
        title = _line_of(tab)
        if title not in map(_line_of, panel.iter(*_HEADINGS)):
            heading = panel.makeelement("h6")
            heading.text, heading.tail, panel.text = title, panel.text, None
            panel.insert(0, heading)


def _open_panels(root: Any) -> None:
    """Show what a button with `aria-expanded` unfolds: the element it names or the next one."""
    named = set()
    for button in root.iter("button"):
        if button.get("aria-expanded") is not None:
            named.update(button.get("aria-controls", "").split())
            title = button.getparent() if button.getparent().tag in _HEADINGS else button
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


def _is_longer(element: Any, most: int) -> bool:
    """Whether an element has more than `most` characters of text, without white space."""
    length = 0
    for text in element.itertext():
        length += sum(map(len, text.split()))
        if length > most:
            return True
    return False


def _has_only_links(element: Any, to: str, least: int) -> bool:
    """Whether all words of an element are in links, at least some, whose addresses contain `to`."""
    links = 0
    if _has_letters(element.text) and element.tag != "a":
        return False
    walk = element.iter()
    next(walk)
    for count, each in enumerate(walk):
        if count > _MOST_LINKED:
            return False
        if each.tag == "a":
            if to not in each.get("href", ""):
                return False
            links += 1
        elif _has_letters(each.text) and not _in_link(each, element):
            return False
        if _has_letters(each.tail) and not _in_link(each.getparent(), element):
            return False
    return links >= least


def _has_letters(text: str | None) -> bool:
    return text is not None and any(map(str.isalpha, text))


def _in_link(element: Any, within: Any) -> bool:
    while element is not within and element.tag != "a":
        element = element.getparent()
    return element is not within


def _is_data(table: Any) -> bool:
    """Whether a table holds data, rather than the layout of a page."""
    columns = rows = 0
    for each in table.iter():
        if each is not table and (each.tag == "table" or each.tag in _HEADINGS):
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
    """Whether a table has row headers but no header row, below its title if it has one."""
    first = next(islice(table.iter("tr"), int(titled), None))
    cells = [cell.tag for cell in first if cell.tag in _CELLS]
    blank = set(cells) == {"th"} and not "".join(first.itertext()).strip()
    return blank or (cells[:1] == ["th"] and "td" in cells)


def _names_columns(table: Any) -> bool:
    """Whether the second row begins with a header cell, so that the first is a title above it."""
    second = next(islice(table.iter("tr"), 1, None))
    return next((cell.tag for cell in second if cell.tag in _CELLS), None) == "th"


def _begins_paragraph(element: Any) -> bool:
    parent, before = element.getparent(), element.getprevious()
    return parent.tag == "p" and before is None and not (parent.text or "").strip()


def _whole(value: str | None, default: int) -> int:
    return int(value) if value and value.isdecimal() and len(value) < 10 else default


MAX_MARKDOWN_LENGTH = 2_000_000
"""Longer Markdown is treated as plain text: the parser reads 200,000 characters per second."""

MAX_MARKDOWN_NESTING = 200
"""Markdown that is nested deeper is treated as plain text; an item of a list counts twice."""

_MAX_FRONT_MATTER = 20_000
_FIELD = re.compile(r"[*_]*[A-Z][\w /’'-]{0,30}:[*_]* ")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(?=\S)(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_IS_YAML = re.compile(r"\s*$|\s+\S|[-#]|[\"']?[\w][\w .-]*[\"']?:(?:\s|$)")
"""A line that may occur in front matter: a key, or part of its value."""


def parse_markdown(name: str, data: bytes, limits: Limits) -> Parsed:  # noqa: ARG001
    """Return the title (of the front matter, or the first heading) and the text."""
    library = require("markdown_it", extra="documents", purpose=f"reading {name}")
    source = clean(decode(name, data))
    front, source = _front_matter(source)
    if len(source) > MAX_MARKDOWN_LENGTH:
        return front, source, ()
    parser = library.MarkdownIt("commonmark", {"maxNesting": MAX_MARKDOWN_NESTING})
    parser.enable(["table", "strikethrough"])
    tokens = parser.parse(source)
    if max((token.level for token in tokens), default=0) >= MAX_MARKDOWN_NESTING - 2:
        return front, source, ()  # the parser drops what is nested deeper
    for token in tokens:
        _keep_fields_apart(token)
    page = parser.renderer.render(tokens, parser.options, {})
    title, heading, text = text_of(name, page)
    return front or title or heading, text, ()


def _keep_fields_apart(token: Any) -> None:
    """Keep the line break before each line such as "**Date:** 3 May"."""
    lines = token.content.split("\n")[1:] if token.type == "inline" else []
    breaks = [child for child in token.children or () if child.type in ("softbreak", "hardbreak")]
    if len(breaks) == len(lines):
        for each, line in zip(breaks, lines, strict=True):
            if _FIELD.match(line):
                each.type = "hardbreak"


def _front_matter(source: str) -> tuple[str, str]:
    """Return the title in the front matter, and the text after it.

    Text between two horizontal rules is not front matter.
    """
    found = _FRONT_MATTER.match(source[:_MAX_FRONT_MATTER])
    if found is None or not all(map(_IS_YAML.match, found[1].splitlines())):
        return "", source
    title = ""
    for line in found[1].splitlines():
        key, _, value = line.partition(":")
        if key.strip().lower() == "title":
            title = value.strip().strip("\"'")
    return title, source[found.end() :]


_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_TEXTS = ("text/plain", "text/html")
_QUOTED = re.compile(r"(?:>[ \t]?)+")
_NUMBERED = re.compile(r"\d{1,3}[.)]\s")
_WRAPPED = 60
"""Minimum length of the longest of wrapped lines."""


def parse_email(name: str, data: bytes, limits: Limits) -> Parsed:  # noqa: ARG001
    """Return the subject, and the header with the text; of two versions, the plain one."""
    message = message_from_bytes(data, policy=default)
    header = {key: value for key in _SHOWN if (value := _field(message, key))}
    if not header:
        raise InputError("The file is not an e-mail: it has no header.", where=name)
    versions = (_part_text(name, message.get_body([kind])) for kind in ("plain", "html"))
    texts = [next(filter(None, versions), "")]
    files: list[str] = []
    for part in message.iter_attachments():
        if file := part.get_filename():
            files.append(" ".join(file.split()))
        elif part.get_content_type() in _TEXTS and not part.is_attachment():
            texts.append(_part_text(name, part))  # such as the text below a picture
    lines = [f"{key}: {value}" for key, value in header.items()]
    if files:
        lines.append(f"Attachments: {', '.join(files)}")
    text = _unwrapped("\n\n".join(["\n".join(lines), *filter(None, texts)]))
    return header.get("Subject", ""), text, ()


def _unwrapped(text: str) -> str:
    """Join the lines of quoted messages that were wrapped, so that "> " is not inside sentences."""
    lines = text.split("\n")
    longest = max((len(line) for line in lines if line.startswith(">")), default=0)
    if longest < _WRAPPED:
        return text
    parts = lines[:1]
    for before, line in pairwise(lines):
        above, mark = _QUOTED.match(before), _QUOTED.match(line)
        rest = line[mark.end() :] if mark else ""
        if (
            above
            and mark
            and above[0].count(">") == mark[0].count(">")
            and rest[:1].isalnum()
            and not _FIELD.match(rest)
            and not _NUMBERED.match(rest)
            and len(before) + 1 + len(rest.split()[0]) > longest
        ):
            parts[-1] = parts[-1].rstrip()
            parts += [" ", rest]
        else:
            parts += ["\n", line]
    return "".join(parts)


def _field(message: EmailMessage, key: str) -> str:
    """Return a header field, or an empty string.

    The parser of `email` takes quadratic time for a long list of addresses.
    """
    fields = (value for name, value in message.raw_items() if name.lower() == key.lower())
    raw = str(next(fields, "")).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    with suppress(MessageError, ValueError, LookupError):  # not encoded correctly
        raw = str(make_header(decode_header(raw)))
    return " ".join(raw.split())


def _part_text(name: str, part: MIMEPart | None) -> str:
    data = part.get_payload(decode=True) if part is not None else None
    if part is None or not isinstance(data, bytes):
        return ""
    text = decode(name, data, part.get_content_charset())
    text = text_of(name, text)[2] if part.get_content_subtype() == "html" else text
    return text.strip()
