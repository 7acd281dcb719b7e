"""The folder of a run: its files, the one run that it holds, and the journal of its examples.

The journal has one JSON line per finished example, appended as it is finished. A process killed at
any moment leaves whole lines and at most one torn line, which the next process cuts off. An example
that failed may be tried again: its later row counts, until `Journal.tidy` leaves one row each.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from semqa.bench.record import Record
from semqa.data.files import decode_text, display_name, open_input, write_atomic
from semqa.data.jsonl import (
    AppendFile,
    Line,
    as_row,
    decode_json,
    decode_row,
    encode_row,
)
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

ABOUT_FILE = "about.json"
EXAMPLES_FILE = "examples.jsonl"
JUDGED_FILE = "judged.jsonl"
RESULTS_FILE = "results.json"
RUN_FILE = "run.json"

_IGNORED = ("data", "train")
"""Keys of an identity that may differ: file names."""


def make_folder(out: Path) -> None:
    """Make a folder if it is missing."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {out}: {error.strerror}.") from error


@contextmanager
def own_errors(out: Path) -> Iterator[None]:
    """Turn system errors about files of a folder into an InputError; leave all others alone."""
    try:
        yield
    except OSError as error:
        if not _lies_in(error.filename, out):
            raise
        raise InputError(
            f"Cannot use the folder {out}: {error.strerror} for {error.filename}."
        ) from error


def _lies_in(name: object, folder: Path) -> bool:
    if not isinstance(name, str):
        return False
    parent, own = os.path.split(name)  # a link that stands there is not followed
    return Path(os.path.realpath(folder)) in Path(f"{os.path.realpath(parent)}/{own}").parents


def claim(out: Path, identity: Mapping[str, object], about: Mapping[str, object]) -> bool:
    """Make a folder that of a run, or check that it is.

    Returns:
        Whether the run has just begun.
    """
    path = out / RUN_FILE
    if not path.exists():
        if (out / EXAMPLES_FILE).exists():
            raise InputError(
                f"{out} holds examples of an unknown run: {RUN_FILE} is missing.",
                hint="Use another folder.",
            )
        started = datetime.now(UTC).isoformat(timespec="seconds")
        write_atomic(out / ABOUT_FILE, [pretty({**about, "started": started})])
        write_atomic(path, [pretty(identity)])
        return True
    found = read_object(path)
    if (key := other_key(found, identity)) is not None:
        raise InputError(
            f"{out} holds another run: its {key} is {found.get(key)!r}, not {identity.get(key)!r}.",
            hint="Use another folder, or remove this one to start again.",
        )
    return False


def release(out: Path) -> None:
    """Give back a folder in which nothing was done."""
    for name in (RUN_FILE, ABOUT_FILE, EXAMPLES_FILE):
        (out / name).unlink(missing_ok=True)


def other_key(found: Mapping[str, object], identity: Mapping[str, object]) -> str | None:
    """Return the first key by which the contents of ``run.json`` are not of this identity."""
    expected = json.loads(json.dumps(identity))
    keys = (key for key in {**expected, **found} if key not in _IGNORED)
    return next((key for key in keys if found.get(key) != expected.get(key)), None)


def read_object(path: Path) -> dict[str, object]:
    """Read a file of one JSON object."""
    with open_input(path) as file:
        text = decode_text(file.read_all(), file.name)
        return as_row(decode_json(text, file.name), file.name).fields


def pretty(value: Mapping[str, object]) -> bytes:
    """Return an object as the text of a file."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    return (text + "\n").encode("utf-8")


def read_records(path: Path) -> dict[str, Record]:
    """Read the rows of a run by their ids, without changing the file.

    If an example has several rows, the last with an answer counts, else the last. A torn line at the
    end is ignored.
    """
    found: dict[str, Record] = {}
    raw = path.read_bytes()
    offset = 0
    for number, line in enumerate(raw[: raw.rfind(b"\n") + 1].splitlines(keepends=True), 1):
        if line.strip():
            row = decode_row(Line(f"{display_name(path)}:{number}", line, offset))
            record = Record.read(row)
            if record.error is None or record.id not in found or found[record.id].error is not None:
                found[record.id] = record
        offset += len(line)
    return found


class Journal:
    """An append-only file of records; use it as a context manager.

    Args:
        retry_failed: count failed examples as not finished.
    """

    def __init__(self, path: Path, known: Iterable[str], *, retry_failed: bool = False) -> None:
        self._path = path
        ids = frozenset(known)
        self._file = AppendFile(path)
        self.records: dict[str, Record] = {}
        self._order: list[str] = []
        failures: dict[str, Record] = {}
        for row in self._file.rows:
            key = row.text("id")
            if key not in ids or key in self.records:
                what = "occurs twice" if key in self.records else "is not of this run"
                raise InputError(
                    f"The id {key!r} {what}.", where=row.where, hint="Use another folder."
                )
            record = Record.read(row)
            self._order.append(key)
            if record.error is None:
                self.records[key] = record
                failures.pop(key, None)
            else:
                failures[key] = record
        self.failed = frozenset(failures)
        if not retry_failed:
            self.records |= failures

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, record: Record) -> None:
        """Add a finished example; once this returns, killing the process does not lose it."""
        self._file.append(record.to_dict())
        self.records[record.id] = record
        self._order.append(record.id)

    def tidy(self, order: Sequence[str]) -> None:
        """Leave one row per example, in this order; call it when all are done."""
        if self._order != list(order):
            write_atomic(self._path, (encode_row(self.records[key].to_dict()) for key in order))
            self._order = list(order)
