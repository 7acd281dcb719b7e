"""Reviews questions one by one, and saves each decision at once.

Kept rows are appended to one file with ``"checked": true``, dropped rows to another. Questions in
neither file are undecided.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from semqa.data.jsonl import AppendFile
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
        self._files = {True: _open(keep), False: _open(drop)}
        kept, dropped = (
            {row.text("qid") for row in file.rows} & self._rows.keys()
            for file in self._files.values()
        )
        self.kept, self.dropped = len(kept), len(dropped - kept)
        self._done = kept | dropped

    def left(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the undecided rows, each with its number from 1."""
        for number, (qid, row) in enumerate(self._rows.items(), 1):
            if qid not in self._done:
                yield number, dict(row)

    def decide(self, row: Mapping[str, Any], *, keep: bool) -> None:
        """Save a decision."""
        self._files[keep].append({**row, "checked": True})
        self._done.add(str(row["qid"]))
        self.kept += keep
        self.dropped += not keep


def _open(path: Path) -> AppendFile:
    """Open a file of decisions; its last line may lack a line end, as some editors save it."""
    if path.is_file():
        raw = path.read_bytes()
        try:
            json.loads(raw[raw.rfind(b"\n") + 1 :])
        except ValueError:  # empty, or torn by a killed process
            pass
        else:
            path.write_bytes(raw + b"\n")
    return AppendFile(path)
