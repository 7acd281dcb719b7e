"""Plain text, CSV and JSON lines; helpers for encodings, tables and item numbers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from semqa.errors import InputError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from semqa.documents.document import Limits
    from semqa.documents.parsers import Parsed

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
    (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_LARGEST = 3999


def numeral(number: int, style: str) -> str:
    """Format a number in the style of an HTML list: ``1``, ``a``, ``A``, ``i`` or ``I``.

    A number that the style cannot represent is formatted as decimal.

    Example:
        >>> numeral(4, "i"), numeral(28, "A"), numeral(0, "a")
        ('iv', 'AB', '0')
    """
    if style.lower() not in ("a", "i") or not 0 < number <= _LARGEST:
        return str(number)
    text = ""
    if style.lower() == "a":
        while number:
            number, rest = divmod(number - 1, 26)
            text = chr(ord("a") + rest) + text
    else:
        for value, sign in _ROMAN:
            text += sign * (number // value)
            number %= value
    return text.upper() if style.isupper() else text


_RAISED = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")


def superscript(text: str) -> str:
    """Return a number in superscript, because "m2" and "106" mean something else; other text as it is.

    Example:
        >>> superscript("-6"), superscript("th")
        ('⁻⁶', 'th')
    """
    return text.translate(_RAISED) if text.strip(" +-−–").isdecimal() else text


def table_lines(rows: Iterable[Sequence[str]], *, headless: bool = False) -> list[str]:
    """Return a Markdown table as lines. If there are several rows with text, the first is the header.

    Args:
        headless: whether the table has no header; an empty one is added then.

    Example:
        >>> table_lines([["Year", "Ships"], ["1890", "12"]])
        ['| Year | Ships |', '| --- | --- |', '| 1890 | 12 |']
    """
    cleaned = ([" ".join(cell.split()) for cell in row] for row in rows)
    lines = [(_line(cells), len(cells)) for cells in cleaned if any(cells)]
    if not lines:
        return []
    width = lines[0][1]
    if headless or len(lines) == 1:
        lines.insert(0, (_line([""] * width), width))
    lines.insert(1, (_line(["---"] * width), width))
    return [line for line, _ in lines]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


_SAMPLE = 2**16
_MIN_DETECTABLE = 200
"""Shorter data is too short for encoding detection."""

_VALID_PER_BROKEN = 8
"""Damaged text is UTF-8 if it has more non-ASCII characters than this per invalid sequence."""

_SHIFTING = ("iso-2022-", "hz", "utf-7")
"""Encodings that write other letters in ASCII; Japanese e-mails often use one of these."""

_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def decode(name: str, data: bytes, declared: str | None = None) -> str:
    """Decode bytes; `declared` is the encoding that the file names."""
    for bom, marked in _BOMS:
        if data.startswith(bom):
            return _checked(name, _decoded(data, marked))
    # Text in other encodings is hardly ever valid UTF-8, except those that use only ASCII.
    shifts = declared is not None and declared.lower().startswith(_SHIFTING)
    for encoding in (declared, "utf-8") if shifts else ("utf-8", declared):
        text = _decoded(data, encoding) if encoding else None
        if text is not None:
            return _checked(name, text)
    # Mostly valid UTF-8: truncated within a character, or damaged in a few places.
    replaced = data.decode("utf-8", "replace")
    broken = replaced.count("\ufffd")
    if len(replaced) - len(replaced.encode("ascii", "ignore")) > _VALID_PER_BROKEN * broken:
        return _checked(name, replaced)
    if len(data) < _MIN_DETECTABLE:
        return _checked(name, _decoded(data, "cp1252"))
    detector = require("charset_normalizer", extra="documents", purpose=f"reading {name}")
    best = detector.from_bytes(data[:_SAMPLE]).best()
    # The sample may end within a character; the encoding is used only if it decodes all the data.
    return _checked(name, _decoded(data, best.encoding) if best is not None else None)


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (ValueError, LookupError):
        return None


def _checked(name: str, text: str | None) -> str:
    if text is None or len(_CONTROLS.findall(text[:_SAMPLE])) > len(text[:_SAMPLE]) // 50:
        raise InputError("The file is not text in a known encoding. Save it as UTF-8.", where=name)
    return text


def parse_text(name: str, data: bytes, limits: Limits) -> Parsed:  # noqa: ARG001
    """Return the text as it is."""
    return "", decode(name, data), ()


_DELIMITERS = "\t|;,"
_TABLE_SAMPLE = 20_000
_TABLE_SAMPLE_ROWS = 20
_LEAST_COLUMNS = 3
"""In a table with fewer columns, rows of one cell above it may be names or values without the other."""

_LONGEST_TITLE = 90
_MARKED = re.compile(r"#+ +(?=\S)")
_SEP_LINE = re.compile(r"sep=([^\w\s\"]|\t)\r?\n", re.IGNORECASE)


def parse_csv(name: str, data: bytes, limits: Limits) -> Parsed:
    """Return the rows as a table below the lines of text before it, such as its title."""
    csv.field_size_limit(max(limits.characters, _TABLE_SAMPLE))
    text = decode(name, data)
    declared = _SEP_LINE.match(text)  # a line that Excel writes and reads
    delimiter = declared[1] if declared else _delimiter(text)
    text = text[declared.end() :] if declared else text
    rows = _rows(text, delimiter)
    try:
        lines = _with_notes(list(_limited(rows, limits.characters)), delimiter)
    except csv.Error as error:
        raise InputError(f"Invalid CSV: {error}.", where=f"{name}:{rows.line_num}") from error
    return "", "\n".join(lines), ()


def _with_notes(rows: Sequence[list[str]], delimiter: str) -> list[str]:
    """Return a table as lines, with the text above its header and the comments below it.

    Spreadsheets have titles, dates of printing and notes in the first cell of rows above the
    header, and scripts write comments ("# Rents per month"). Those above the header become
    headings unless they are sentences, so that they introduce the rows.
    """
    widths = Counter(len(row) for row in rows if not _MARKED.match("".join(row[:1])))
    width = max(widths, key=lambda each: widths[each], default=0)

    def comment(row: list[str]) -> str:
        """Return the text of a comment, or nothing."""
        marked = _MARKED.match("".join(row[:1]))
        return delimiter.join(row)[marked.end() :] if marked and len(row) != width else ""

    filled = [0 if comment(row) else sum(map(bool, map(str.strip, row))) for row in rows]
    header = next((number for number, cells in enumerate(filled) if cells > 1), None)
    if header is None:
        return table_lines(rows)
    end = max(number for number, cells in enumerate(filled, 1) if cells)
    if width < _LEAST_COLUMNS and not any(map(comment, rows[:header])):
        header = 0
    lines: list[str] = []
    said = (" ".join((comment(row) or "".join(row)).split()) for row in rows[:header])
    for level, each in enumerate(filter(None, said), 1):
        title = each[-1] not in ".!?:;" and len(each) <= _LONGEST_TITLE
        lines += [f"{'#' * min(level, 6)} {each}" if title else each, ""]
    lines += table_lines(rows[header:end])
    for each in filter(None, map(comment, rows[end:])):
        lines += ["", " ".join(each.split())]
    return lines


def _limited(rows: Iterator[list[str]], characters: int) -> Iterator[list[str]]:
    """Yield rows until the limit is exceeded; the caller then rejects the document."""
    size = 0
    for row in rows:
        yield row
        size += sum(map(len, row))
        if size > characters:
            return


def _delimiter(text: str) -> str:
    """Return the delimiter that splits most of the first rows into the same number of cells (> 1).

    Quoting is respected. Ties go to the delimiter that is rarer in prose.
    """

    def regular(delimiter: str) -> int:
        sizes: Counter[int] = Counter()
        with suppress(csv.Error):
            sizes.update(
                map(len, islice(_rows(text[:_TABLE_SAMPLE], delimiter), _TABLE_SAMPLE_ROWS))
            )
        return max((count for size, count in sizes.items() if size > 1), default=0)

    return max(_DELIMITERS, key=regular)


def _rows(text: str, delimiter: str) -> Any:
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def parse_jsonl(name: str, data: bytes, limits: Limits) -> Parsed:
    """Return the records as text."""
    parts: list[str] = []
    size = 0
    for number, line in enumerate(decode(name, data).split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = "too deep a value" if isinstance(error, RecursionError) else str(error)
            raise InputError(f"Invalid JSON: {reason}.", where=f"{name}:{number}") from error
        if not isinstance(record, dict):
            raise InputError(
                f"Expected a JSON object, got {line[:40]!r}.", where=f"{name}:{number}"
            )
        parts.append(as_text(record))
        size += len(parts[-1])
        if size > limits.characters:
            break  # too long; the caller rejects it
    return "", "\n\n".join(filter(None, parts)), ()


def as_text(record: Mapping[str, object]) -> str:
    r"""Return a record as a paragraph.

    A record with a field ``text`` becomes that text, with its title as a heading. The sources of
    `semqa answer` are such records.

    Example:
        >>> as_text({"title": "Oslo", "text": "A city.", "url": "http://x"})
        '# Oslo\n\nA city.'
        >>> as_text({"city": "Oslo", "people": 700000, "note": ""})
        'city: Oslo\npeople: 700000'
    """
    text, title = record.get("text"), record.get("title")
    if isinstance(text, str) and text.strip():
        return (
            f"# {' '.join(title.split())}\n\n{text.strip()}"
            if isinstance(title, str) and title.strip()
            else text.strip()
        )
    lines = []
    for key, value in record.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if shown.strip() and value is not None:
            lines.append(f"{' '.join(str(key).split())}: {shown.strip()}")
    return "\n".join(lines)
