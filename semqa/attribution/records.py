"""Records of runs: a JSON file with the settings and models of a run, and one row per example.

`read_table` reads tables in all formats, records included.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import semqa
from semqa.attribution.judges.base import Judge
from semqa.data.csv_rows import columns_of, csv_of, table_rows
from semqa.data.files import STDIN, ByteBudget, InputFile, decode_text, open_input, write_atomic
from semqa.data.jsonl import (
    Row,
    as_row,
    decode_json,
    decode_row,
    describe,
    encode_row,
    lines_of,
    read_json,
)
from semqa.errors import InputError
from semqa.extras import installed

MAX_BYTES = 1 << 30
"""Maximum size of a record, which is larger than the data that it describes."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record: its file name for error messages, its rows, and its other fields."""

    name: str
    fields: dict[str, Any]
    rows: list[Row]


def invalid_field(row: Row, field: str, rule: str) -> InputError:
    """Return the error for a row with a missing or invalid field.

    Example:
        >>> str(invalid_field(Row("r.jsonl:1", {"score": "x"}), "score", "a number"))
        'r.jsonl:1: score must be a number, got the string "x".'
    """
    value = row.fields.get(field)
    return InputError(
        f"must be {rule}, got {describe(value)}.", field=field, value=value, where=row.where
    )


def filled_text(row: Row, field: str) -> str:
    """Return a text, which must not be blank."""
    text = row.text(field)
    if not text.strip():
        raise InputError("is empty.", field=field, where=row.where)
    return text


def number_of(row: Row, field: str, rule: str = "a number") -> float:
    """Return a finite number, which can be in a string, as in a table."""
    value = row.fields[field] if field in row.fields else row.text(field)  # raises
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        with suppress(ValueError):
            if math.isfinite(number := float(value)):
                return number
    raise invalid_field(row, field, rule)


def describe_judge(judge: Judge) -> dict[str, Any]:
    """Return the description of a judge for a record."""
    found: dict[str, Any] = {"name": judge.name, "identity": judge.identity}
    return found | ({"unparsed": judge.unparsed} if judge.unparsed else {})


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of semqa and of those packages that are installed."""
    return {"semqa": semqa.__version__, **installed(*packages)}


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record atomically, with one line for each of its ``rows``."""
    head = encode_row({name: value for name, value in record.items() if name != "rows"})
    rows = b",\n".join(encode_row(row).rstrip(b"\n") for row in record["rows"])
    write_atomic(path, [head.removesuffix(b"}\n"), b', "rows": [\n', rows, b"\n]}\n"])


def read_record(path: Path | str, kind: str) -> Record:
    """Read a record of the given kind; ``-`` is standard input."""
    value, name = read_json(path, ByteBudget(MAX_BYTES))
    found = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(value, dict) or found != kind:
        raise InputError(
            f"must be {kind!r}, got {describe(found)}: this is not a record written with --out.",
            field="kind",
            where=name,
        )
    fields = {name: part for name, part in value.items() if name != "rows"}
    return Record(name, fields, _rows(value, name))


def kind_of(path: Path | str) -> str | None:
    """Return the kind of a record; None for other files and for standard input or pipes."""
    if str(path) == STDIN or not Path(path).is_file():
        return None
    try:
        value, _ = read_json(path, ByteBudget(MAX_BYTES))
    except InputError:
        return None
    kind = value.get("kind") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else None


def read_table(path: Path | str) -> list[Row]:
    """Read the rows of a table, or of a record of any kind.

    The suffixes ``.csv`` and ``.tsv`` mean a table with a header. Other files, and ``-`` (standard
    input), are JSON lines, a JSON array of objects, or a record.
    """
    with open_input(path, ByteBudget(MAX_BYTES)) as file:
        return rows_of(file.read_all(), file.name, Path(path).suffix.lower())


def rows_of(raw: bytes, name: str, suffix: str) -> list[Row]:
    """Like `read_table`, for the bytes of a file; `name` is used in messages."""
    file = InputFile(name, BytesIO(raw), ByteBudget())
    if suffix == ".csv":
        return table_rows(csv_of(file))
    if suffix == ".tsv":
        return list(_tab_separated(file))
    start = raw.lstrip()[:1]
    if start == b"[":
        values: Any = decode_json(raw, name)
        return [as_row(value, f"{name}: item {number}") for number, value in enumerate(values, 1)]
    if start == b"{" and b'"rows"' in raw:
        try:
            record = decode_json(raw, name)
        except InputError:
            record = None  # JSON lines
        if isinstance(record, dict) and isinstance(record.get("rows"), list):
            return _rows(record, name)
    return [decode_row(line) for line in lines_of(file)]


def _tab_separated(file: InputFile) -> Iterator[Row]:
    columns: dict[str, int] = {}
    for line in lines_of(file):
        cells = decode_text(line.raw, line.where, line.offset).rstrip("\r\n").split("\t")
        if not columns:
            columns, width = columns_of(cells, file.name), len(cells)
        elif len(cells) == width:
            yield Row(line.where, {name: cells[place] for name, place in columns.items()})
        else:
            message = f"The line has {len(cells)} cells, but the header has {width}."
            raise InputError(message, where=line.where)


def _rows(value: dict[str, Any], name: str) -> list[Row]:
    rows = value.get("rows")
    if not isinstance(rows, list):
        raise InputError(f"must be an array, got {describe(rows)}.", field="rows", where=name)
    return [as_row(row, f"{name}: row {number}") for number, row in enumerate(rows, 1)]
