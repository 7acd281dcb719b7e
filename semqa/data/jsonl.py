"""JSON lines: one object per line, read strictly and written atomically.

An InputError with file, line and field reports duplicate keys, NaN, infinities, numbers beyond
Python's limits, deep nesting and lone surrogates. Blank lines, Windows line endings and a byte order
mark are accepted.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from semqa.data.files import (
    BOM,
    ByteBudget,
    InputFile,
    decode_text,
    display_name,
    open_input,
    write_atomic,
)
from semqa.errors import InputError, UnavailableError, describe_invalid

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_T = TypeVar("_T")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SHOWN = 60

SYNC_SECONDS = 1.0
"""Interval between syncs of an `AppendFile`; a power failure may lose this much work."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank, not yet decoded.

    Attributes:
        where: ``file:line``, for messages; lines count from 1.
        offset: offset of the line in the file, in bytes.
    """

    where: str
    raw: bytes
    offset: int


@dataclass(frozen=True, slots=True)
class Row:
    """A JSON object and its location.

    Attributes:
        where: ``file:line`` or ``file: item``, for messages.
    """

    where: str
    fields: dict[str, object]

    def text(self, field: str, default: str | None = None) -> str:
        """Return a field, which must be a string; if it is missing, return the default.

        Example:
            >>> Row("r.jsonl:1", {"qid": "q1"}).text("qid")
            'q1'
            >>> Row("r.jsonl:1", {"qid": 7}).text("qid")
            Traceback (most recent call last):
            semqa.errors.InputError: r.jsonl:1: qid must be a string, got the number 7.
        """
        if field not in self.fields:
            if default is not None:
                return default
            raise InputError(
                f"is missing; got {_names(self.fields)}.", field=field, where=self.where
            )
        value = self.fields[field]
        if not isinstance(value, str):
            raise InputError(
                f"must be a string, got {describe(value)}.", field=field, where=self.where
            )
        return value


def read_as(kind: type[_T], row: Row, hint: str | None = None) -> _T:
    """Return a row as an instance of a class with annotated fields; other fields are ignored.

    Example:
        >>> from semqa.quotes import Source
        >>> read_as(Source, Row("s.jsonl:1", {"text": "Bing."})).text
        'Bing.'
        >>> read_as(Source, Row("s.jsonl:1", {"text": 7}))
        Traceback (most recent call last):
        semqa.errors.InputError: s.jsonl:1: text must be a string, got the number 7.
    """
    from pydantic import ValidationError

    try:
        # As JSON, because only there the strict mode reads objects and arrays.
        text = json.dumps(row.fields)
        found: _T = _validator(kind).validate_json(text, strict=True)  # type: ignore[arg-type]
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        said, field = describe_invalid(wrong), ".".join(map(str, wrong["loc"])) or None
        if wrong["type"] == "value_error":
            message = f"{said.capitalize()}."
        elif said.startswith("must"):
            message = f"{said}, got {describe(wrong['input'])}."
        else:
            message = f"{said}."
        raise InputError(message, field=field, where=row.where, hint=hint) from error
    return found


@cache
def _validator(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def describe(value: object) -> str:
    """Describe a JSON value in a message, shortened and printable.

    Example:
        >>> describe("Bing"), describe(None), describe([1])
        ('the string "Bing"', 'null', 'an array')
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {_shorten(repr(value))}"
        case str():
            return f"the string {shown(value)}"
        case list():
            return "an array"
        case _:
            return "an object"


def shown(text: str) -> str:
    """Quote a string for a message, shortened and printable."""
    quoted = json.dumps(_shorten(text), ensure_ascii=False)
    return quoted.encode("utf-8", "backslashreplace").decode("utf-8")


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _names(fields: dict[str, object]) -> str:
    if not fields:
        return "no fields"
    names = ", ".join(shown(name) for name in list(fields)[:5])
    return f"the fields {names}" + (" and more" if len(fields) > 5 else "")


class _RejectedError(ValueError):
    """A value that Python's JSON parser accepts, but this module rejects."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _RejectedError(f"duplicate key {shown(name)}")
            seen.add(name)
    return fields


def _no_constant(name: str) -> object:
    raise _RejectedError(f"{name} is not JSON; write null")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _RejectedError(f"the number {_shorten(digits)} is too large")
    return value


def decode_json(text: str | bytes, where: str) -> object:
    """Decode one JSON value strictly; bytes are UTF-8.

    Example:
        >>> decode_json('{"a": [1, 2]}', "x.json")
        {'a': [1, 2]}
    """
    if isinstance(text, bytes):
        text = decode_text(text, where)
    try:
        value: object = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite
        )
        if _SURROGATE.search(text):
            _check_surrogates(value, where)
    except RecursionError as err:
        raise InputError("invalid JSON: nested too deeply.", where=where) from err
    except json.JSONDecodeError as err:
        place = (
            f"column {err.colno}" if err.lineno == 1 else f"line {err.lineno}, column {err.colno}"
        )
        raise InputError(f"invalid JSON: {err.msg} at {place}.", where=where) from err
    except _RejectedError as err:
        raise InputError(f"invalid JSON: {err}.", where=where) from err
    except ValueError as err:  # Python's limit on the digits of an integer
        raise InputError("invalid JSON: a number has too many digits.", where=where) from err
    return value


def _check_surrogates(value: object, where: str) -> None:
    parts = value.items() if isinstance(value, dict) else [("", value)]
    for name, part in parts:
        try:
            json.dumps([name, part], ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as err:
            raise InputError(
                f"contains the lone surrogate \\u{ord(err.object[err.start]):04x}.",
                field=shown(name),
                where=where,
            ) from err


def read_lines(path: Path | str) -> Iterator[Line]:
    """Yield the lines of a file that are not blank."""
    with open_input(path) as file:
        yield from lines_of(file)


def lines_of(file: InputFile) -> Iterator[Line]:
    """Like `read_lines`, for an open file."""
    number, offset, found = 0, 0, False
    while raw := file.read_line(number + 1):
        number += 1
        if raw.strip() not in (b"", BOM):
            found = True
            yield Line(f"{file.name}:{number}", raw, offset)
        offset += len(raw)
    if not found:
        raise InputError("the file is empty.", where=file.name)


def decode_row(line: Line) -> Row:
    """Decode a line, which must be a JSON object."""
    text = decode_text(line.raw, line.where, line.offset)
    return as_row(decode_json(text.rstrip("\r\n"), line.where), line.where)


def as_row(value: object, where: str) -> Row:
    """Return a decoded value as a row, or raise if it is not an object."""
    if not isinstance(value, dict):
        raise InputError(f"must be an object, got {describe(value)}.", where=where)
    return Row(where, value)


def read_json(path: Path | str, budget: ByteBudget | None = None) -> tuple[object, str]:
    """Return the value of a JSON file, and its name for messages."""
    with open_input(path, budget) as file:
        return decode_json(file.read_all(), file.name), file.name


def read_object(path: Path | str) -> dict[str, object]:
    """Read a file with one JSON object."""
    value, name = read_json(path)
    return as_row(value, name).fields


def read_rows(path: Path | str) -> Iterator[Row]:
    """Yield the objects of a JSON-lines file."""
    return map(decode_row, read_lines(path))


def write_jsonl(path: Path | str, rows: Iterable[Mapping[str, object]]) -> None:
    """Write a JSON-lines file atomically."""
    write_atomic(path, (encode_row(row) for row in rows))


def encode_row(row: Mapping[str, object]) -> bytes:
    r"""Encode an object as a line of UTF-8, newline included.

    Example:
        >>> encode_row({"qid": "q1", "n": 2})
        b'{"qid": "q1", "n": 2}\n'
    """
    try:
        return (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")
    except (TypeError, ValueError, RecursionError) as err:
        raise InputError(f"A row with {_names(dict(row))} cannot be written: {err}.") from err


class AppendFile:
    """A JSON-lines file to append to. A killed process loses no row that `append` has returned for.

    Opening the file cuts off an incomplete last line. `rows` contains the rows it had then.

    Args:
        path: the file; created if missing.
        begins: the expected first bytes; a file that begins differently is rejected.
    """

    def __init__(self, path: Path, begins: bytes = b"{") -> None:
        self._path, self._name = path, display_name(path)
        self._stream: FileIO | None = None
        try:
            if path.is_file():
                with path.open("rb") as stream:
                    start = stream.read(len(begins))
                if start != begins[: len(start)]:
                    raise InputError(
                        "has other content.", where=self._name, hint="Choose another file."
                    )
            cut_torn_line(path)
            self.rows = list(read_rows(path)) if path.stat().st_size else []
        except OSError as error:
            raise InputError(f"{error.strerror or error}.", where=self._name) from error
        self._synced = time.monotonic()

    def append(self, fields: Mapping[str, object]) -> None:
        """Append a row."""
        try:
            if self._stream is None:
                # Unbuffered, so that failed writes are not retried later.
                self._stream = self._path.open("ab", buffering=0)
            row = memoryview(encode_row(fields))
            while row:
                row = row[self._stream.write(row) :]
            if time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(self._stream.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            raise UnavailableError(
                f"Cannot write {self._name}: {error.strerror or error}. Free some space and run "
                "again; finished rows are kept."
            ) from error

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()


def cut_torn_line(path: Path) -> None:
    """Create a file if it is missing, and cut off an incomplete last line after a crash."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a regular file.", hint="Choose another.")
    with path.open("ab+") as stream:
        size = end = stream.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - 65_536)
            stream.seek(start)
            newline = stream.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < size:
            stream.truncate(end)
