"""Rows of CSV, TSV and JSON-lines files, whatever their columns, each with its place.

Bounded as all of semqa's input is; a row that cannot be read is named with file and line.
"""

from __future__ import annotations

import csv
import io
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from semqa.data.files import MAX_LINE_BYTES, decode_text, open_input
from semqa.data.jsonl import Row, as_row, decode_json, decode_row, lines_of
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semqa.data.files import InputFile

__all__ = ["DELIMITERS", "read_table"]

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
"""The sign between the columns of a file, by the end of its name."""

_lock = threading.Lock()


def read_table(path: Path | str) -> Iterator[Row]:
    """Read the rows of a file: CSV or TSV by its name, one JSON array by its first sign, else JSON lines.

    A column without a name and a field beyond the last column are errors; a row with fewer fields
    than columns, too, for that is what a broken quotation looks like.

    Args:
        path: the file; ``-`` is standard input, as JSON lines.

    Raises:
        InputError: the file or a row is not usable; the message names file and line.
    """
    suffix = Path(path).suffix.lower()
    with open_input(path) as file:
        if suffix in DELIMITERS:
            text = decode_text(file.read_all(), file.name)
            if suffix != ".txt" or not text.lstrip().startswith("{"):
                yield from _read_columns(text, file.name, DELIMITERS[suffix])
                return
            yield from _read_objects(text, file.name)
        elif suffix == ".json":
            yield from _read_objects(decode_text(file.read_all(), file.name), file.name)
        else:
            yield from _rows_of_lines(file)


def _rows_of_lines(file: InputFile) -> Iterator[Row]:
    yield from map(decode_row, lines_of(file))


def _read_objects(text: str, name: str) -> Iterator[Row]:
    """Read one JSON array, or JSON lines under another name."""
    if text.lstrip()[:1] == "[":
        values = decode_json(text, name)
        for number, value in enumerate(values if isinstance(values, list) else [], start=1):
            yield as_row(value, f"{name}: item {number}")
        return
    found = False
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            found = True
            where = f"{name}:{number}"
            yield as_row(decode_json(line, where), where)
    if not found:
        raise InputError(
            f"{name}: nothing to read: got an empty file, expected rows; check that it was written "
            "completely"
        )


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let the csv module take fields as long as a line may be; its limit is one for the process."""
    with _lock:
        before = csv.field_size_limit(MAX_LINE_BYTES)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _read_columns(text: str, name: str, delimiter: str) -> Iterator[Row]:
    quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    lines = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting, strict=True
    )
    rows: list[tuple[int, list[str]]] = []
    line = 0
    with _long_fields():
        try:
            for fields in lines:
                if any(field.strip() for field in fields):
                    rows.append((line + 1, fields))
                line = lines.line_num
        except csv.Error as error:
            raise InputError(
                f"{name}:{line + 1}: not a row: got {str(error)!r}, expected fields with each quotation "
                "mark in them doubled; correct it"
            ) from error
    if not rows:
        raise InputError(
            f"{name}: nothing to read: got an empty file, expected a header and rows; check that it "
            "was written completely"
        )
    header = [column.strip() for column in rows[0][1]]
    if len(set(header)) < len(header):
        doubled = next(column for column in header if header.count(column) > 1)
        raise InputError(
            f"{name}:{rows[0][0]}: doubled column: got {doubled!r} twice, expected each name once; "
            "rename one"
        )
    for number, fields in rows[1:]:
        if len(fields) != len(header):
            raise InputError(
                f"{name}:{number}: not a row of this table: got {len(fields)} fields, expected "
                f"{len(header)}, one for each column; check its quotation marks"
            )
        yield Row(f"{name}:{number}", dict(zip(header, fields, strict=True)))
