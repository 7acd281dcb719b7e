"""The journal of a run: one JSON line for each finished example, appended as it goes.

A process killed at any moment leaves whole lines and at most one torn one at the end, which the
next process cuts off. An example that failed may be tried again: its later row counts, until `tidy`
leaves one row an example, in the order of the run.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Self

from semqa.bench.record import Record
from semqa.data.atomic import write_atomic
from semqa.data.jsonl import encode_row, read_rows
from semqa.errors import InputError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from io import FileIO
    from pathlib import Path

__all__ = ["Journal"]

SYNC_SECONDS = 1.0
"""How much work a power cut may cost; a killed process loses nothing."""


class Journal:
    """An append-only file of records; use it as a context manager.

    Args:
        path: the file; made when it does not exist.
        known: the ids that may occur.
        retry_failed: count what failed as not finished.

    Attributes:
        records: the finished examples by id: those found in the file, and all that were appended
            since.
        failed: the ids of those found in the file that have no answer.

    Raises:
        InputError: the file holds something else than examples of this run.
    """

    def __init__(self, path: Path, known: Iterable[str], *, retry_failed: bool = False) -> None:
        self._path = path
        self._known = frozenset(known)
        _cut_torn_line(path)
        self.records: dict[str, Record] = {}
        self._order: list[str] = []
        failures: dict[str, Record] = {}
        if path.stat().st_size:
            for row in read_rows(path):
                key = row.text("id")
                if key not in self._known or key in self.records:
                    what = "a second time" if key in self.records else "which is not of this run"
                    raise InputError(
                        f"{row.where}: not a journal of this run: got the id {key!r} {what}, "
                        "expected each example of the run once; use another folder"
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
        self._stream: FileIO | None = None
        self._synced = time.monotonic()

    def __enter__(self) -> Self:
        # Unbuffered: a row that could not be written is not tried again behind the caller's back.
        self._stream = self._path.open("ab", buffering=0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def append(self, record: Record) -> None:
        """Add one finished example; once this returns, killing the process does not lose it.

        Raises:
            UnavailableError: the disk failed or is full.
        """
        if self._stream is None:
            raise ValueError("a journal is written inside its `with` block")
        try:
            row = memoryview(encode_row(record.to_dict()))
            while row:
                row = row[self._stream.write(row) :]
            if time.monotonic() - self._synced > SYNC_SECONDS:
                os.fsync(self._stream.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            raise UnavailableError(
                f"{self._path}: could not be written: got {error.strerror or error!r}, expected "
                "room on a working disk; free some space and run again, what is done is kept"
            ) from error
        self.records[record.id] = record
        self._order.append(record.id)

    def tidy(self, order: Sequence[str]) -> None:
        """Leave one row an example, in this order; call it when all are done.

        Raises:
            UnavailableError: the disk failed or is full; the file is as it was.
        """
        if self._order != list(order):
            write_atomic(self._path, (encode_row(self.records[key].to_dict()) for key in order))
            self._order = list(order)


def _cut_torn_line(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise InputError(
            f"{path}: not a journal: got a folder, pipe or device, expected a file; use another folder"
        )
    with path.open("ab+") as stream:
        size = stream.seek(0, os.SEEK_END)
        end = size
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
