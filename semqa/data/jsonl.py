"""JSON lines: one object a line, read strictly and written atomically.

Strict means: what a program could misread is refused, by an InputError with file, line and field: doubled keys,
NaN, infinities, numbers beyond Python's limits, nesting without end, lone surrogates. Blank lines,
Windows line ends and a byte order mark are harmless and accepted. Knows no field by name.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semqa.data.files import BOM, decode_text, display_name, open_input, write_atomic
from semqa.errors import InputError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from io import FileIO
    from pathlib import Path

    from semqa.data.files import InputFile

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SHOWN = 60

SYNC_SECONDS = 1.0
"""Work that a power cut may cost a file that is appended to."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line that is not blank, not yet decoded.

    Attributes:
        where: ``file:line``, for messages; lines count from 1.
        raw: the bytes, with the line end.
        offset: where in the file the line begins, in bytes.
    """

    where: str
    raw: bytes
    offset: int


@dataclass(frozen=True, slots=True)
class Row:
    """One JSON object and where it was read.

    Attributes:
        where: ``file:line`` or ``file: item``, for messages.
    """

    where: str
    fields: dict[str, object]

    def text(self, field: str, default: str | None = None) -> str:
        """Return a field that must be a string.

        Args:
            default: returned if the field is missing; None if it is required.

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
                f"is missing: got {_names(self.fields)}.", field=field, where=self.where
            )
        value = self.fields[field]
        if not isinstance(value, str):
            raise InputError(
                f"must be a string, got {describe(value)}.", field=field, where=self.where
            )
        return value


def describe(value: object) -> str:
    """Name a JSON value for a message, shortened and printable.

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
    """A value that Python accepts as JSON, but that is rejected here."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _RejectedError(f"the key {shown(name)} twice")
            seen.add(name)
    return fields


def _no_constant(name: str) -> object:
    raise _RejectedError(name)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise _RejectedError(f"the number {_shorten(digits)}, which is too large")
    return value


def decode_json(text: str, where: str) -> object:
    """Decode one JSON value strictly.

    Example:
        >>> decode_json('{"a": [1, 2]}', "x.json")
        {'a': [1, 2]}
    """
    try:
        value: object = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite
        )
        if _SURROGATE.search(text):
            _check_surrogates(value, where)
    except RecursionError as err:
        raise InputError("invalid JSON: it is nested too deeply.", where=where) from err
    except json.JSONDecodeError as err:
        place = (
            f"column {err.colno}" if err.lineno == 1 else f"line {err.lineno}, column {err.colno}"
        )
        raise InputError(f"invalid JSON: {err.msg} at {place}.", where=where) from err
    except _RejectedError as err:
        raise InputError(f"invalid JSON: {err}.", where=where) from err
    except ValueError as err:  # Python's own limit on the digits of a whole number
        raise InputError("invalid JSON: a number has thousands of digits.", where=where) from err
    return value


def _check_surrogates(value: object, where: str) -> None:
    parts = value.items() if isinstance(value, dict) else [("", value)]
    for name, part in parts:
        try:
            json.dumps([name, part], ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as err:
            raise InputError(
                f"holds the lone surrogate \\u{ord(err.object[err.start]):04x}.",
                field=shown(name),
                where=where,
            ) from err


def read_lines(path: Path | str) -> Iterator[Line]:
    """Read the lines of a file that are not blank, one at a time."""
    with open_input(path) as file:
        yield from lines_of(file)


def lines_of(file: InputFile) -> Iterator[Line]:
    """Read the lines of an open file that are not blank, one at a time."""
    number, offset, found = 0, 0, False
    while raw := file.read_line(number + 1):
        number += 1
        if raw.strip() not in (b"", BOM):
            found = True
            yield Line(f"{file.name}:{number}", raw, offset)
        offset += len(raw)
    if not found:
        raise InputError("nothing to read: the file is empty.", where=file.name)


def decode_row(line: Line) -> Row:
    """Decode one line, which must be a JSON object."""
    text = decode_text(line.raw, line.where, line.offset)
    return as_row(decode_json(text, line.where), line.where)


def as_row(value: object, where: str) -> Row:
    """Take a decoded value as a row."""
    if not isinstance(value, dict):
        raise InputError(f"not an object, but {describe(value)}.", where=where)
    return Row(where, value)


def read_rows(path: Path | str) -> Iterator[Row]:
    """Read the objects of a JSON-lines file, one at a time."""
    return map(decode_row, read_lines(path))


def write_jsonl(path: Path | str, rows: Iterable[Mapping[str, object]]) -> None:
    """Write JSON lines atomically: readers find the old file or the whole new one."""
    write_atomic(path, (encode_row(row) for row in rows))


def encode_row(row: Mapping[str, object]) -> bytes:
    r"""Write one object as one line of UTF-8, line end included.

    Example:
        >>> encode_row({"qid": "q1", "n": 2})
        b'{"qid": "q1", "n": 2}\n'
    """
    try:
        return (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")
    except (TypeError, ValueError, RecursionError) as err:
        raise InputError(f"A row with {_names(dict(row))} cannot be written: {err}.") from err


class AppendFile:
    """A file of JSON lines to append to; once `append` returns, killing the process loses nothing.

    Opening it cuts off a torn last line. `rows` are those that it held then.

    Args:
        path: made if missing.
        begins: how such a file begins; one that begins otherwise is left alone.
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
                        "holds something else.", where=self._name, hint="Choose another file."
                    )
            cut_torn_line(path)
            self.rows = list(read_rows(path)) if path.stat().st_size else []
        except OSError as error:
            raise InputError(f"{error.strerror or error}.", where=self._name) from error
        self._synced = time.monotonic()

    def append(self, fields: Mapping[str, object]) -> None:
        """Add a row."""
        try:
            if self._stream is None:
                # Unbuffered: what could not be written is not tried again behind the caller's back.
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
                "again; what is there is kept."
            ) from error

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()


def cut_torn_line(path: Path) -> None:
    """Make a file if missing, and cut off a last line without its end, which a crash left."""
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
