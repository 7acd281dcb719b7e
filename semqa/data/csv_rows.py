"""CSV files as records of strings, without conversion of numbers or missing values.

A record keeps the characters that it was read from, so unchanged records are written back with their
original quoting and line endings.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from semqa.data.files import (
    BOM,
    BYTES_SETTING,
    MAX_BYTES,
    InputFile,
    decode_text,
    open_input,
    setting,
)
from semqa.data.jsonl import Row, shown
from semqa.errors import InputError


@dataclass(frozen=True, slots=True)
class CsvRecord:
    """A record.

    Attributes:
        where: ``file:line`` of the first line, for messages.
        raw: the characters that it was read from, including the line ending and preceding blank
            lines; empty for a new record.
    """

    where: str
    cells: tuple[str, ...]
    raw: str = ""


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file with a header.

    Attributes:
        records: the records, each with as many cells as the header.
        marked: whether the file begins with a byte order mark.
        tail: blank lines at the end.
    """

    name: str
    header: tuple[str, ...]
    records: tuple[CsvRecord, ...]
    header_raw: str = ""
    marked: bool = False
    tail: str = ""


def read_csv(path: Path | str) -> CsvFile:
    """Read a CSV file in UTF-8 with a header; blank lines are skipped."""
    with open_input(path) as file:
        return csv_of(file)


def csv_of(file: InputFile) -> CsvFile:
    """Like `read_csv`, for an open file."""
    lines = _Lines(file)
    records = list(_records(lines))
    if not records:
        raise InputError("the file is empty.", where=file.name)
    header, *rows = records
    for row in rows:
        if len(row.cells) != len(header.cells):
            raise InputError(
                f"This row has {len(row.cells)} cells, the header {len(header.cells)}.",
                where=row.where,
            )
    return CsvFile(
        file.name, header.cells, tuple(rows), header.raw, lines.marked, "".join(lines.taken)
    )


def columns_of(header: Sequence[str], name: str) -> dict[str, int]:
    """Return the places of columns by name, without unnamed ones, such as the index of pandas."""
    columns: dict[str, int] = {}
    for place, cell in enumerate(header):
        if (column := cell.strip()) in columns:
            raise InputError(f"The column {shown(cell)} is duplicated.", where=f"{name}:1")
        if column:
            columns[column] = place
    return columns


def table_rows(file: CsvFile) -> list[Row]:
    """Return the records of a file as rows, with its named columns."""
    columns = columns_of(file.header, file.name)
    return [
        Row(record.where, {name: record.cells[place] for name, place in columns.items()})
        for record in file.records
    ]


def encode_record(cells: Iterable[str], line_end: str = "\r\n") -> str:
    r"""Encode cells as a record, with quotes where needed.

    Example:
        >>> encode_record(["a", 'say "b", c'])
        'a,"say ""b"", c"\r\n'
    """
    out = io.StringIO()
    # Python quotes cells that contain a character of the line ending, so use both characters here.
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue().removesuffix("\r\n") + line_end


def encode_csv(file: CsvFile) -> Iterator[bytes]:
    """Yield the bytes of a file; unchanged records keep their original characters."""
    line_end = "\n" if file.header_raw.endswith("\n") and "\r" not in file.header_raw else "\r\n"
    if file.marked:
        yield BOM
    before = ""
    for record in (CsvRecord("", file.header, file.header_raw), *file.records):
        if before and not before.endswith("\n"):  # the last line of its original file
            yield line_end.encode()
        before = record.raw or encode_record(record.cells, line_end)
        yield before.encode("utf-8")
    yield file.tail.encode("utf-8")


class _Lines:
    """The lines of a file as text; keeps the lines of the current record."""

    def __init__(self, file: InputFile) -> None:
        self.name = file.name
        self.number = 0
        self.taken: list[str] = []
        self.marked = False
        self._file = file
        self._offset = 0

    def __iter__(self) -> Iterator[str]:
        while raw := self._file.read_line(self.number + 1):
            self.number += 1
            self.marked |= self._offset == 0 and raw.startswith(BOM)
            text = decode_text(raw, f"{self.name}:{self.number}", self._offset)
            self._offset += len(raw)
            self.taken.append(text)
            yield text


def _records(lines: _Lines) -> Iterator[CsvRecord]:
    # Lines have their own limit; Python's global limit is 128 KiB per field.
    csv.field_size_limit(max(csv.field_size_limit(), setting(BYTES_SETTING, MAX_BYTES)))
    reader = csv.reader(lines, strict=True)
    while True:
        first = lines.number + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise InputError(
                f"invalid CSV: {error}.",
                where=f"{lines.name}:{first}",
                hint='Put fields with special characters in "…" and double the quotes inside.',
            ) from error
        if cells is None:
            return
        if cells:
            yield CsvRecord(f"{lines.name}:{first}", tuple(cells), "".join(lines.taken))
            lines.taken.clear()
