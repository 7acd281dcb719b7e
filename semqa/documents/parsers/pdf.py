"""PDF: the text of each page without headers and footers, with lines joined to paragraphs."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from ctypes import c_double, c_int, create_string_buffer
from itertools import dropwhile, groupby, pairwise, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.documents.document import clean
from semqa.documents.parsers.drawn import Table, drawings
from semqa.documents.parsers.plain import table_lines
from semqa.errors import InputError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from semqa.documents.document import Limits
    from semqa.documents.parsers import Parsed
    from semqa.documents.parsers.drawn import Box

MIN_PAGES = 3
"""Minimum number of pages with a line for it to be a header or footer; two if a line has their numbers."""

EDGE_LINES = 3
"""Lines at an edge of a page that may be headers or footers."""

MAX_EDGE_LINE = 200
"""Maximum length of a header or footer line."""

MAX_NUMBERS = 4
"""Numbers at each end of a line that are considered as page numbers."""

_NUMBER = re.compile(r"\d{1,6}")
_PAGE = re.compile(
    r"(?:\b(?:page|seite|página|pag\.?|p\.|s\.)|^|[–—-]) ?\0-?\d+\0(?: |$)|\0-?\d+\0 ?(?:/|of|von|sur|de) ?2\b"
)
"""A key of `_keys` whose number is that of a page, of two."""
_ROW = re.compile(r"\|.*\|")
_PRINTED = re.compile(
    r"\d{1,4}([./-])\d{1,2}\1\d{1,4},? \d{1,2}[:.]\d\d(\s?[AaPp]\.?[Mm]\.?)?( .*)?"
    r"|(https?|file)://\S+ \d{1,4}(/| of )\d{1,4}"
)
"""A header or footer that browsers print: the time and the title, the address and the page."""


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
    edges = [_repeated(lines, nonempty, last=last) for last in (False, True)]
    if nonempty < MIN_PAGES and not any(_PAGE.search(key) for known in edges for key in known):
        return list(pages)
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


def _repeated(lines: Sequence[Sequence[str]], nonempty: int, *, last: bool) -> set[str]:
    """Return the keys of lines that occur at this edge of most pages, or of every other page."""
    seen: Counter[str] = Counter()
    sided: Counter[tuple[str, int]] = Counter()
    for number, page in enumerate(lines):
        edge = page[-EDGE_LINES:] if last else page[:EDGE_LINES]
        for key in {key for line in edge for key in _keys(line, number)}:
            seen[key] += 1
            sided[key, number % 2] += 1
    least = min(MIN_PAGES, nonempty)
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
    """Yield keys that the line shares with its repeats: its text, and with a page number removed."""
    line = " ".join(line.split()).casefold()
    if len(line) > MAX_EDGE_LINE or _ROW.fullmatch(line):
        return
    yield line
    numbers = list(_NUMBER.finditer(line))
    for found in {*numbers[:MAX_NUMBERS], *numbers[-MAX_NUMBERS:]}:
        counted = int(found[0]) - number
        yield f"{line[: found.start()]}\0{counted}\0{line[found.end() :]}"


_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)
_LINE_END = tuple(b"\r\n")
_HYPHENS = (0x02, 0xFFFE)
"""PDFium's characters for a hyphen at the end of a line."""

_NO_TITLES = re.compile(
    r"(?i)^(\(?(untitled|anonymous|unspecified|unknown|no title|title)\)?|(untitled )?(document|presentation) ?\d*|"
    r"(microsoft (word|powerpoint|excel)|powerpoint presentation)\b.*|slide \d+|about:blank|"
    r".*\.(docx?|tex|indd|pptx?|xlsx?|dvi|pdf|html?))?$"
)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_BROKEN = re.compile(r"([^\W\d_]+)-$")
_SPLIT_WORD = re.compile(r"(?<![^\W\d_])([^\W\d_]++)-\x1f?\n([^\W\d_]++)")
_MIN_SPLIT_WORDS, _SPLIT_WORDS_SHARE = 3, 0.01
"""Minimum number and share of the lines that end in a hyphen if the document splits words."""
_COMPOUNDS = re.compile(
    r"(?i)(?:all|cross|ex|full|half|high|long|low|mid|non|part|self|short|well|one|two|three|four|five|six|seven|"
    r"eight|nine|(?:twen|thir|for|fif|six|seven|eigh|nine)ty)$"
)
"""First parts of words such as "low-fibre", which keep their hyphen."""
_LONGEST_ENDING = 3
"""Maximum length of what follows in words such as "self-ish" and "part-ner"."""
_LONGEST_WORD = 60
_ITEM = re.compile(
    r"(?:[-*•–·‣]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]|\d{1,2}(?:\.\d{1,2}){1,3}\.?\s+[\"“‘(]?[A-ZÀ-Þ])"
    r"(?:\s|(?<=[A-ZÀ-Þ]))"
)
_BULLET = re.compile(r"[•▪◦‣●○■□➢\uf0a7\uf0b7\uf0d8](?:\s+|$)")
_MIN_COLUMN, _MIN_PROSE = 3, 25
"""Minimum number of lines in a column of prose, and their mean length."""
_MAX_INITIALS = 5
"""Drop caps on a page that are considered."""
_MIN_FULL = 40
"""Minimum length of a full line; blocks of shorter lines are addresses or lists."""
_SAME_PLACE = 2.0
"""Distance in points at which two lines of a column may begin."""
_UNFINISHED = re.compile(
    r"(?:,|\b(?:a|after|an|and|are|at|be|before|by|for|from|in|is|of|on|or|that|the|then|to|under|was|were|"
    r"with))$"
)
"""The end of a line that is not the end of a sentence."""
_LEADERS = re.compile(r"(?:\. ?){5}")
"""Dot leaders of a table of contents."""

_LED_NUMBER = re.compile(r"\. ?\. *(\d{1,4})\s*$")
"""The number after dot leaders, at the end of a line."""

_MIN_CONTENTS_LINES = 4
"""A table of contents has more lines than this."""

_MANY_LINES = re.compile(r"\n{3,}")
_HEADING = re.compile(r"#{1,6} ")
_LONGEST_HEADING = 200
_ENDS, _GOES_ON = "\x1e", "\x1f"
"""Marks after lines whose place on the page tells whether they end or go on; white space for Python."""
_MAX_BETWEEN = 6
"""Lines above or below a table that goes on the next page."""

_LONGEST_BOLD = 90
_COLUMN_GAP, _ROW_PITCH, _LINE_PITCH = 1.8, 3.0, 2.2
"""Minimum distance between letters in two columns, and maximum ones between rows of several cells and
to a line of one cell, in font sizes; those of letters are in half points."""
_MAX_COLUMNS, _LONGEST_NAME = 30, 40
_NUMBER_GAP = 0.6
"""Minimum distance between the number of an item and its text, in font sizes."""
_MAX_LABELS = 2
"""Lines between two parts of a table without rules."""
_FIGURE = re.compile(r"\d|^[-–—]?$")
"""A number, or an empty cell."""
_MARK = re.compile(r"\d{1,2}|[*†‡§]{1,2}")
"""A superscript, such as the mark of a note."""
_BEFORE_MARK = re.compile(r"(?:[^\W\d_]{4}|[.,;:!?]|[”\"’])$")
"""What stands before the mark of a note, but not before an exponent."""
_BEFORE_CENTS = re.compile(r"\d[.,]$")

_HEADING_SCALE = 1.12
"""Minimum ratio of a heading's font size to that of the text."""

_PARAGRAPH_SCALE = 1.18
"""Minimum ratio of the distance between paragraphs to that between lines."""


def parse_pdf(name: str, data: bytes, limits: Limits) -> Parsed:
    """Return the title, the text, and the start offset of each page."""
    library = require("pypdfium2", extra="documents", purpose=f"reading {name}")
    try:
        document = library.PdfDocument(data)
    except library.PdfiumError as error:
        if error.err_code == library.raw.FPDF_ERR_PASSWORD:
            raise InputError("The PDF needs a password. Save it without one.", where=name) from None
        raise
    raw, title = _pages(document, library.raw, name, limits), _title(document)
    raw = without_headers_and_footers(raw)
    words = {word for text in raw for word in _WORD.findall(_SPLIT_WORD.sub(" ", text))}
    splits = _splits_words(raw, words)
    parts: list[str] = []
    starts: list[int] = []
    at = 0
    for lines in raw:
        joined = join_lines(lines, words, splits_words=splits)
        if parts and joined:
            parts.append(" " if _goes_on_next_page(parts[-1], joined) else "\n\n")
            at += len(parts[-1])
        starts.append(at)
        if joined:
            parts.append(joined)
            at += len(joined)
    return title, "".join(parts), tuple(starts)


def _goes_on_next_page(page: str, after: str) -> bool:
    """Whether a sentence goes on after a page break."""
    line = page[page.rfind("\n") + 1 :]
    if after[0].islower():
        return line[-1] not in ".!?:"
    prose = len(line) >= _MIN_FULL and not _ROW.fullmatch(line) and not _HEADING.match(line)
    number = after[0].isdecimal() and not _ITEM.match(after)
    return prose and (_UNFINISHED.search(line) is not None or (number and line[-1].isalpha()))


def _pages(document: Any, pdfium: Any, name: str, limits: Limits) -> list[str]:
    """Return the text of each page."""
    count = len(document)
    if count > limits.pages:
        raise InputError(
            f"The PDF has {count:,} pages; at most {limits.pages:,} are allowed.", where=name
        )
    pages: list[list[_Line]] = []
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
        tables, bullets, rules = drawings(page, pdfium)
        found = _page_lines(text, pdfium, tables, bullets, rules)
        pages.append([line for each in found for line in _lines(each, found, last)])
        last = _last_table(found)
        text.close()
        page.close()
    return _with_structure(pages)


class _Letter(NamedTuple):
    """A character; for the attributes see `_Line`."""

    text: str
    left: float
    place: float
    size: int
    bold: bool


class _Line(NamedTuple):
    """A line of a page.

    Attributes:
        place: height above the lower edge of the page, in points.
        left, right: where it begins and about where it ends, in points.
        first: the width of its first word, in points.
        gaps: whether it has gaps as wide as those between columns.
        number: the number that it begins with, before a gap and a capital letter; else 0.
        size: font size of most of its letters, in half points.
        bold: whether all of it is bold.
        is_row: whether it is a line of a Markdown table.
    """

    text: str
    place: float = 0.0
    size: int = 0
    bold: bool = False
    is_row: bool = False
    left: float = 0.0
    right: float = 0.0
    first: float = 0.0
    gaps: bool = False
    number: int = 0

    def has_room(self, after: _Line, right: float) -> bool:
        """Whether the first word of the next line fits on this line, in a column that ends at `right`."""
        return self.right + after.first + self.size / 4 < right  # half an em, for the space


def _page_lines(
    page: Any, pdfium: Any, tables: Sequence[Table], bullets: Sequence[Box], rules: Sequence[Box]
) -> list[_Line | Table]:
    """Return the lines and tables of a page, in the order of the PDF."""
    lines: list[list[_Letter]] = [[]]
    across, up, flags = c_double(), c_double(), c_int()
    matrix, font = pdfium.FS_MATRIX(), create_string_buffer(128)
    for i in range(page.count_chars()):
        code = pdfium.FPDFText_GetUnicode(page, i)
        hyphen = code in _HYPHENS
        if code not in _LINE_END:
            char = "-" if hyphen else clean(chr(code))
            pdfium.FPDFText_GetMatrix(page, i, matrix)
            size = pdfium.FPDFText_GetFontSize(page, i) * math.hypot(matrix.c, matrix.d)
            pdfium.FPDFText_GetCharOrigin(page, i, across, up)
            pdfium.FPDFText_GetFontInfo(page, i, font, len(font), flags)
            bold = b"bold" in font.value.lower()
            lines[-1].append(_Letter(char, across.value, up.value, round(2 * size), bold))
        if hyphen or code == _LINE_END[-1]:
            lines.append([])
    found: list[_Line | Table] = []
    ordered = list(_by_column(_with_initials(_with_rest(lines))))
    aligned = dict(_aligned_rows(ordered, tables, rules))
    until = 0
    for at, letters in enumerate(ordered):
        if at in aligned:
            until, rows, headless = aligned[at]
            texts = (line.translate(_LIGATURES) for line in table_lines(rows, headless=headless))
            found += [_Line(text, is_row=True) for text in texts]
        if at < until:
            continue
        for table, some in _by_table(letters, tables):
            if table is None:
                found.append(_line(some, bullets))
            elif table not in found:
                found.append(table)
        for table in tables:
            table.end_line()
    return found


def _with_rest(lines: Sequence[list[_Letter]]) -> list[list[_Letter]]:
    """Join the lines that PDFium splits before or after a superscript or subscript."""
    joined: list[list[_Letter]] = []
    first = last = None  # the first letter of the last line in `joined`, and its last one
    for line in lines:
        shown = _shown(line)
        if (
            shown
            and first
            and last
            and shown[0].left > last.left
            and (
                _is_mark(shown, first)
                or (last.size < 0.8 * first.size and abs(first.place - shown[0].place) < 1)
            )
        ):
            while joined[-1] and joined[-1][-1].text.isspace():
                joined[-1].pop()
            joined[-1] += line
        else:
            joined.append(list(line))
            first = shown[0] if shown else None
        last = shown[-1] if shown else None
    return joined


def _with_initials(lines: Sequence[list[_Letter]]) -> list[list[_Letter]]:
    """Put drop caps, which are lines of their own, before the rest of their word."""
    found = list(lines)
    initials = [
        line for line in lines if len(shown := _shown(line)) == 1 and shown[0].text.isupper()
    ]
    for line in initials[:_MAX_INITIALS]:
        (initial,) = _shown(line)
        height = initial.size / 2
        for i, other in enumerate(found):
            rest = _shown(other)
            if (
                rest
                and rest[0].text.islower()
                and 2 * rest[0].size <= initial.size
                and initial.left < rest[0].left < initial.left + height
                and initial.place < rest[0].place < initial.place + height
            ):
                found[i] = [rest[0]._replace(text=initial.text), *other]
                found.remove(line)
                break
    return found


def _is_mark(line: Sequence[_Letter], base: _Letter) -> bool:
    """Whether a line is a superscript or subscript of the line that begins with `base`."""
    text = "".join(each.text for each in line)
    small = line[0].size < 0.8 * base.size and abs(line[0].place - base.place) < base.size / 2
    return small and _MARK.fullmatch(text) is not None


def _is_raised(letter: _Letter, base: _Letter | _Line) -> bool:
    """Whether a letter is a superscript; places are in points, sizes in half points."""
    return letter.size < 0.9 * base.size and letter.place > base.place + base.size / 10


def _by_column(lines: Sequence[list[_Letter]]) -> Iterator[list[_Letter]]:
    """Yield the lines in reading order: of two columns side by side, first the left one.

    Columns are prose, or begin with labels as in "Bill to:   Deliver to:"; anything else is rows.
    """
    at = 0
    while at < len(lines):
        gutter, last = _gutter(lines[at]), at + 1
        while gutter and last < len(lines) and _is_beside(lines[last - 1], lines[last], gutter):
            last += 1
        left, right = (
            [
                part
                for line in lines[at:last]
                if (part := [each for each in line if (each.left > gutter - _SAME_PLACE) == side])
            ]
            for side in (False, True)
        )
        if last - at > 1 and _are_columns(left, right):
            yield from (*left, [], *right, [])
        else:
            yield from lines[at:last]
        at = last


def _shown(line: Sequence[_Letter]) -> list[_Letter]:
    return [each for each in line if not each.text.isspace()]


def _gutter(line: Sequence[_Letter]) -> float:
    """Return where the text after the only wide gap of a line begins, in points; else 0."""
    gaps = [
        after.left
        for before, after in pairwise(_shown(line))
        if after.left - before.left > max(before.size, after.size)  # twice the font size
    ]
    return gaps[0] if len(gaps) == 1 else 0.0


def _is_beside(above: Sequence[_Letter], line: Sequence[_Letter], gutter: float) -> bool:
    """Whether the columns on both sides of a gutter continue on the next line."""
    before, after = _shown(above), _shown(line)
    if not (before and after and 0 <= before[0].place - after[0].place <= after[0].size):
        return False
    begins = _gutter(line)
    if begins:
        return abs(begins - gutter) <= _SAME_PLACE
    return after[-1].left < gutter or after[0].left >= gutter - _SAME_PLACE


def _are_columns(left: Sequence[Sequence[_Letter]], right: Sequence[Sequence[_Letter]]) -> bool:
    texts = [
        ["".join(each.text for each in line).strip() for line in half] for half in (left, right)
    ]
    if all(half[0].endswith(":") and not half[-1].endswith(":") for half in texts):
        return True
    return all(
        len(half) >= _MIN_COLUMN and sum(map(len, half)) >= _MIN_PROSE * len(half) for half in texts
    )


class _Cell(NamedTuple):
    """Text of a line between two wide gaps, or the extent of a column, in points."""

    left: float
    right: float
    text: str = ""
    bold: bool = False

    def meets(self, other: _Cell) -> bool:
        return self.left < other.right and other.left < self.right


def _cells(line: Sequence[_Letter]) -> list[_Cell]:
    runs: list[list[_Letter]] = []
    last: _Letter | None = None
    for each in line:
        if each.text.isspace():
            if runs:
                runs[-1].append(each)
            continue
        if last is None or each.left - last.left > _COLUMN_GAP * each.size / 2:
            runs.append([])
        runs[-1].append(each)
        last = each
    cells = []
    for run in runs:
        shown = _shown(run)
        right = shown[-1].left + shown[-1].size / 4  # letters are about half as wide as high
        text = "".join(each.text for each in run)
        cells.append(_Cell(shown[0].left, right, text, all(each.bold for each in shown)))
    return cells


class _Row(NamedTuple):
    """The height of a row of a table on the page, in points, and its cells, one for each column."""

    place: float
    cells: list[_Cell]


def _aligned_rows(
    lines: Sequence[Sequence[_Letter]], tables: Sequence[Table], rules: Sequence[Box]
) -> Iterator[tuple[int, tuple[int, list[list[str]], bool]]]:
    """Yield tables without upright rules: lines of at least two cells that are aligned.

    Rows below a label, in the columns of the table above, have its header.

    Yields the index of the first line, that after the last, the rows, and whether there is no header.
    """
    at = until = 0
    above: Sequence[_Cell] = ()
    header: list[str] = []
    while at < len(lines):
        columns = _cells(lines[at])
        last = at + 1
        if not 1 < len(columns) <= _MAX_COLUMNS or _in_tables(lines[at], tables):
            at = last
            continue
        rows = [_Row(_shown(lines[at])[0].place, columns)]
        lowest = lines[at]
        while last < len(lines) and _is_below(lowest, lines[last], tables):
            placed = _place(_cells(lines[last]), columns)
            if placed is None or not _add_line(rows, _shown(lines[last])[0].place, placed[0]):
                break
            columns = placed[1]
            if _shown(lines[last])[0].place < _shown(lowest)[0].place:
                lowest = lines[last]
            last += 1
        cells = [row.cells for row in rows]
        goes_on = at - until <= _MAX_LABELS and _are_in_columns(cells, above)
        if goes_on or _is_table(cells):
            texts = [[cell.text for cell in row] for row in cells]
            headless = _is_headless(cells) and not _is_ruled(rows, rules)
            if not (goes_on and headless):
                above, header = columns, [] if headless else texts[0]
            elif header:
                texts, headless = [header, *texts], False
            yield at, (last, texts, headless)
            until = last
        at = last


def _in_tables(line: Sequence[_Letter], tables: Sequence[Table]) -> bool:
    first = _shown(line)[0]
    return any(table.has(first.left, first.place) for table in tables)


def _is_below(above: Sequence[_Letter], line: Sequence[_Letter], tables: Sequence[Table]) -> bool:
    """Whether a line is below the lowest one of a table without rules, or beside it."""
    before, after = _shown(above), _shown(line)
    if not after or _in_tables(line, tables):
        return False
    pitch = _ROW_PITCH if len(_cells(line)) > 1 else _LINE_PITCH
    return (
        abs(before[0].size - after[0].size) <= 0.2 * after[0].size
        and before[0].place - after[0].place <= pitch * after[0].size / 2
    )


def _add_line(rows: list[_Row], place: float, cells: Sequence[_Cell]) -> bool:
    """Add a line to the rows of a table: as a new row, or as the rest of the last one.

    The rest of a row begins without a label. If the line above is the rest of a wrapped label, the
    next cell is higher on the page. Return False if the line does not fit.
    """
    last = rows[-1]
    label = not any(cell.text for cell in last.cells[1:])
    wrapped = label and len(rows) > 1 and abs(rows[-2].place - place) < 1
    if wrapped:
        last = _merged(rows[-2], last.cells)
    if place > last.place + 1:
        return False
    if place > last.place - 1:
        if any(here.text and new.text for here, new in zip(last.cells, cells, strict=True)):
            return False
    elif cells[0].text:
        rows.append(_Row(place, list(cells)))
        return True
    if wrapped:
        rows.pop()
    rows[-1] = _merged(last, cells)
    return True


def _merged(row: _Row, cells: Sequence[_Cell]) -> _Row:
    return _Row(
        row.place,
        [
            here._replace(text=f"{here.text} {new.text}".strip()) if here.text else new
            for here, new in zip(row.cells, cells, strict=True)
        ],
    )


def _is_ruled(rows: Sequence[_Row], rules: Sequence[Box]) -> bool:
    """Whether there is a rule below the first row of a table, and none below the others."""
    left, right = rows[0].cells[0].left, rows[0].cells[-1].right
    places = [row.place for row in reversed(rows)]
    lengths: Counter[int] = Counter()
    for rule in rules:
        if rule.left < right and rule.right > left:
            above = len(rows) - bisect_left(places, rule.bottom)
            lengths[above] += round(min(rule.right, right) - max(rule.left, left))
    return [row for row in range(1, len(rows)) if 2 * lengths[row] > right - left] == [1]


def _are_in_columns(rows: Sequence[Sequence[_Cell]], columns: Sequence[_Cell]) -> bool:
    """Whether rows have a cell in each of at least three columns of a table."""
    return len(columns) >= _MIN_COLUMN and all(
        len(row) == len(columns) and all(map(_Cell.meets, row, columns)) for row in rows
    )


def _place(
    cells: Sequence[_Cell], columns: Sequence[_Cell]
) -> tuple[list[_Cell], list[_Cell]] | None:
    """Return a row with a cell for each column, and the columns, widened; None if they do not fit."""
    if len(cells) > len(columns):
        return None
    row = [_Cell(column.left, column.right) for column in columns]
    wider = list(columns)
    for cell in cells:
        met = [i for i, column in enumerate(columns) if cell.meets(column)]
        if len(met) != 1 or row[met[0]].text:
            return None
        (i,) = met
        row[i] = cell
        wider[i] = _Cell(min(columns[i].left, cell.left), max(columns[i].right, cell.right))
    if any(left.right >= right.left for left, right in pairwise(wider)):
        return None
    return row, wider


def _is_table(rows: Sequence[Sequence[_Cell]]) -> bool:
    """Whether aligned lines are a table, rather than two columns of text."""
    if len(rows) < _MIN_COLUMN:
        return False
    full = [row for row in rows if all(cell.text for cell in row)]
    if len(rows[0]) > 2:
        return 2 * len(full) >= len(rows)
    lefts = [row[1].left for row in full]
    labels = all(row[0].text.rstrip().endswith(":") for row in rows)  # lines of their own
    short = not labels and all(len(row[0].text) <= _LONGEST_NAME for row in rows)
    return len(full) == len(rows) and short and max(lefts) - min(lefts) <= _SAME_PLACE


def _is_headless(rows: Sequence[Sequence[_Cell]]) -> bool:
    """Whether the first of aligned rows is no header: not bold, and not words above numbers."""
    first, *others = rows
    if all(cell.bold for cell in first) and not all(cell.bold for row in others for cell in row):
        return False
    if any(_FIGURE.search(cell.text) for cell in first[1:]):
        return True
    figures = [
        sum(_FIGURE.search(row[c].text) is not None for row in others) for c in range(1, len(first))
    ]
    of_figures = figures.count(len(others))
    return of_figures <= len(figures) - of_figures - figures.count(0)


def _by_table(
    letters: Sequence[_Letter], tables: Sequence[Table]
) -> list[tuple[Table | None, list[_Letter]]]:
    """Write letters into the tables that they are in; return them in runs of the same table."""
    runs: list[tuple[Table | None, list[_Letter]]] = []
    for letter in letters:
        x, y = letter.left, letter.place
        table = next((each for each in tables if each.has(x, y)), None)
        if letter.text.isspace():  # PDFium adds spaces, and these have no place
            if runs:
                runs[-1][1].append(letter)
                if runs[-1][0] is not None:
                    runs[-1][0].go_on(letter.text)
            continue
        if table is not None:
            table.write(x, y, letter.text)
        if not runs or runs[-1][0] is not table:
            runs.append((table, []))
        runs[-1][1].append(letter)
    return runs or [(None, list(letters))]


def _lines(
    each: _Line | Table, page: Sequence[_Line | Table], before: Table | None
) -> Iterator[_Line]:
    """Yield a line, or the lines of a table.

    A table at the top of a page that continues the one `before` has its header.
    """
    if isinstance(each, _Line):
        yield each
        return
    caption, rows = each.rows()
    at = page.index(each)
    above = page[at - 1] if at else None
    if isinstance(above, Table) and not caption and each.is_rest_of(above):  # in the next column
        rows = rows[1:] if rows[:1] == [above.header] else rows
        each.header = above.header
        for line in table_lines(rows, headless=True)[2:]:
            yield _Line(line.translate(_LIGATURES), is_row=True)
        return
    if caption:
        yield _Line(caption, is_row=True)
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
        yield _Line(line.translate(_LIGATURES), is_row=True)


def _last_table(page: Sequence[_Line | Table]) -> Table | None:
    """Return the table at the end of a page, which may continue on the next."""
    ends = [each for each in page if not isinstance(each, _Line) or each.text.strip()]
    return next(
        (each for each in ends[: -_MAX_BETWEEN - 2 : -1] if not isinstance(each, _Line)), None
    )


def _line(letters: Sequence[_Letter], bullets: Sequence[Box]) -> _Line:
    shown = _shown(letters)
    if not shown:
        return _Line("".join(letter.text for letter in letters))
    size = Counter(letter.size for letter in shown).most_common(1)[0][0]
    place = next(letter.place for letter in shown if letter.size == size)
    left = shown[0].left
    text = ""
    base = _Line("", place, size)
    for raised, some in groupby(letters, key=lambda letter: _is_raised(letter, base)):
        part = "".join(letter.text for letter in some)
        mark = part.strip() if raised else ""
        price = len(mark) > 1 and _BEFORE_CENTS.search(text)
        begins = not text and part[-1:].isspace()  # the mark before the note itself
        note = _MARK.fullmatch(mark) and (begins or _BEFORE_MARK.search(text)) and not price
        text += part[len(part.rstrip()) :] if note else part
    text = text.translate(_LIGATURES)
    if any(
        box.right <= left < box.right + size
        and 2 * (box.bottom - place) > -1
        and box.top < place + size / 2
        for box in bullets
    ):
        text = f"• {text}"
    word = list(
        takewhile(
            lambda each: not each.text.isspace(),
            dropwhile(lambda each: each.text.isspace(), letters),
        )
    )
    width = size / 4  # of the last letter; letters are about half as wide as high
    return _Line(
        text,
        place,
        size,
        all(letter.bold for letter in shown),
        left=left,
        right=shown[-1].left + width,
        first=word[-1].left + width - left,
        gaps=len(_cells(letters)) > 1,
        number=_number_before_gap(shown),
    )


def _is_digit(letter: _Letter) -> bool:
    return letter.text.isascii() and letter.text.isdecimal()


def _number_before_gap(shown: Sequence[_Letter]) -> int:
    """Return the number that a line begins with, before a gap and a capital letter; else 0."""
    number = "".join(each.text for each in takewhile(_is_digit, shown[:3]))
    if (
        not 0 < len(number) < 3
        or len(shown) == len(number)
        or not shown[len(number)].text.isupper()
    ):
        return 0
    last, after = shown[len(number) - 1], shown[len(number)]
    gap = after.left - last.left - last.size / 4  # digits are half as wide as high
    return int(number) if gap > _NUMBER_GAP * after.size / 2 else 0


def _with_structure(pages: Sequence[Sequence[_Line]]) -> list[str]:
    """Return the texts of pages with Markdown headings and blank lines between paragraphs."""
    sizes: Counter[int] = Counter()
    for page in pages:
        for line in page:
            sizes[line.size] += 0 if line.is_row else len(line.text.strip())
    usual = sizes.most_common(1)[0][0] if sizes else 0
    pitch = _pitch(pages, usual)
    titles = [_headings(page, _HEADING_SCALE * usual) for page in pages]
    bold = [
        _bold_headings(page, usual, pitch) - heads
        for page, heads in zip(pages, titles, strict=True)
    ]
    found = sorted({page[i].size for page, at in zip(pages, titles, strict=True) for i in at})
    levels = {size: min(level, 6) for level, size in enumerate(reversed(found), 1)}
    lowest = min(len(levels) + 1, 6)
    names = {
        page[i].text.strip()
        for page, *some in zip(pages, titles, bold, strict=True)
        for heads in some
        for i in heads
    }
    texts: list[str] = []
    for page, large, small in zip(pages, titles, bold, strict=True):
        if _is_contents(page):
            texts.append("")
            continue
        heads = large | small
        listed = _contents(page, heads, names, len(pages))
        ends, numbered, labels = _line_ends(page, pitch), _numbered(page), _labels(page)
        lines: list[str] = []
        before: _Line | None = None
        item = False
        depths: list[float] = []  # where the items of the open lists begin
        for i, line in enumerate(page):
            text = line.text.strip()
            if not text:
                lines.append("")
                continue
            if i in listed:
                continue
            if i in numbered and i not in heads:
                text = f"{line.number}. {text.lstrip('0123456789 ')}"
            if line.is_row:
                lines += [text] if i and page[i - 1].is_row else ["", text]
                before, item = None, False
                continue
            if before is None and lines:
                lines.append("")
            apart = before is not None and i not in labels and _is_apart(before, line, pitch)
            begins = _BULLET.match(text) or _ITEM.match(text)
            if begins:
                same_list = item and before is not None and before.place > line.place
                depths = [x for x in depths if same_list and x < line.left - line.size / 2]
                text = "  " * len(depths) + text
                depths.append(line.left)
            if before is not None and {i - 1, i} <= heads and _is_same_heading(before, line):
                lines[-1] += f" {text}"
            else:
                if apart and not (item and begins):
                    lines.append("")
                level = levels[line.size] if i in large else lowest
                lines.append(f"{'#' * level} {text}" if i in heads else f"{text}{ends[i]}")
            item = bool(begins) or (item and not apart)
            before = line
        texts.append("\n".join(lines))
    return texts


def _labels(page: Sequence[_Line]) -> set[int]:
    """Return the indexes of lines centred below the line before them, several side by side.

    These are the labels of a chart's bars, whose figures stand above them.
    """
    below = {
        i
        for i, (figure, line) in enumerate(pairwise(page), 1)
        if figure.size == line.size > 0
        and _is_above(figure, line)
        and abs(figure.left + figure.right - line.left - line.right) < line.size / 2
    }
    return {
        i
        for i in below
        if any(j in below and abs(page[i].place - page[j].place) < 1 for j in (i - 2, i + 2))
    }


def _numbered(page: Sequence[_Line]) -> set[int]:
    """Return the indexes of numbered items without full stops: numbers that count up line by line.

    Lines that are indented may stand between the items.
    """
    found: set[int] = set()
    last: int | None = None
    for i, line in enumerate(page):
        shift = line.left - page[last].left if last is not None else 0.0
        if last is not None and line.number == page[last].number + 1 and abs(shift) < line.size / 3:
            found |= {last, i}
        if line.number:
            last = i
        elif line.is_row or (line.size and shift <= _SAME_PLACE):
            last = None
    return found


def _line_ends(page: Sequence[_Line], pitch: float) -> list[str]:
    """Return a mark for each line that goes on, or ends a paragraph or a line of an address or list.

    A line ends if there was room for the next word. If most lines of a block end so, those that are
    just full do as well. A line goes on if there was no room, as in most lines of its column.
    """
    marks = [""] * len(page)
    may_end = [_may_end(*lines) for lines in pairwise(page)] + [False]
    columns = _runs(page, _is_above)
    blocks = _runs(page, lambda a, b: _is_above(a, b) and not _is_apart(a, b, pitch))
    for run in (*columns, *blocks):
        right = max(page[i].right for i in run)
        full = [i for i in run[:-1] if not page[i].has_room(page[i + 1], right)]
        prose = 3 * sum(page[i].text.lstrip()[:1].islower() for i in run) >= len(run)
        for i in full if max(len(run), 2 * _MIN_COLUMN - 1) < 2 * len(full) else ():
            if not may_end[i] or (prose and not page[i].gaps):
                marks[i] = _GOES_ON
    for column in columns:
        i = column[-1]
        right = max(page[i].right for i in column)
        higher = may_end[i] and page[i + 1].place > page[i].place + page[i].size / 2
        if higher and (len(column) == 1 or page[i].has_room(page[i + 1], right)):
            marks[i] = "\n"
    for block in blocks:
        right = max(page[i].right for i in block)
        some = [i for i in block[:-1] if may_end[i]]
        ends = [i for i in some if page[i].has_room(page[i + 1], right)]
        for i in some if len(block) - 1 <= 2 * len(ends) > 2 else ends:
            marks[i] = _ENDS
    return marks


def _is_above(line: _Line, other: _Line) -> bool:
    return line.place > other.place


def _runs(page: Sequence[_Line], goes_on: Callable[[_Line, _Line], bool]) -> list[list[int]]:
    """Return the indexes of lines of the same size and left edge that follow each other."""
    runs: list[list[int]] = []
    for i, line in enumerate(page):
        if line.is_row or not line.size:
            continue
        last = page[i - 1] if runs and runs[-1][-1] == i - 1 else None
        if (
            last is not None
            and last.size == line.size
            and abs(last.left - line.left) <= _SAME_PLACE
            and goes_on(last, line)
        ):
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs


def _may_end(before: _Line, after: _Line) -> bool:
    first = after.text.strip()[:1]
    goes_on = first.islower() or first in "£$€("
    return not goes_on and not _UNFINISHED.search(before.text.rstrip())


def _is_contents(page: Sequence[_Line]) -> bool:
    """Whether most lines have dot leaders, and numbers after them that do not fall, unlike prices."""
    said = [line.text for line in page if line.text.strip()]
    numbers = [int(number[1]) for text in said if (number := _LED_NUMBER.search(text))]
    return (
        len(said) > _MIN_CONTENTS_LINES
        and 2 * len(numbers) > len(said)
        and numbers == sorted(numbers)
    )


def _pitch(pages: Sequence[Sequence[_Line]], usual: int) -> float:
    """Return the distance between the lines of a paragraph, in points; 0 if unknown."""
    steps = sorted(
        before.place - after.place
        for page in pages
        for before, after in pairwise(page)
        if before.size == after.size == usual and before.place - after.place > usual / 4
    )
    return steps[len(steps) // 7] if steps else 0.0


def _headings(page: Sequence[_Line], least: float) -> set[int]:
    """Return the indexes of headings: short runs of lines in a larger font."""
    found: set[int] = set()
    for size, some in groupby(range(len(page)), key=lambda i: page[i].size):
        run = list(some)
        text = " ".join(page[i].text for i in run)
        few = len(run) <= 3 and len(text) <= _LONGEST_HEADING
        said = sum(map(str.isalpha, text)) > 1 and not _LEADERS.search(text)
        if size >= least > 0 and few and said:
            found.update(run)
    return found


def _bold_headings(page: Sequence[_Line], usual: int, pitch: float) -> set[int]:
    """Return the indexes of headings in the size of the text: bold lines above other text."""
    bold = sum(len(line.text) for line in page if line.bold)
    if 3 * bold > sum(len(line.text) for line in page):
        return set()
    found: set[int] = set()
    for i, (line, after) in enumerate(pairwise(page)):
        text = line.text.strip()
        before = page[i - 1] if i else None
        if (
            line.bold
            and line.size >= usual
            and not after.bold
            and not after.text.strip()[:1].islower()
            and not (before is not None and _UNFINISHED.search(before.text.rstrip()))
            and abs(line.place - after.place) > pitch / 2
            and (
                before is None
                or before.is_row
                or before.place < line.place  # the end of a column, or a footer
                or _is_apart(before, line, pitch)
            )
            and sum(map(str.isalpha, text)) > 1
            and len(text) <= _LONGEST_BOLD
            and text[-1] not in ".,;:!"
            and not _BULLET.match(text)
            and not _LEADERS.search(text)
        ):
            found.add(i)
    return found


def _contents(page: Sequence[_Line], heads: set[int], names: set[str], count: int) -> set[int]:
    """Return the indexes of a table of contents.

    That is several lines that are headings elsewhere, or end in dots and the numbers of pages.
    """
    found: set[int] = set()
    for listed, some in groupby(
        range(len(page)), key=lambda i: i not in heads and page[i].text.strip() in names
    ):
        run = list(some)
        if listed and len(run) > 2:
            found.update(run)
    leads = [None if line.is_row else _LED_NUMBER.search(line.text[-20:]) for line in page]
    for led, some in groupby(range(len(page)), key=lambda i: leads[i] is not None):
        run = list(some)
        numbers = [int(lead[1]) for i in run if (lead := leads[i])]
        if led and len(run) > 2 and numbers == sorted(numbers) and numbers[-1] <= count:
            found.update(run)
    return found


def _is_same_heading(before: _Line, after: _Line) -> bool:
    return before.size == after.size and before.place - after.place < after.size


def _is_apart(before: _Line, after: _Line, pitch: float) -> bool:
    """Whether a paragraph ends between two lines."""
    if before.size != after.size and _HEADING_SCALE * min(before.size, after.size) <= max(
        before.size, after.size
    ):
        return True
    step = before.place - after.place
    goes_on = after.text.strip()[:1].islower() and before.text.strip()[-1:] not in ".!?:;"
    if goes_on or (0 < step < before.size and _UNFINISHED.search(before.text.rstrip())):
        return False
    if before.bold != after.bold and abs(step) > pitch / 2:
        return True
    return step > _PARAGRAPH_SCALE * pitch > 0


def _splits_words(pages: Sequence[str], words: set[str]) -> bool:
    """Whether a document splits words at line ends: many are split, or one is whole elsewhere."""
    split = [found.groups() for page in pages for found in _SPLIT_WORD.finditer(page)]
    lines = sum(page.count("\n") + 1 for page in pages)
    many = len(split) >= max(_MIN_SPLIT_WORDS, _SPLIT_WORDS_SHARE * lines)
    return many or any(f"{first}{second}" in words for first, second in split)


def join_lines(text: str, words: set[str], *, splits_words: bool = True) -> str:
    """Join the lines of a page into paragraphs.

    A line continues on the next one if it is marked so or, unless it is marked to end, is about as
    long as the page is wide. A word hyphenated at a line end is joined; it keeps the hyphen after a
    single letter ("e-mail"), if the document has the hyphenated form elsewhere, or if the document
    hardly splits words and this one is made of two.

    Args:
        words: the words of the document that are not split at the end of a line.
    """
    marks = [line[-1:] for line in text.split("\n")]
    indents = [line[: len(line) - len(line.lstrip(" "))] for line in text.split("\n")]
    lines = [_BULLET.sub("• ", " ".join(line.split()), count=1) for line in text.split("\n")]
    lengths = sorted(len(line) for line in lines if line and not _ROW.fullmatch(line))
    usual = lengths[int(0.9 * (len(lengths) - 1))] if lengths else 0
    fulls: list[int] = []
    for _, block in groupby(lines, key=bool):
        size = len(list(block))
        fulls += [usual if size < _MIN_COLUMN else max(usual, _MIN_FULL)] * size
    parts: list[str] = []
    for here, indent, mark, after, full in zip(
        lines, indents, marks, [*lines[1:], ""], fulls, strict=True
    ):
        if here and parts and parts[-1].endswith("\n"):
            parts.append(indent)
        broken = _BROKEN.search(here[-_LONGEST_WORD:])
        unfinished = after[:1].islower() or _UNFINISHED.search(here)
        wide = 0.65 * full if unfinished else 0.85 * full
        item = _ITEM.match(after) and here.count("(") <= here.count(")")
        if not here or here == "• ":
            parts.append(here or "\n")
        elif _HEADING.match(here):
            parts.append(f"{here}\n\n")
        elif _ROW.fullmatch(here):
            parts.append(f"{here}\n")
        elif broken and _goes_on(broken[1], after, words):
            rest = _WORD.match(after)
            second = rest[0] if rest else ""
            whole, known = f"{broken[1]}{second}" in words, f"{broken[1]}-{second}" in words
            compound = not splits_words and (
                (_COMPOUNDS.match(broken[1]) and len(second) > _LONGEST_ENDING)
                or {broken[1], second} <= words
            )
            keep = len(broken[1]) == 1 or (not whole and (known or compound))
            parts.append(here if keep else here[:-1])
        elif (
            after
            and (mark == _GOES_ON or (mark != _ENDS and len(here) >= wide))
            and not item
            and not _HEADING.match(after)
        ):
            parts.append(f"{here} ")
        else:
            parts.append(f"{here}\n")
    return _MANY_LINES.sub("\n\n", "".join(parts)).strip()


def _goes_on(first: str, after: str, words: set[str]) -> bool:
    """Whether a line begins with the rest of a word; if capitalised, the whole must be known."""
    rest = _WORD.match(after)
    return after[:1].islower() or (rest is not None and f"{first}{rest[0]}" in words)


def _title(document: Any) -> str:
    found = str(document.get_metadata_value("Title")).strip()
    return "" if _NO_TITLES.match(found) else found
