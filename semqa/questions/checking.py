"""Reviews questions one by one, and saves each decision at once.

Kept rows are appended to one file with ``"checked": true``, dropped rows to another. Questions in
neither file are undecided. An incomplete last row, left by a killed process, is removed.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from semqa.data.jsonl import encode_row
from semqa.errors import UnavailableError
from semqa.questions.paq import read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


class Checking:
    """A review of the questions of a file.

    Args:
        path: the questions.
        keep: file for kept questions.
        drop: file for dropped questions.
    """

    def __init__(self, path: Path, keep: Path, drop: Path) -> None:
        self._rows: dict[str, dict[str, Any]] = {}
        for row in read_rows(path):
            self._rows.setdefault(row.text("qid"), dict(row.fields))
        self.total = len(self._rows)
        self._files = {True: keep, False: drop}
        decided = {kept: _decided(file) & self._rows.keys() for kept, file in self._files.items()}
        self.kept, self.dropped = len(decided[True]), len(decided[False] - decided[True])
        self._done = decided[True] | decided[False]

    def left(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the undecided rows, each with its number from 1."""
        for number, (qid, row) in enumerate(self._rows.items(), 1):
            if qid not in self._done:
                yield number, dict(row)

    def decide(self, row: Mapping[str, Any], *, keep: bool) -> None:
        """Save a decision."""
        path = self._files[keep]
        try:
            with path.open("ab") as stream:
                stream.write(encode_row({**row, "checked": True}))
        except OSError as error:
            raise UnavailableError(
                f"Cannot write {path}: {error.strerror}. Free some space and run again."
            ) from error
        self._done.add(str(row["qid"]))
        self.kept += keep
        self.dropped += not keep


def _decided(path: Path) -> set[str]:
    """Return the ids in a file of decisions, after removing an incomplete last line.

    A last line that only lacks its line end, as some editors save it, is kept.
    """
    if not path.exists():
        return set()
    raw = path.read_bytes()
    whole = raw.rfind(b"\n") + 1
    if whole < len(raw):
        with path.open("r+b") as stream:
            try:
                json.loads(raw[whole:])
            except ValueError:
                stream.truncate(whole)
            else:
                stream.seek(0, os.SEEK_END)
                stream.write(b"\n")
    return {row.text("qid") for row in read_rows(path)}
