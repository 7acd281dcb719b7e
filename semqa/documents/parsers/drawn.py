"""The drawings on a PDF page (table rules and bullets), and the values of its form fields."""

from __future__ import annotations

from bisect import bisect_right
from ctypes import POINTER, byref, c_float, c_int, c_ushort, cast, create_string_buffer
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from semqa.documents.document import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Turn = Callable[[float, float], tuple[float, float]]

MAX_SEGMENTS = 50_000
"""A page with more lines and curves than this is a map or a chart, and has no tables."""

MAX_RULES = 2_000
"""A page with more rules than this has no tables."""

MAX_CELLS = 20_000
"""A larger grid is not a table."""

_THICK = 3.0
"""Maximum thickness of a rule, in points."""

_NEAR = 3.0
"""Rules at most this far apart count as touching, in points."""

_FEW_ROWS = 4
"""A table with more rows than this usually has rules between all of them."""

_SAME_HEIGHT = 2.0
"""Maximum vertical distance of letters on one line; those of another font may be lower."""

_MIN_FILLED = 0.7
"""Minimum share of cells with text on the first line of a row without a rule above it."""

_MAX_REPEATED = 100
"""Longer text is not repeated in the rows that its cell spans."""

_HIGHEST_ROW = 150.0
"""Maximum distance between the rules of a table without vertical rules, in points."""

_LINE = 12.0
"""Maximum height of one line of a form field, in points."""

MAX_FILLED = 500
"""Maximum number of form fields to read per page."""

_BULLET = (1.5, 7.0)
"""Minimum and maximum size of a bullet."""


class Box(NamedTuple):
    """A rectangle, in points from the lower left corner of the page."""

    left: float
    bottom: float
    right: float
    top: float


@dataclass(slots=True)
class _Text:
    """A line of a cell, and its height on the page."""

    place: float
    text: str


class Table:
    """A table whose cells are separated by rules; `write` fills them."""

    def __init__(
        self, across: Sequence[Box], upright: Sequence[Box], first_rule: float | None = None
    ) -> None:
        self.first_rule = first_rule
        """The height of the first rule if a header may stand above it."""
        rules = [*across, *upright]
        self._xs = _places([e for box in across for e in (box.left, box.right)], upright, 0)
        self._ys = _places([e for box in upright for e in (box.bottom, box.top)], across, 1)
        self._across, self._upright = across, upright
        self.header: list[str] = []
        """The first row, or that of the table on the previous page that this one continues."""
        self.box = Box(*(min(b[i] for b in rules) for i in (0, 1)),
                       *(max(b[i] for b in rules) for i in (2, 3)))  # fmt: skip
        self._roots = self._merged() if self.is_grid else []
        self._cells: dict[tuple[int, int], list[_Text]] = {}
        self._first: dict[int, str] = {}
        """The texts of the first row by column."""
        self._whole = True
        """Whether no word of the first row extends over two columns."""
        self._last: tuple[int, int] | None = None
        self._column = 0

    @property
    def is_grid(self) -> bool:
        """Whether there are at least two columns and a row, and not too many."""
        return len(self._xs) > 2 and len(self._ys) > 1 and len(self._xs) * len(self._ys) < MAX_CELLS

    @property
    def has_rows(self) -> bool:
        """Whether there are at least two rows."""
        return len(self._ys) > 2

    def has(self, x: float, y: float) -> bool:
        """Whether a place is in the table."""
        left, bottom, right, top = self.box
        return left - 1 <= x <= right + 1 and bottom <= y <= top

    def column(self, x: float) -> int:
        """Return the number of the column at a place; -1 if it is beside the table."""
        return _band(self._xs, x) if self.box.left - 1 <= x <= self.box.right + 1 else -1

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self._xs) - 1

    def with_top(self, top: float) -> Table:
        """Return the table with another upper edge."""
        reach = self.box.top - _NEAR
        upright = [box._replace(top=top) if box.top > reach else box for box in self._upright]
        return Table(self._across, upright)

    def write(self, x: float, y: float, text: str) -> None:
        """Add a part of a line to the cell at a place."""
        row, column = len(self._ys) - 2 - _band(self._ys, y), _band(self._xs, x)
        root = self._roots[row][column]
        lines = self._cells.setdefault(root, [])
        goes_on = bool(lines) and root == self._last
        if row == 0:
            in_word = goes_on and self._column != column and not lines[-1].text[-1:].isspace()
            self._whole = self._whole and not in_word
            self._first[column] = self._first.get(column, "") + text
        if goes_on:
            lines[-1].text += text
        else:
            lines.append(_Text(y, text))
        self._last, self._column = root, column

    def go_on(self, text: str) -> None:
        """Add a space to the cell that was written last."""
        if self._last is not None:
            self._cells[self._last][-1].text += text
            if self._column in self._first:
                self._first[self._column] += text

    def end_line(self) -> None:
        """Start a new line with the next letter."""
        self._last = None

    def rows(self) -> tuple[str, list[list[str]]]:
        """Return the caption, which is a first row of one cell, and the rows.

        A cell is repeated in the rows that it spans. Two rows of a header are joined if the first
        has cells that span columns.
        """
        roots, count = self._roots, len(self._xs) - 1
        texts = [self._texts(i) for i in range(len(roots))]
        caption = ""
        if len(set(roots[0])) == 1 and self._whole and len(self._first) == count:
            # Its columns are separated by colour.
            texts[0] = [" ".join(self._first[c].split()) for c in range(count)]
            roots = [[(0, c) for c in range(count)], *roots[1:]]
        elif len(roots) > 1 and len(set(roots[0])) == 1 and roots[0][0] not in roots[1]:
            caption, roots, texts = texts[0][0], roots[1:], texts[1:]
        if 1 < len(set(roots[0])) < count and len(roots) > 2 and len(set(roots[1])) == count:
            upper = [self._text(root) for root in roots[0]]
            joined = [
                above if above == below else f"{above} {below}".strip()
                for above, below in zip(upper, texts[1], strict=True)
            ]
            texts, roots = [joined, *texts[2:]], roots[1:]
        least = _MIN_FILLED if len(roots) <= _FEW_ROWS else 1.0
        unruled = [self._unruled(row, least) if i else [] for i, row in enumerate(roots)]
        if any(map(_is_wrapped, unruled)) or 2 * sum(map(bool, unruled)) < len(roots) - 1:
            unruled = [[]] * len(roots)  # where others are ruled, several lines are one row
        texts = [some for rows, text in zip(unruled, texts, strict=True) for some in rows or [text]]
        used = [c for c in range(count) if any(row[c] for row in texts)]
        return caption, [[row[c] for c in used] for row in texts]

    def goes_on(self, other: Table) -> bool:
        """Whether the columns of another table are in the same places."""
        return len(self._xs) == len(other._xs) and all(
            abs(here - there) <= _NEAR for here, there in zip(self._xs, other._xs, strict=True)
        )

    def is_rest_of(self, other: Table) -> bool:
        """Whether another table, to the left, has columns of the same widths and may continue here."""
        if self.box.left < other.box.right:
            return False
        widths = ([right - left for left, right in pairwise(each._xs)] for each in (self, other))
        return len(self._xs) == len(other._xs) and all(
            abs(here - there) <= _NEAR for here, there in zip(*widths, strict=True)
        )

    def _texts(self, at: int) -> list[str]:
        row, above = self._roots[at], self._roots[at - 1] if at else ()
        texts = [
            self._text(root) if not c or row[c - 1] != root else "" for c, root in enumerate(row)
        ]
        return [
            "" if len(text) > _MAX_REPEATED and root in above else text
            for root, text in zip(row, texts, strict=True)
        ]

    def _text(self, root: tuple[int, int]) -> str:
        return _joined(line.text for line in self._cells.get(root, ()))

    def _unruled(self, row: Sequence[tuple[int, int]], least: float) -> list[list[str]]:
        """Return the rows in a space between two rules: lines on which most cells have text.

        Return no rows if the text seems to be one row.
        """
        cells = [self._cells.get(root, []) for root in row]
        used = sum(map(bool, cells))
        heights: list[float] = []
        for place in sorted((line.place for cell in cells for line in cell), reverse=True):
            if not heights or heights[-1] - place > _SAME_HEIGHT:
                heights.append(place)
        begins = [
            height
            for height in heights
            if sum(any(0 <= height - line.place <= _SAME_HEIGHT for line in cell) for cell in cells)
            >= max(least * used, 2)
        ]
        if len(set(row)) < len(row) or used < 3 or not 1 < len(begins) >= len(heights) / 2:
            return []
        ends = [*begins[1:], -1.0]
        return [
            [
                _joined(
                    line.text
                    for line in cell
                    if end < line.place and (line.place <= begin or begin == begins[0])
                )
                for cell in cells
            ]
            for begin, end in zip(begins, ends, strict=True)
        ]

    def _merged(self) -> list[list[tuple[int, int]]]:
        """Return, for each row and column, the first of the cells that no rule separates."""
        roots: list[list[tuple[int, int]]] = []
        middles = [(left + right) / 2 for left, right in pairwise(self._xs)]
        for row in range(len(self._ys) - 1):
            top, bottom = self._ys[-1 - row], self._ys[-2 - row]
            beside = [box for box in self._upright if _covers(box, (top + bottom) / 2, 1)]
            above = [box for box in self._across if abs(_middle(box, 1) - top) <= _NEAR]
            cuts = {bisect_right(self._xs, _middle(box, 0) + _NEAR) - 1 for box in beside}
            roots.append([])
            for column, x in enumerate(middles):
                root = row, column
                if column and column not in cuts:
                    root = roots[row][column - 1]
                elif row and not any(_covers(box, x, 0) for box in above):
                    root = roots[row - 1][column]
                roots[row].append(root)
        return roots


def _middle(box: Box, axis: int) -> float:
    return (box[axis] + box[axis + 2]) / 2


def _covers(box: Box, place: float, axis: int) -> bool:
    return box[axis] - 1 <= place <= box[axis + 2] + 1


def _is_wrapped(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a cell continues in the row below, as in "Kept bees," and "founded the school"."""
    return any(
        bool(above)
        and (
            above[-1] in "-–"
            or (above[0].isupper() and below[:1].islower())
            or above.count("(") > above.count(")")
        )
        for row, after in pairwise(rows)
        for above, below in zip(row, after, strict=True)
    )


def _joined(lines: Iterable[str]) -> str:
    text = ""
    for each in lines:
        line = " ".join(each.split())
        line = line.rstrip(" .") if line.endswith("....") else line  # dot leaders
        if text[-2:-1].isalpha() and text[-1] == "-" and line[:1].islower():
            single = not text[-3:-2].isalpha()  # as in "e-mail"
            text = text + line if single else text[:-1] + line
        elif text[-2:-1].isalnum() and text[-1] in "-–" and line[:1].isalnum():
            text += line
        else:
            text = f"{text} {line}".strip()
    return text


def _places(ends: Sequence[float], rules: Sequence[Box], axis: int) -> list[float]:
    """Return the positions of rules along an axis, and the outer ends of those that cross them."""
    found = [_middle(box, axis) for box in rules]
    places: list[float] = []
    for place in sorted([*found, min(ends), max(ends)]):
        if not places or place - places[-1] > _NEAR:
            places.append(place)
    return places


def _band(places: Sequence[float], at: float) -> int:
    return min(max(bisect_right(places, at) - 1, 0), len(places) - 2)


def turn_of(page: Any) -> Turn:
    """Return a function that maps points of a page to those of the page as displayed, maybe rotated."""
    width, height = page.get_size()
    turns: dict[int, Turn] = {
        90: lambda x, y: (y, height - x),
        180: lambda x, y: (width - x, height - y),
        270: lambda x, y: (width - y, x),
    }
    return turns.get(page.get_rotation(), lambda x, y: (x, y))


def drawings(
    page: Any, pdfium: Any, turn: Turn, before: Table | None
) -> tuple[list[Table], list[Box], list[Box]]:
    """Return the tables, the bullets and the horizontal rules that are drawn on a page.

    A single row is a table only if it continues `before`, the table at the end of the last page.
    """
    across: list[Box] = []
    upright: list[Box] = []
    bullets: list[Box] = []
    segments = 0
    for each in page.get_objects([pdfium.FPDF_PAGEOBJ_PATH], max_depth=1):
        segments += min(pdfium.FPDFPath_CountSegments(each.raw), MAX_RULES)
        if segments > MAX_SEGMENTS or len(across) + len(upright) > MAX_RULES:
            return [], [], []
        for box in _boxes(each.raw, pdfium, turn):
            width, height = box.right - box.left, box.top - box.bottom
            if _BULLET[0] <= min(width, height) and max(width, height) <= _BULLET[1]:
                if abs(width - height) <= 1:
                    bullets.append(box)
            elif height <= _THICK < width:
                across.append(box)
            elif width <= _THICK < height:
                upright.append(box)
    tables = [
        table
        for table in _tables(across, upright)
        if table.is_grid and (table.has_rows or (before is not None and table.goes_on(before)))
    ]
    return tables, bullets, across


def filled(page: Any, pdfium: Any, turn: Turn) -> Iterator[tuple[Box, str]]:
    """Yield the lines filled in on a page, which are not in its text: form values, checkboxes, notes."""
    area = pdfium.FS_RECTF()
    for i in range(min(pdfium.FPDFPage_GetAnnotCount(page), MAX_FILLED)):
        annot = pdfium.FPDFPage_GetAnnot(page, i)
        hidden = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
        shown = not pdfium.FPDFAnnot_GetFlags(annot) & hidden
        if shown and pdfium.FPDFAnnot_GetRect(annot, area):
            box = _box([turn(area.left, area.bottom), turn(area.right, area.top)])
            text = [" ".join(line.split()) for line in _filled(page, annot, pdfium).splitlines()]
            lines = list(filter(None, text))
            for number, line in enumerate(lines):
                step = min((box.top - box.bottom) / len(lines), _LINE)
                yield box._replace(top=box.top - number * step), line
        pdfium.FPDFPage_CloseAnnot(annot)


def _filled(page: Any, annot: Any, pdfium: Any) -> str:
    form = page.formenv
    subtype = pdfium.FPDFAnnot_GetSubtype(annot)
    if subtype == pdfium.FPDF_ANNOT_FREETEXT:
        return _string(pdfium.FPDFAnnot_GetStringValue, annot, b"Contents")
    if subtype != pdfium.FPDF_ANNOT_WIDGET or form is None:
        return ""
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annot)
    if kind in (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON):
        return "☑" if pdfium.FPDFAnnot_IsChecked(form, annot) else "☐"
    chosen = [
        _string(pdfium.FPDFAnnot_GetOptionLabel, form, annot, i)
        for i in range(pdfium.FPDFAnnot_GetOptionCount(form, annot))
        if pdfium.FPDFAnnot_IsOptionSelected(form, annot, i)
    ]
    typed = (pdfium.FPDF_FORMFIELD_TEXTFIELD, pdfium.FPDF_FORMFIELD_COMBOBOX)
    if kind in typed and not chosen:
        return _string(pdfium.FPDFAnnot_GetFormFieldValue, form, annot)
    return ", ".join(chosen)


def _string(get: Callable[..., int], *where: object) -> str:
    """Return a text that PDFium writes into a buffer, in UTF-16."""
    buffer = create_string_buffer(get(*where, None, 0))
    get(*where, cast(buffer, POINTER(c_ushort)), len(buffer))
    return clean(buffer.raw.decode("utf-16-le", "replace")).rstrip()


def _boxes(path: Any, pdfium: Any, turn: Turn) -> Iterator[Box]:
    """Yield the box of each shape of a path, or of each side of a rectangle that is not filled."""
    filled, stroked = c_int(), c_int()
    pdfium.FPDFPath_GetDrawMode(path, byref(filled), byref(stroked))
    if not filled.value and not stroked.value:
        return
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(path, byref(matrix))
    x, y = c_float(), c_float()
    shape: list[tuple[float, float]] = []
    straight = True
    count = pdfium.FPDFPath_CountSegments(path)
    for i in range(min(count, MAX_RULES) + 1):
        segment = pdfium.FPDFPath_GetPathSegment(path, i) if i < count else None
        kind = pdfium.FPDFPathSegment_GetType(segment) if segment else pdfium.FPDF_SEGMENT_MOVETO
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            if len(shape) > 1:
                yield from _sides(shape, outline=straight and not filled.value)
            shape, straight = [], True
        if segment:
            straight = straight and kind != pdfium.FPDF_SEGMENT_BEZIERTO
            pdfium.FPDFPathSegment_GetPoint(segment, byref(x), byref(y))
            across, up = x.value, y.value
            shape.append(
                turn(
                    matrix.a * across + matrix.c * up + matrix.e,
                    matrix.b * across + matrix.d * up + matrix.f,
                )
            )
            if pdfium.FPDFPathSegment_GetClose(segment):
                shape.append(shape[0])


def _sides(shape: Sequence[tuple[float, float]], *, outline: bool) -> Iterator[Box]:
    whole = _box(shape)
    if outline and min(whole.right - whole.left, whole.top - whole.bottom) > _BULLET[1]:
        for ends in pairwise(shape):
            yield _box(ends)
    else:
        yield whole


def _box(points: Iterable[tuple[float, float]]) -> Box:
    xs, ys = zip(*points, strict=True)
    return Box(min(xs), min(ys), max(xs), max(ys))


def _tables(across: Sequence[Box], upright: Sequence[Box]) -> Iterator[Table]:
    """Yield the groups of rules that meet, from the top of the page."""
    rules = sorted([*across, *upright])
    group = list(range(len(rules)))

    def root(i: int) -> int:
        while group[i] != i:
            group[i] = group[group[i]]
            i = group[i]
        return i

    for i, rule in enumerate(rules):
        for j in range(i + 1, len(rules)):
            other = rules[j]
            if other.left > rule.right + _NEAR:
                break
            if other.bottom <= rule.top + _NEAR and rule.bottom <= other.top + _NEAR:
                group[root(j)] = root(i)
    members: dict[int, list[Box]] = {}
    for i, rule in enumerate(rules):
        members.setdefault(root(i), []).append(rule)
    flat = set(across)
    apart: list[Box] = []
    for boxes in members.values():
        lying = [box for box in boxes if box in flat]
        standing = [box for box in boxes if box not in flat]
        if lying and standing:
            yield Table(lying, standing)
        else:
            apart += lying
    yield from _lined_tables(apart)


def _lined_tables(across: Sequence[Box]) -> Iterator[Table]:
    """Yield tables without vertical rules, whose horizontal rules are drawn cell by cell."""
    lines: list[list[Box]] = []  # from the top, each from the left
    for box in sorted(across, key=lambda box: (-round(box.bottom), box.left)):
        last = lines[-1][-1] if lines else None
        if last and abs(box.bottom - last.bottom) < 1 and abs(box.left - last.right) < _NEAR:
            lines[-1].append(box)
        else:
            lines.append([box])
    tables: list[list[list[Box]]] = []
    for line in lines:
        before = tables[-1][-1] if tables else [line[0]]
        if (
            len(line) == len(before) > 1
            and before[0].bottom - line[0].bottom < _HIGHEST_ROW
            and all(abs(a.right - b.right) < _NEAR for a, b in zip(line, before, strict=True))
        ):
            tables[-1].append(line)
        else:
            tables.append([line])
    for table in tables:
        heights = [above[0].bottom - below[0].bottom for above, below in pairwise(table)]
        if heights:
            # The header may have no rule above it.
            first, bottom = table[0][0].bottom, table[-1][0].bottom
            top = first + min(heights)
            places = [table[0][0].left, *(box.right for box in table[0])]
            lying = [box for line in table for box in line]
            yield Table(lying, [Box(place, bottom, place, top) for place in places], first)
