"""PDF: the text of each page without headers and footers, with lines joined to paragraphs."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from semqa.documents.parsers.drawn import Table, drawings, filled, turn_of
from semqa.documents.parsers.pdf_lines import LIGATURES, Line, page_lines
from semqa.documents.parsers.pdf_text import (
    ROW,
    between_pages,
    join_pages,
    with_notes_below,
    with_structure,
)
from semqa.documents.parsers.plain import table_lines
from semqa.errors import InputError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from semqa.documents.document import Limits
    from semqa.documents.parsers import Parsed

MIN_PAGES = 3
"""Minimum number of pages that repeat a header or footer; two if it has their page numbers."""

EDGE_LINES = 3
"""Lines at an edge of a page that may be headers or footers."""

MAX_EDGE_LINE = 200
"""Maximum length of a header or footer line."""

MAX_NUMBERS = 4
"""Maximum number of numbers at each end of a line that may be the page number."""

_NUMBER = re.compile(r"\d{1,6}")
_PAGE = re.compile(
    r"(?:\b(?:page|seite|página|pag\.?|p\.|s\.)|^|[–—-]) ?\0-?\d+\0(?: |$)|\0-?\d+\0 ?(?:/|of|von|sur|de) ?2\b"
)
"""Matches a key from `_keys` whose number is surely that of a page, as in "Page 3" and "1 of 2"."""

_PRINTED = re.compile(
    r"\d{1,4}([./-])\d{1,2}\1\d{1,4},? \d{1,2}[:.]\d\d(\s?[AaPp]\.?[Mm]\.?)?( .*)?"
    r"|(https?|file)://\S+ \d{1,4}(/| of )\d{1,4}"
)
"""A header or footer that browsers print: time and title, or address and page number."""

_NO_TITLES = re.compile(
    r"(?i)^(\(?(untitled|anonymous|unspecified|unknown|no title|title)\)?|(untitled )?(document|presentation) ?\d*|"
    r"(microsoft (word|powerpoint|excel)|powerpoint presentation)\b.*|slide \d+|about:blank|"
    r"[^\s_]*_\S*|.*\.(docx?|tex|indd|pptx?|xlsx?|dvi|pdf|html?))?$"
)

_MAX_BETWEEN = 6
"""Lines above or below a table that continues on the next page."""


def without_headers_and_footers(pages: Sequence[str]) -> list[str]:
    r"""Return pages without headers and footers: lines repeated at the same edge of most pages.

    Lines on two pages are equal if their texts are, apart from one number that counts the pages.
    Left and right pages may have different headers. Removed lines reach to the edge of the page. If
    no text would remain, nothing is removed.

    Example:
        >>> pages = [f"A report\nText {word}.\n{i}" for i, word in enumerate("abc", 7)]
        >>> without_headers_and_footers(pages)
        ['Text a.', 'Text b.', 'Text c.']
    """
    pages = [_without_print_marks(page) for page in pages]
    lines = [[line for line in page.split("\n") if line.strip()] for page in pages]
    nonempty = sum(map(bool, lines))
    if nonempty < 2:
        return list(pages)
    left = [page.split("\n") for page in pages]
    edges = [_repeated(lines, nonempty, 2, last=last) for last in (False, True)]
    if not any(_PAGE.search(key) for known in edges for key in known):
        if nonempty < MIN_PAGES:
            return list(pages)
        edges = [_repeated(lines, nonempty, MIN_PAGES, last=last) for last in (False, True)]
    for known, last in zip(edges, (False, True), strict=True):
        left = [
            _without_edge(page, number, known, last=last) if page else page
            for number, page in enumerate(left)
        ]
    found = ["\n".join(page) for page in left]
    return found if any(page.strip() for page in found) else list(pages)


def _without_print_marks(page: str) -> str:
    lines = page.split("\n")
    said = [i for i, line in enumerate(lines) if line.strip()]
    edges = {*said[:EDGE_LINES], *said[-EDGE_LINES:]}
    marks = {i for i in edges if _PRINTED.fullmatch(" ".join(lines[i].split()))}
    return "\n".join(line for i, line in enumerate(lines) if i not in marks)


def _repeated(lines: Sequence[Sequence[str]], nonempty: int, least: int, *, last: bool) -> set[str]:
    """Return the keys of lines at this edge of most pages (and `least`), or of every other page."""
    seen: Counter[str] = Counter()
    sided: Counter[tuple[str, int]] = Counter()
    for number, page in enumerate(lines):
        edge = page[-EDGE_LINES:] if last else page[:EDGE_LINES]
        for key in {key for line in edge for key in _keys(line, number)}:
            seen[key] += 1
            sided[key, number % 2] += 1
    often = {key for key, times in seen.items() if times >= least and 2 * times > nonempty}
    return often | {
        key for (key, _), times in sided.items() if times >= MIN_PAGES and times > 0.4 * nonempty
    }


def _without_edge(page: list[str], number: int, known: set[str], *, last: bool) -> list[str]:
    """Return a page's lines without the known lines at its edge."""
    at, step = (len(page) - 1, -1) if last else (0, 1)
    cut, seen = at, 0
    while 0 <= at < len(page) and seen < EDGE_LINES:
        if page[at].strip():
            seen += 1
            if known.isdisjoint(_keys(page[at], number)):
                break
            cut = at + step
        at += step
    return page[: cut + 1] if last else page[cut:]


def _keys(line: str, number: int) -> Iterator[str]:
    """Yield keys shared by repetitions of a line: its text, and its text without the page number."""
    line = " ".join(line.split()).casefold()
    if len(line) > MAX_EDGE_LINE or ROW.fullmatch(line):
        return
    yield line
    numbers = list(_NUMBER.finditer(line))
    for found in {*numbers[:MAX_NUMBERS], *numbers[-MAX_NUMBERS:]}:
        counted = int(found[0]) - number
        yield f"{line[: found.start()]}\0{counted}\0{line[found.end() :]}"


def parse_pdf(name: str, data: bytes, limits: Limits) -> Parsed:
    """Return the title, the text, and the start offset of each page."""
    library = require("pypdfium2", extra="documents", purpose=f"reading {name}")
    try:
        document = library.PdfDocument(data)
    except library.PdfiumError as error:
        if error.err_code == library.raw.FPDF_ERR_PASSWORD:
            raise InputError("The PDF needs a password. Save it without one.", where=name) from None
        raise
    document.init_forms()
    raw, title = _pages(document, library.raw, name, limits), _title(document)
    parts: list[str] = []
    starts: list[int] = []
    at = 0
    for joined in map(with_notes_below, join_pages(without_headers_and_footers(raw))):
        if parts and joined:
            parts.append(between_pages(parts[-1], joined))
            at += len(parts[-1])
        starts.append(at)
        if joined:
            parts.append(joined)
            at += len(joined)
    return title, "".join(parts), tuple(starts)


def _pages(document: Any, pdfium: Any, name: str, limits: Limits) -> list[str]:
    """Return the text of each page."""
    count = len(document)
    if count > limits.pages:
        raise InputError(
            f"The PDF has {count:,} pages; at most {limits.pages:,} are allowed.", where=name
        )
    pages: list[list[Line]] = []
    last: Table | None = None
    size = 0
    for page in document:
        text = page.get_textpage()
        size += text.count_chars()
        if size > limits.characters:
            raise InputError(
                f"The PDF has more than {limits.characters:,} characters of text. Split it.",
                where=name,
            )
        turn = turn_of(page)
        fields = filled(page, pdfium, turn)
        found = page_lines(text, pdfium, turn, *drawings(page, pdfium, turn, last), fields)
        pages.append([line for each in found for line in _lines(each, found, last)])
        last = _last_table(found)
        text.close()
        page.close()
    return with_structure(pages)


def _lines(
    each: Line | Table, page: Sequence[Line | Table], before: Table | None
) -> Iterator[Line]:
    """Yield a line, or the lines of a table.

    A table at the top of a page that continues the one `before` has its header.
    """
    if isinstance(each, Line):
        yield each
        return
    caption, rows = each.rows()
    at = page.index(each)
    above = page[at - 1] if at else None
    if isinstance(above, Table) and not caption and each.is_rest_of(above):  # in the next column
        rows = rows[1:] if rows[:1] == [above.header] else rows
        each.header = above.header
        for line in table_lines(rows, headless=True)[2:]:
            yield Line(line.translate(LIGATURES), is_row=True)
        return
    if isinstance(above, Table):
        yield Line("")
    if caption:
        yield Line(caption, is_row=True)
    elif (
        before is not None
        and each.goes_on(before)
        and at <= _MAX_BETWEEN
        and rows
        and len(before.header) == len(rows[0])
        and before.header != rows[0]
    ):
        rows = [before.header, *rows]
    each.header = rows[0] if rows else []
    for line in table_lines(rows):
        yield Line(line.translate(LIGATURES), is_row=True)


def _last_table(page: Sequence[Line | Table]) -> Table | None:
    """Return the table at the end of a page, which may continue on the next."""
    ends = [each for each in page if not isinstance(each, Line) or each.text.strip()]
    return next(
        (each for each in ends[: -_MAX_BETWEEN - 2 : -1] if not isinstance(each, Line)), None
    )


def _title(document: Any) -> str:
    found = str(document.get_metadata_value("Title")).strip()
    return "" if _NO_TITLES.match(found) else found
