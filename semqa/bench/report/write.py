"""A report as files in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.bench.folder import make_folder
from semqa.bench.report.formats import to_csv, to_latex, to_markdown
from semqa.bench.report.page import to_page
from semqa.data.atomic import write_atomic
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from semqa.bench.report.report import BenchReport

__all__ = ["FORMATS", "write_report"]

FORMATS = ("html", "md", "csv", "tex")

_NOT_PRINTED = ("records",)
"""Tables that are too wide for a paper."""


def write_report(report: BenchReport, out: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write a report: ``report.html``, ``report.md``, ``report.tex`` and a CSV file for each table.

    Args:
        report: what to write.
        out: the folder; made when it does not exist.
        formats: some of `FORMATS`.

    Returns:
        The files, each whole.

    Raises:
        InputError: there is no such format, or the folder cannot be written.
        UnavailableError: the disk failed or is full.
    """
    for name in formats:
        if name not in FORMATS:
            raise InputError(
                f"--format: got {name!r}, expected some of {', '.join(FORMATS)}; choose among them"
            )
    make_folder(out)
    files: dict[str, str] = {}
    if "html" in formats:
        files["report.html"] = to_page(report)
    if "md" in formats:
        files["report.md"] = to_markdown(report.tables, report.title, report.notes)
    if "tex" in formats:
        files["report.tex"] = to_latex([t for t in report.tables if t.key not in _NOT_PRINTED])
    if "csv" in formats:
        files |= {f"{table.key}.csv": to_csv(table) for table in report.tables}
    for name, text in files.items():
        write_atomic(out / name, [text.encode("utf-8", "backslashreplace")])
    return [out / name for name in files]
