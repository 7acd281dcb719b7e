"""The folder of a run: its files, the identity of the run, and the journal of examples.

Each finished example is appended to the journal as one JSON line. A process killed at any moment
leaves at most one incomplete line, which the next process truncates. A failed example may be
retried: its later row counts, and `Journal.tidy` removes the earlier one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from semqa.bench.record import Record
from semqa.data.files import display_name, write_atomic
from semqa.data.jsonl import (
    AppendFile,
    Line,
    decode_row,
    encode_row,
    read_object,
)
from semqa.errors import InputError

ABOUT_FILE = "about.json"
EXAMPLES_FILE = "examples.jsonl"
JUDGED_FILE = "judged.jsonl"
RESULTS_FILE = "results.json"
RUN_FILE = "run.json"

_IGNORED = ("data", "train")
"""Identity keys that may differ: file names."""


@contextmanager
def own_errors(out: Path) -> Iterator[None]:
    """Convert an OSError about a file in this folder to an InputError; others pass through."""
    try:
        yield
    except OSError as error:
        if not _is_inside(error.filename, out):
            raise
        raise InputError(
            f"Cannot use the folder {out}: {error.strerror} for {error.filename}."
        ) from error


def _is_inside(name: object, folder: Path) -> bool:
    if not isinstance(name, str):
        return False
    parent, own = os.path.split(name)  # a symlink there is not followed
    return Path(os.path.realpath(folder)) in Path(f"{os.path.realpath(parent)}/{own}").parents


def claim(out: Path, identity: Mapping[str, object], about: Mapping[str, object]) -> bool:
    """Start a run in a folder, or check that the folder contains this run.

    Returns:
        Whether the run is new.
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
            hint="Use another folder, or delete this one to start again.",
        )
    return False


def release(out: Path) -> None:
    """Delete the files of a run that has no answers yet."""
    for name in (RUN_FILE, ABOUT_FILE, EXAMPLES_FILE):
        (out / name).unlink(missing_ok=True)


def other_key(found: Mapping[str, object], identity: Mapping[str, object]) -> str | None:
    """Return the first key in which ``run.json`` differs from this identity, or None."""
    expected = json.loads(json.dumps(identity))
    keys = (key for key in {**expected, **found} if key not in _IGNORED)
    return next((key for key in keys if found.get(key) != expected.get(key)), None)


def pretty(value: Mapping[str, object]) -> bytes:
    """Serialize an object as indented JSON."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    return (text + "\n").encode("utf-8")


def read_records(path: Path) -> dict[str, Record]:
    """Read the rows of a run, keyed by id, without changing the file.

    Of several rows for one example, the last with an answer counts, or else the last. An incomplete
    last line is ignored.
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
    """An append-only file of records; use as a context manager.

    Args:
        retry_failed: treat failed examples as unfinished.
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
                what = "occurs twice" if key in self.records else "does not belong to this run"
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
        """Append a finished example; it survives a killed process once this returns."""
        self._file.append(record.to_dict())
        self.records[record.id] = record
        self._order.append(record.id)

    def tidy(self, order: Sequence[str]) -> None:
        """Rewrite the file with one row per example, in this order; call when all are done."""
        if self._order != list(order):
            write_atomic(self._path, (encode_row(self.records[key].to_dict()) for key in order))
            self._order = list(order)
