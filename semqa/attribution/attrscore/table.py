"""Rows of CSV, TSV and JSON-lines files, whatever their columns, each with its place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from semqa.data.csv_rows import read_csv
from semqa.data.files import decode_text, display_name, open_input
from semqa.data.jsonl import Row, as_row, decode_json, decode_row, describe, lines_of
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from semqa.data.files import InputFile

__all__ = ["DELIMITERS", "read_table"]

DELIMITERS = {".csv": ",", ".tsv": "\t"}
"""The sign between the columns of a file, by the end of its name."""


def read_table(path: Path | str) -> Iterator[Row]:
    """Read the rows of a file.

    Args:
        path: a ``.csv`` or ``.tsv`` with a header, a ``.json`` array, a ``.txt`` that is one of TSV
            and JSON lines, else JSON lines; ``-`` is standard input, as JSON lines.

    Raises:
        InputError: the file or a row is not usable; the message names file and line.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".csv":
        file = read_csv(path)
        header = _header(file.header, file.name)
        for record in file.records:
            yield Row(record.where, dict(zip(header, record.cells, strict=True)))
        return
    with open_input(path) as opened:
        if suffix == ".json":
            yield from _array(opened)
            return
        lines = lines_of(opened)
        if suffix not in (".tsv", ".txt"):
            yield from map(decode_row, lines)
            return
        header = ()
        for line in lines:
            text = decode_text(line.raw, line.where, line.offset).rstrip("\r\n")
            if suffix == ".txt" and not header and text.startswith("{"):
                yield decode_row(line)
                continue
            cells = text.split("\t")
            if not header:
                header = _header(cells, opened.name)
                continue
            # Files of SNLI and MultiNLI leave out empty cells at the end.
            if len(cells) > len(header):
                raise InputError(
                    f"{line.where}: wrong number of cells: got {len(cells)}, expected "
                    f"{len(header)} as in the header; correct the row"
                )
            cells += [""] * (len(header) - len(cells))
            yield Row(line.where, dict(zip(header, cells, strict=True)))


def _header(cells: tuple[str, ...] | list[str], name: str) -> tuple[str, ...]:
    header = tuple(cell.strip() for cell in cells)
    doubled = next((cell for cell in header if cell and header.count(cell) > 1), None)
    if doubled is not None:
        raise InputError(
            f"{name}:1: doubled column: got {doubled!r} twice, expected each name once; rename one"
        )
    return header


def _array(file: InputFile) -> Iterator[Row]:
    """Read one JSON array of objects, or JSON lines under this name."""
    text = decode_text(file.read_all(), file.name)
    if not text.lstrip().startswith("["):
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                where = f"{file.name}:{number}"
                yield as_row(decode_json(line, where), where)
        return
    values = decode_json(text, display_name(file.name))
    if not isinstance(values, list):
        raise InputError(
            f"{file.name}: not an array: got {describe(values)}, expected objects; correct it"
        )
    for number, value in enumerate(values, start=1):
        yield as_row(value, f"{file.name}: item {number}")
