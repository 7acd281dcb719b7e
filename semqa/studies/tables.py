"""Released tables that a study is made of: kept as they are, and given back with new cells.

A record whose cells stay the same is written byte for byte as it was read.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from semqa.data.csv_rows import CsvFile, CsvRecord, csv_of, encode_csv
from semqa.data.files import ByteBudget, InputFile, open_input
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from semqa.studies.folder import Study
    from semqa.studies.kind import Input

_PREFIX = "released-"


def kept_tables(inputs: Sequence[Input]) -> dict[str, bytes]:
    """Return the CSV files among inputs, gold ones left out, as `Kind.keep` wants them."""
    kept: dict[str, bytes] = {}
    for each in inputs:
        if each.gold or each.path.suffix.lower() != ".csv":
            continue
        name = _PREFIX + each.path.name
        if name in kept:
            raise InputError(f"There are two files of the name {each.path.name}.")
        with open_input(each.path) as file:
            kept[name] = file.read_all()
    return kept


def read_kept(study: Study) -> dict[str, CsvFile]:
    """Return the tables that a study was made of, by name, in the order of their names."""
    found: dict[str, CsvFile] = {}
    for path in sorted(study.folder.glob(_PREFIX + "*")):
        name = path.name.removeprefix(_PREFIX)
        found[name] = csv_of(InputFile(name, io.BytesIO(path.read_bytes()), ByteBudget()))
    return found


def column(file: CsvFile, name: str) -> int | None:
    """Return the index of a column, or None if it is missing."""
    names = [header.strip().casefold() for header in file.header]
    return names.index(name) if name in names else None


def with_columns(file: CsvFile, names: Sequence[str]) -> CsvFile:
    """Return a table that has these columns; new ones are at the end, and empty."""
    new = [name for name in names if column(file, name) is None]
    if not new:
        return file
    records = tuple(
        CsvRecord(each.where, (*each.cells, *("" for _ in new))) for each in file.records
    )
    return CsvFile(file.name, (*file.header, *new), records, "", file.marked, file.tail)


def with_cells(record: CsvRecord, cells: Mapping[int, str]) -> CsvRecord:
    """Return a record with new cells by place; the same record if they are not new."""
    held = tuple(cells.get(place, cell) for place, cell in enumerate(record.cells))
    return record if held == record.cells else CsvRecord(record.where, held)


def encoded(file: CsvFile, records: Sequence[CsvRecord]) -> Iterator[bytes]:
    """Yield the bytes of a table with other records."""
    return encode_csv(
        CsvFile(file.name, file.header, tuple(records), file.header_raw, file.marked, file.tail)
    )
