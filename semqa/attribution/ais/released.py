"""The paper's released files of verdicts: one CSV per task, one row per output.

Q1 and Q2 are the majority's answers in words. Case and surrounding spaces of column names are
ignored; other columns are kept. Verdicts only depend on INT, INT & AIS and Flagged. `data_checks`
counts rows in which these contradict each other.

Source: github.com/google-research-datasets/AIS, readme.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from semqa.attribution.ais.ratings import ATTRIBUTABLE, CLEAR, NOT_ATTRIBUTABLE, UNCLEAR, Verdict
from semqa.data.csv_rows import CsvFile, CsvRecord, read_csv
from semqa.data.jsonl import shown
from semqa.errors import InputError

COLUMNS = (
    *("ex-idx", "doc-url", "doc-url-hash", "model-name", "output", "INT", "INT & AIS", "Flagged"),
    *("Q1", "Q2", "# agree (INT)", "# agree (AIS)"),
)
"""The header of a released file."""

_ALIASES = {
    "q1 agree": "# agree (INT)",
    "q2 agree": "# agree (AIS)",
    "int&ais": "INT & AIS",
    "int and ais": "INT & AIS",
    "flag": "Flagged",
    "model": "model-name",
}
_NAMES = {name.lower(): name for name in COLUMNS} | _ALIASES
_REQUIRED = ("ex-idx", "model-name", "INT", "INT & AIS", "Flagged")
_MISSING = re.compile(r"\s*(-|–|#?n\s*/?\s*a\b.*|nan|none|null)?\s*", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"\s*(-?\d{1,9})(\.0*)?\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class ReleasedRow:
    """One row: its verdict, the cells as read, and remarks on its numbers."""

    verdict: Verdict
    record: CsvRecord
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReleasedFile:
    """The rows of a released file."""

    rows: tuple[ReleasedRow, ...]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(row.verdict for row in self.rows)


def read_released(path: Path | str) -> ReleasedFile:
    """Read a released file; ``-`` is standard input."""
    return released_of(read_csv(path))


def released_of(file: CsvFile) -> ReleasedFile:
    """Like `read_released`, for a table that was read.

    The task is the file name without ``ann_`` and suffix.
    """
    task = Path(file.name).stem.removeprefix("ann_").strip("<>")  # of <stdin>
    columns = _columns(file)
    return ReleasedFile(tuple(_row(each, columns, task) for each in file.records))


def released_table(verdicts: Iterable[Verdict]) -> CsvFile:
    """Return verdicts as a new released file, with the released wording."""
    records = (CsvRecord("", tuple(_cells(each).values())) for each in verdicts)
    return CsvFile("released.csv", COLUMNS, tuple(records))


def with_verdicts(file: CsvFile, verdicts: Iterable[Verdict]) -> CsvFile:
    """Return the rows of a released file that have new verdicts, with these.

    Rows whose verdict does not change keep their characters, so an unchanged file stays
    byte-identical. Other rows get the released wording.
    """
    columns = _columns(file)
    new = {(each.item, each.system, each.output): each for each in verdicts}
    records = []
    for row in released_of(file).rows:
        old, record = row.verdict, row.record
        if (verdict := new.get((old.item, old.system, old.output))) is not None:
            verdict = replace(
                verdict,
                design="",
                task=old.task,
                doc_url=old.doc_url,
                doc_url_hash=old.doc_url_hash,
            )
            if verdict != old:
                cells = list(record.cells)
                for name, cell in _cells(verdict).items():
                    if name in columns:
                        cells[columns[name]] = cell
                record = CsvRecord(record.where, tuple(cells))
            records.append(record)
    return replace(file, records=tuple(records))


def _columns(file: CsvFile) -> dict[str, int]:
    found: dict[str, int] = {}
    for place, cell in enumerate(file.header):
        name = _NAMES.get(" ".join(cell.split()).lower())
        if name in found:
            message = f"The column {shown(name)} is duplicated."
            raise InputError(message, where=file.name)
        if name is not None:
            found[name] = place
    if missing := [name for name in _REQUIRED if name not in found]:
        message = f"The column {shown(missing[0])} is missing; a released AIS file has {', '.join(_REQUIRED)}."
        raise InputError(message, where=file.name)
    return found


def _row(record: CsvRecord, columns: Mapping[str, int], task: str) -> ReleasedRow:
    def cell(name: str) -> str:
        return record.cells[columns[name]] if name in columns else ""

    def number(name: str, highest: int | None = None) -> int | None:
        text = cell(name)
        if _MISSING.fullmatch(text):
            return None
        match = _NUMBER.fullmatch(text)
        if match is None or (highest is not None and not 0 <= int(match[1]) <= highest):
            rule = "0 or 1" if highest == 1 else "a whole number"
            raise InputError(f"must be {rule}, got {shown(text)}.", field=name, where=record.where)
        return int(match[1])

    def agreeing(name: str) -> int | None:
        found = number(name)
        return None if found is None or found < 0 else found

    remarks = []
    flags = [number(name, 1) for name in ("Flagged", "INT", "INT & AIS")]
    flagged, clear, both = (flag == 1 for flag in flags)
    if flags[0] is None or (not flagged and None in flags):
        remarks.append("Flagged, INT or INT & AIS is empty, which counts as 0")
    if flagged and (clear or both):
        remarks.append("INT or INT & AIS is 1 though the row is flagged, which counts as flagged")
    elif both and not clear:
        remarks.append("INT & AIS is 1 though INT is 0, which counts as 0")
    verdict = Verdict(
        item=cell("ex-idx").strip(),
        system=cell("model-name").strip(),
        output=cell("output"),
        flagged=flagged,
        interpretable=None if flagged else clear,
        attributable=both if clear and not flagged else None,
        agree_int=agreeing("# agree (INT)"),
        agree_ais=agreeing("# agree (AIS)"),
        task=task,
        doc_url=_text_or_empty(cell("doc-url")),
        doc_url_hash=_text_or_empty(cell("doc-url-hash")),
    )
    if not verdict.system:
        raise InputError("is empty.", field="model-name", where=record.where)
    return ReleasedRow(verdict, record, tuple(remarks))


def _cells(verdict: Verdict) -> dict[str, str]:
    """Return the cells of a verdict by column, in the order of `COLUMNS`."""
    clear = {None: "", True: CLEAR, False: UNCLEAR}
    whole = {None: "", True: ATTRIBUTABLE, False: NOT_ATTRIBUTABLE}
    return {
        "ex-idx": verdict.item,
        "doc-url": verdict.doc_url or "NA",
        "doc-url-hash": verdict.doc_url_hash or "NA",
        "model-name": verdict.system,
        "output": verdict.output,
        "INT": str(int(verdict.interpretable or False)),
        "INT & AIS": str(int(verdict.attributable or False)),
        "Flagged": str(int(verdict.flagged)),
        "Q1": clear[verdict.interpretable],
        "Q2": whole[verdict.attributable],
        "# agree (INT)": str(-1 if verdict.agree_int is None else verdict.agree_int),
        "# agree (AIS)": str(-1 if verdict.agree_ais is None else verdict.agree_ais),
    }


def _text_or_empty(cell: str) -> str:
    return "" if _MISSING.fullmatch(cell) else cell


MAJORITIES = (3, 4, 5)
"""Possible numbers of annotators, of five, that agree with the majority."""


def data_checks(rows: Sequence[ReleasedRow]) -> dict[str, int]:
    """Count the rows whose numbers contradict each other, and repeated rows, by problem."""
    found: Counter[str] = Counter()
    for row in rows:
        found.update(row.remarks)
    full = Counter(row.record.cells for row in rows)
    found["identical to an earlier row"] = full.total() - len(full)
    outputs = Counter(row.verdict.key for row in rows)
    found["same item and system as an earlier row"] = outputs.total() - len(outputs)
    return {name: count for name, count in found.items() if count}


def drop_duplicates(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the first verdict for each key: task, design, item and system."""
    kept: dict[tuple[str, ...], Verdict] = {}
    for verdict in verdicts:
        kept.setdefault(verdict.key, verdict)
    return list(kept.values())
