"""CSV files as records of text: nothing is taken for a number, and nothing for missing.

A record keeps the very characters that it was read from, so that a file of records that nobody
changed is written as it was, whatever its quoting and line ends. Knows no column by name.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semqa.data.files import (
    BOM,
    BYTES_SETTING,
    MAX_BYTES,
    decode_text,
    open_input,
    setting,
    write_atomic,
)
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from semqa.data.files import ByteBudget, InputFile


@dataclass(frozen=True, slots=True)
class CsvRecord:
    """One record.

    Attributes:
        where: ``file:line`` of its first line, for messages.
        raw: the characters that it was read from, with the line end and blank lines before it;
            empty where it was made.
    """

    where: str
    cells: tuple[str, ...]
    raw: str = ""


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A file with a header.

    Attributes:
        name: the file as messages show it.
        header: the names of the columns, as they stand there.
        records: one a row, as many cells each as the header has.
        header_raw: the characters of the header's line.
        marked: whether the file begins with a byte order mark.
        tail: blank lines at the end.
    """

    name: str
    header: tuple[str, ...]
    records: tuple[CsvRecord, ...]
    header_raw: str = ""
    marked: bool = False
    tail: str = ""


def read_csv(path: Path | str, budget: ByteBudget | None = None) -> CsvFile:
    """Read a CSV file of UTF-8 with a header; blank lines are no records."""
    with open_input(path, budget) as file:
        return csv_of(file)


def csv_of(file: InputFile) -> CsvFile:
    """Read an open file; see `read_csv`."""
    lines = _Lines(file)
    records = list(_records(lines))
    if not records:
        raise InputError("nothing to read: the file is empty.", where=file.name)
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


def write_csv(path: Path | str, file: CsvFile) -> None:
    """Write a CSV file atomically; records that were read and not changed stay as they were."""
    write_atomic(path, encode_csv(file))


def encode_record(cells: Iterable[str], line_end: str = "\r\n") -> str:
    r"""Write cells as one record, quoted where that is needed.

    Example:
        >>> encode_record(["a", 'say "b", c'])
        'a,"say ""b"", c"\r\n'
    """
    out = io.StringIO()
    # Python quotes what stands in the line end: both characters, whatever ends the line here.
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue().removesuffix("\r\n") + line_end


def encode_csv(file: CsvFile) -> Iterator[bytes]:
    """Yield the bytes of a file; records that were read and not changed stay as they were."""
    line_end = "\n" if file.header_raw.endswith("\n") and "\r" not in file.header_raw else "\r\n"
    if file.marked:
        yield BOM
    before = ""
    for record in (CsvRecord("", file.header, file.header_raw), *file.records):
        if before and not before.endswith("\n"):  # was the last line of its file
            yield line_end.encode()
        before = record.raw or encode_record(record.cells, line_end)
        yield before.encode("utf-8")
    yield file.tail.encode("utf-8")


class _Lines:
    """The lines of a file as text; remembers those that the record being read is made of."""

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
    # Lines are bounded where they are read; Python's own bound, of the process, is 128 KiB a field.
    csv.field_size_limit(max(csv.field_size_limit(), setting(BYTES_SETTING, MAX_BYTES)))
    reader = csv.reader(lines, strict=True)
    while True:
        first = lines.number + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise InputError(
                f"This is not CSV: {error}.",
                where=f"{lines.name}:{first}",
                hint='Fields are quoted by "…", with quotes inside doubled.',
            ) from error
        if cells is None:
            return
        if cells:
            yield CsvRecord(f"{lines.name}:{first}", tuple(cells), "".join(lines.taken))
            lines.taken.clear()
