"""The lines of a PDF page, and its tables without vertical rules, from the positions of letters."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from ctypes import c_double, c_int, create_string_buffer
from itertools import dropwhile, groupby, pairwise, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.documents.document import clean
from semqa.documents.parsers.plain import superscript, table_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from semqa.documents.parsers.drawn import Box, Table, Turn

LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)
_LINE_END = tuple(b"\r\n")
_HYPHENS = (0x02, 0xFFFE)
"""PDFium's characters for a hyphen at the end of a line."""

BULLETS = "•▪◦‣●○■□➢\uf0a7\uf0b7\uf0d8"

MIN_COLUMN, _MIN_PROSE = 3, 25
"""Minimum number of lines in a column of prose, and their mean length."""

_MAX_EDGE = 30
"""Lines of headers, footers and notes that may be drawn before the text of a page."""

_MAX_INITIALS = 5
"""Maximum number of drop caps to process per page."""

SAME_PLACE = 2.0
"""Maximum distance between the left edges of two lines of a column, in points."""

_COLUMN_GAP, _WIDE_GAP, _ROW_PITCH, _LINE_PITCH = 1.5, 1.8, 3.0, 2.2
"""Distances in font sizes: minimum between letters of two columns, the same if the line may be prose,
maximum between rows of several cells, and maximum to a line of one cell."""

_NARROW_LETTERS, _NARROW_LETTER = ".,:;'|!()[]fijlrt", 0.25
"""Letters that are narrower than half their height, and by how much, in font sizes."""

_MAX_COLUMNS, _LONGEST_NAME = 30, 40
_NUMBER_GAP = 0.6
"""Minimum distance between the number of an item and its text, in font sizes."""

_STRIKES = 0.12, 0.5
"""Height above the line, in font sizes, of a rule that strikes text through."""

_HIGHEST_FIELD, _USUAL_SIZE = 20.0, 20
"""Maximum height of the first line of a field, in points; font size if there is no text, in half points."""

_MAX_LABELS = 2
"""Maximum number of lines between two parts of a table without rules."""

_FIGURE = re.compile(r"\D{,9}\d|[-–—]?$")
"""The start of an amount, such as "from £9", or an empty cell."""

_MARK = re.compile(r"[-−–+]?\d{1,2}|[*†‡§]{1,2}")
"""A superscript, such as the mark of a note."""

_BEFORE_MARK = re.compile(r"(?:[^\W\d_]{4}|[.,;:!?]|[”\"’])$")
"""The text before the mark of a note; it does not match before an exponent."""

_NUMBER = re.compile(rf"\(?\w{{1,4}}[.)]|[-–*{BULLETS}]")
"""The number or bullet of a list item, before a gap."""

_PARAGRAPH = re.compile(rf"{_NUMBER.pattern}|\d{{1,4}}(?:[./]\d{{1,4}})+")
"""The number of an item or a paragraph."""

_BEFORE_CENTS = re.compile(r"\d[.,]$")


class _Letter(NamedTuple):
    """A character; for the attributes see `Line`."""

    text: str
    left: float
    place: float
    size: int
    bold: bool


class Line(NamedTuple):
    """A line of a page.

    Attributes:
        place: height above the lower edge of the page, in points.
        left, right: where it begins, and approximately where it ends, in points.
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

    def has_room(self, after: Line, right: float) -> bool:
        """Whether the first word of the next line fits on this line, in a column that ends at `right`."""
        return self.right + after.first + self.size / 4 < right  # half an em, for the space


def page_lines(
    page: Any,
    pdfium: Any,
    turn: Turn,
    tables: Sequence[Table],
    bullets: Sequence[Box],
    rules: Sequence[Box],
    fields: Iterable[tuple[Box, str]],
) -> list[Line | Table]:
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
            place = turn(across.value, up.value)
            lines[-1].append(_Letter(char, *place, round(2 * size), bold))
        if hyphen or code == _LINE_END[-1]:
            lines.append([])
    found: list[Line | Table] = []
    lines = [_without_struck(line, rules) for line in lines]
    headed = [_with_header(table, tables, lines) for table in tables]
    # A single row continues the table on the previous page; without its header it is not a table.
    tables = [
        new
        for old, new in zip(tables, headed, strict=True)
        if new.is_grid and (new.has_rows or new is old)
    ]
    lines = _with_initials(_with_rest(lines))
    notes = {mark for line in lines if (mark := _mark_of_note(line))}
    lines = _from_top([_with_superscripts(line, notes) for line in lines])
    ordered = list(_by_column(_with_fields(lines, fields)))
    aligned = dict(_aligned_rows(ordered, tables, rules))
    until = 0
    for at, letters in enumerate(ordered):
        if at in aligned:
            until, rows, headless = aligned[at]
            texts = (line.translate(LIGATURES) for line in table_lines(rows, headless=headless))
            if found and isinstance(found[-1], Line) and found[-1].is_row:
                found.append(Line(""))
            found += [Line(text, is_row=True) for text in texts]
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


def _with_header(
    table: Table, tables: Sequence[Table], lines: Sequence[Sequence[_Letter]]
) -> Table:
    """Return a table with the header above its first rule if there is one, else without that part."""
    first_rule, columns = table.first_rule, range(table.width)
    if first_rule is not None:
        words = list(_words_above(table, first_rule, lines))
        split = any(len(places) > 1 for places in words)
        return table.with_top(first_rule) if split or len(set().union(*words)) < 2 else table
    for line in lines:
        cells, shown = _cells(line), _shown(line)
        above = shown[0].place - table.box.top if shown else 0.0
        if len(cells) > 1 and 0 < above < shown[0].size:
            if any(each.has(shown[0].left, shown[0].place) for each in tables):
                continue
            places = [{table.column(each.left), table.column(each.right)} for each in cells]
            if places in ([{i} for i in columns], [{i} for i in columns[1:]]):
                return table.with_top(shown[0].place + shown[0].size / 2)
    return table


def _words_above(
    table: Table, first_rule: float, lines: Iterable[Sequence[_Letter]]
) -> Iterator[set[int]]:
    """Yield the columns of each word above the first rule of a table."""
    for line in lines:
        for is_space, some in groupby(line, key=lambda each: each.text.isspace()):
            word = list(some)
            if not is_space and any(
                each.place > first_rule and table.has(each.left, each.place) for each in word
            ):
                yield {table.column(each.left) for each in word}


def _without_struck(line: list[_Letter], rules: Sequence[Box]) -> list[_Letter]:
    """Return a line without the letters that a rule of the same length strikes through."""
    places = [each.place for each in _shown(line)]
    for rule in rules:
        height = (rule.bottom + rule.top) / 2
        if not places or not min(places) < height < max(places) + line[0].size:
            continue
        struck = [
            i
            for i, each in enumerate(line)
            if rule.left - SAME_PLACE <= each.left < rule.right
            and _STRIKES[0] < (height - each.place) / (each.size / 2 or 1) < _STRIKES[1]
            and not each.text.isspace()
        ]
        if not struck:
            continue
        first, last = line[struck[0]], line[struck[-1]]
        if first.left - rule.left <= SAME_PLACE and rule.right - last.left <= last.size / 2:
            after = line[struck[-1] + 1 :]
            if not line[: struck[0]] or line[struck[0] - 1].text.isspace():
                after = list(dropwhile(lambda each: each.text.isspace(), after))
            line = line[: struck[0]] + after
    return line


def _with_rest(lines: Sequence[list[_Letter]]) -> list[list[_Letter]]:
    """Join the lines that PDFium splits after a bullet, and before or after superscripts or subscripts."""
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
                _begins_with_mark(shown, line, first)
                or (last.size < 0.9 * first.size and abs(first.place - shown[0].place) < 1)
            )
        ):
            while joined[-1] and joined[-1][-1].text.isspace():
                joined[-1].pop()
            joined[-1] += line
        elif shown and first and first is last and _is_bullet(first, shown[0]):
            bullet = first._replace(place=shown[0].place)
            joined[-1] = [bullet, bullet._replace(text=" "), *line]
            first = shown[0]
        elif shown and last and last.left < shown[0].left and _is_mark(joined[-1], shown[0]):
            joined[-1] = [*joined[-1], last._replace(text=" "), *line]  # the start of a note
            first = shown[0]
        else:
            joined.append(list(line))
            first = shown[0] if shown else None
        last = shown[-1] if shown else None
    return joined


def _from_top(lines: Sequence[list[_Letter]]) -> list[list[_Letter]]:
    """Move lines that are drawn first but are below all others, such as footers and notes, to the end."""
    said = [(shown[0].place, i) for i, line in enumerate(lines) if (shown := _shown(line))]
    for count in range(min(_MAX_EDGE, len(said) - 1), 0, -1):
        edge, rest = said[:count], [place for place, _ in said[count:]]
        low = [i for place, i in sorted(edge, reverse=True) if place < min(rest)]
        if all(place < min(rest) or place >= max(rest) for place, _ in edge):
            return [
                *(line for i, line in enumerate(lines) if i not in low),
                *(lines[i] for i in low),
            ]
    return list(lines)


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


def _with_fields(
    lines: Sequence[list[_Letter]], fields: Iterable[tuple[Box, str]]
) -> list[list[_Letter]]:
    """Put the values of form fields on the lines of their labels, or on lines of their own below."""
    found = list(lines)
    for box, text in fields:
        middle = box.top - min(box.top - box.bottom, _HIGHEST_FIELD) / 2
        shown = [_shown(line) for line in found]
        beside = [
            (min(abs(each.left - box.left) for each in some), i)
            for i, some in enumerate(shown)
            if some and abs(some[0].place + some[0].size / 6 - middle) < some[0].size / 4
        ]
        above = [
            (some[0].place, i)
            for i, some in enumerate(shown)
            if some
            and some[0].place > middle
            and some[0].left < box.right
            and some[-1].left > box.left
        ]
        _, at = min(beside or above, default=(0.0, -1))
        base = shown[at][0] if at >= 0 else _Letter("", 0.0, middle, _USUAL_SIZE, bold=False)
        if not beside:
            base = base._replace(place=middle - base.size / 6)
            at = at + 1 if above else len(found)
            found.insert(at, [])
        step = min(base.size / 4, (box.right - box.left) / len(text))
        letters = [
            base._replace(text=each, left=box.left + step * i, bold=False)
            for i, each in enumerate(f"{text} ")
        ]
        line = [e for e in found[at] if e.text not in "._" or not box.left <= e.left < box.right]
        cut = next(
            (i for i, e in enumerate(line) if box.left <= e.left and not e.text.isspace()),
            len(line),
        )
        found[at] = [*line[:cut], base._replace(text=" "), *letters, *line[cut:]]
    return found


def _is_bullet(letter: _Letter, after: _Letter) -> bool:
    """Whether a line of one letter is the bullet of the next line."""
    apart = abs(letter.place - after.place)
    return letter.text in BULLETS and letter.left < after.left and apart < after.size / 4


def _is_mark(line: Sequence[_Letter], base: _Letter) -> bool:
    """Whether a line is a superscript or subscript of the line that begins with `base`."""
    text = "".join(each.text for each in line).strip()
    small = line[0].size < 0.9 * base.size and abs(line[0].place - base.place) < base.size / 2
    return small and _MARK.fullmatch(text) is not None


def _begins_with_mark(shown: Sequence[_Letter], line: Sequence[_Letter], base: _Letter) -> bool:
    """Whether a line begins with a superscript or subscript and continues the line of `base`."""
    word = _first_word(line)
    rest = shown[len(word) :]
    return _is_mark(word, base) and (not rest or abs(rest[0].place - base.place) < base.size / 4)


def _mark_of_note(letters: Sequence[_Letter]) -> str:
    """Return the superscript mark at the start of a line, or ""."""
    shown = _shown(letters)
    if not shown:
        return ""
    base = _base(shown)
    mark = "".join(each.text for each in takewhile(lambda each: _is_raised(each, base), shown))
    return mark if _MARK.fullmatch(mark) else ""


def _with_superscripts(letters: Sequence[_Letter], notes: Collection[str]) -> list[_Letter]:
    """Return a line with raised text as superscript, without the marks of notes that are elsewhere.

    Args:
        notes: the marks of the notes on this page, which are kept.
    """
    shown = _shown(letters)
    if not shown:
        return list(letters)
    base = _base(shown)
    bases: list[_Letter] = []  # for each letter, the last one before it that is not small
    for letter in letters:
        base = letter if letter.size == base.size and not letter.text.isspace() else base
        bases.append(base)
    line: list[_Letter] = []
    for raised, some in groupby(zip(letters, bases, strict=True), key=lambda e: _is_raised(*e)):
        run = [letter for letter, _ in some]
        mark = "".join(each.text for each in run).strip() if raised else ""
        text = "".join(each.text for each in line[-_LONGEST_NAME:]) if mark else ""
        if mark and not (len(mark) > 1 and _BEFORE_CENTS.search(text)):
            if mark not in notes and _MARK.fullmatch(mark) and _BEFORE_MARK.search(text):
                # The letters keep their places without their text.
                run = [e if e.text.isspace() else e._replace(text="") for e in run]
            else:
                texts = superscript("".join(each.text for each in run))
                run = [each._replace(text=text) for each, text in zip(run, texts, strict=True)]
        line += run
    return line


def _right(letter: _Letter) -> float:
    """Estimate where a letter ends: most letters are half as wide as high."""
    narrow = _NARROW_LETTER if letter.text in _NARROW_LETTERS else 0.0
    return letter.left + (0.5 - narrow) * letter.size / 2


def _base(shown: Sequence[_Letter]) -> _Letter:
    """Return the first letter in the most common size."""
    size = Counter(letter.size for letter in shown).most_common(1)[0][0]
    return next(letter for letter in shown if letter.size == size)


def _is_raised(letter: _Letter, base: _Letter) -> bool:
    """Whether a letter is a superscript; places are in points, sizes in half points."""
    return letter.size < 0.9 * base.size and letter.place > base.place + base.size / 10


def _by_column(lines: Sequence[list[_Letter]]) -> Iterator[list[_Letter]]:
    """Yield the lines in reading order: the left one of two columns comes first.

    Columns are prose, or begin with labels as in "Bill to:   Deliver to:". Other lines are rows.
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
                if (part := [each for each in line if (each.left > gutter - SAME_PLACE) == side])
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


def _first_word(line: Iterable[_Letter]) -> list[_Letter]:
    rest = dropwhile(lambda each: each.text.isspace(), line)
    return list(takewhile(lambda each: not each.text.isspace(), rest))


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
        return abs(begins - gutter) <= SAME_PLACE
    return after[-1].left < gutter or after[0].left >= gutter - SAME_PLACE


def _are_columns(left: Sequence[Sequence[_Letter]], right: Sequence[Sequence[_Letter]]) -> bool:
    texts = [
        ["".join(each.text for each in line).strip() for line in half] for half in (left, right)
    ]
    if all(half[0].endswith(":") and not half[-1].endswith(":") for half in texts):
        return True
    return all(
        len(half) >= MIN_COLUMN and sum(map(len, half)) >= _MIN_PROSE * len(half) for half in texts
    )


class _Cell(NamedTuple):
    """Text of a line between two wide gaps, or the extent of a column, in points."""

    left: float
    right: float
    text: str = ""
    bold: bool = False

    def meets(self, other: _Cell) -> bool:
        return self.left < other.right and other.left < self.right


def _cells(line: Sequence[_Letter], least: float = _COLUMN_GAP) -> list[_Cell]:
    runs: list[list[_Letter]] = []
    last: _Letter | None = None
    for each in line:
        if each.text.isspace():
            if runs:
                runs[-1].append(each)
            continue
        narrow = _NARROW_LETTER if last and last.text in _NARROW_LETTERS else 0.0
        if last is None or each.left - last.left > (least - narrow) * each.size / 2:
            runs.append([])
        runs[-1].append(each)
        last = each
    cells = []
    for run in runs:
        shown = _shown(run)
        text = "".join(each.text for each in run)
        bold = all(each.bold for each in shown)
        cells.append(_Cell(shown[0].left, _right(shown[-1]), text, bold))
    return cells


class _Row(NamedTuple):
    """A row of a table.

    Attributes:
        line: the index of its first line.
        place: its height on the page, in points.
        cells: one for each column.
    """

    line: int
    place: float
    cells: list[_Cell]


def _aligned_rows(
    lines: Sequence[Sequence[_Letter]], tables: Sequence[Table], rules: Sequence[Box]
) -> Iterator[tuple[int, tuple[int, list[list[str]], bool]]]:
    """Yield tables without vertical rules: aligned lines of at least two cells.

    Rows below a label get the header of the table above if they are in its columns.

    Yields:
        The index of the first line, and of the line after the last; the rows; and whether there is
        no header.
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
        rows = [_Row(at, _shown(lines[at])[0].place, columns)]
        lowest = lines[at]
        while last < len(lines) and _is_below(lowest, lines[last], tables):
            line = _cells(lines[last])
            if len(rows) == 1 and (wider := _with_columns(rows[0].cells, line)):
                rows, columns = [rows[0]._replace(cells=wider[0])], wider[1]
            placed = _place(line, columns)
            if placed is None or not _add_line(
                rows, _Row(last, _shown(lines[last])[0].place, placed[0])
            ):
                break
            columns = placed[1]
            if _shown(lines[last])[0].place < _shown(lowest)[0].place:
                lowest = lines[last]
            last += 1
        cut = next((i for i, row in enumerate(rows) if not all(c.text for c in row.cells)), 0)
        if cut and rows[cut].cells[0].text[:1].islower():
            cut -= 1  # the row above continues below its name
        if cut >= MIN_COLUMN and len(columns) == 2:
            last, rows = rows[cut].line, rows[:cut]
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


def _with_columns(
    row: Sequence[_Cell], cells: Sequence[_Cell]
) -> tuple[list[_Cell], list[_Cell]] | None:
    """Return a row with columns for cells beside it: a header may lack a cell above the row names."""
    new = [cell for cell in cells if not any(map(cell.meets, row))]
    return _place([cell for cell in row if cell.text], sorted([*row, *new])) if new else None


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


def _add_line(rows: list[_Row], line: _Row) -> bool:
    """Add a line to a table, as a new row or the rest of the last row; return False if it does not fit.

    The rest of a row begins without a label. If the line above is the rest of a wrapped label, the
    next cell is higher on the page.
    """
    last, (_, place, cells) = rows[-1], line
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
        rows.append(line)
        return True
    if wrapped:
        rows.pop()
    rows[-1] = _merged(last, cells)
    return True


def _merged(row: _Row, cells: Sequence[_Cell]) -> _Row:
    return row._replace(
        cells=[
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
    return len(columns) >= MIN_COLUMN and all(
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
    if len(rows) < MIN_COLUMN:
        return False
    full = [row for row in rows if all(cell.text for cell in row)]
    if len(rows[0]) > 2:
        return 2 * len(full) >= len(rows)
    names = [row[0].text.strip() for row in rows]
    labels = all(name.endswith(":") for name in names)  # lines of their own
    prose = sum(len(row[1].text) for row in rows) >= _MIN_PROSE * len(rows)
    number = _PARAGRAPH if prose else _NUMBER
    if len(full) < len(rows) or labels or all(map(number.fullmatch, names)):
        return False
    edges = [row[1].left for row in full], [row[1].right for row in full]
    aligned = any(max(places) - min(places) <= 2 * SAME_PLACE for places in edges)
    return aligned and max(map(len, names)) <= _LONGEST_NAME


def _is_headless(rows: Sequence[Sequence[_Cell]]) -> bool:
    """Whether the first row is not a header: neither bold nor words above numbers."""
    first, *others = rows
    heads, bodies = (
        [cell.bold for row in some for cell in row if cell.text] for some in ([first], others)
    )
    if all(heads) and not all(bodies):
        return False
    if any(re.search(r"\d|^[-–—]?$", cell.text) for cell in first[1:]):
        return True
    figures = [
        sum(_FIGURE.match(row[c].text) is not None for row in others) for c in range(1, len(first))
    ]
    of_figures = figures.count(len(others))
    return of_figures <= len(figures) - of_figures - figures.count(0)


def _by_table(
    letters: Sequence[_Letter], tables: Sequence[Table]
) -> list[tuple[Table | None, list[_Letter]]]:
    """Write letters into the tables that contain them; return runs of letters in the same table."""
    runs: list[tuple[Table | None, list[_Letter]]] = []
    for letter in letters:
        x, y = letter.left, letter.place
        table = next((each for each in tables if each.has(x, y)), None)
        if letter.text.isspace():  # PDFium adds spaces, which have no position
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


def _line(letters: Sequence[_Letter], bullets: Sequence[Box]) -> Line:
    shown = _shown(letters)
    if not shown:
        return Line("".join(letter.text for letter in letters))
    _, _, place, size, _ = _base(shown)
    left = shown[0].left
    text = "".join(letter.text for letter in letters).translate(LIGATURES)
    if any(
        box.right <= left < box.right + size
        and 2 * (box.bottom - place) > -1
        and box.top < place + size / 2
        for box in bullets
    ):
        text = f"• {text}"
    return Line(
        text,
        place,
        size,
        all(letter.bold for letter in shown),
        left=left,
        right=_right(shown[-1]),
        first=_right(_first_word(letters)[-1]) - left,
        gaps=len(_cells(letters, _WIDE_GAP)) > 1,
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
