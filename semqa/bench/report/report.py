"""Make a report on finished runs and write it to files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import semqa
from semqa.bench.report.examples import Example, make_examples
from semqa.bench.report.families import (
    baselines_table,
    exemplars_table,
    prompts_table,
)
from semqa.bench.report.runs import Loaded
from semqa.bench.report.table import Table, to_csv, to_latex, to_markdown
from semqa.bench.report.tables import (
    GROUPINGS,
    breakdown,
    choose_baseline,
    comparison_table,
    judged_table,
    main_table,
    not_compared,
    quoting_table,
    records_table,
)
from semqa.data.files import make_folder, write_atomic
from semqa.quotes.render.html import render_page


@dataclass(frozen=True, slots=True)
class BenchReport:
    """A report.

    Attributes:
        tables: in display order; the last one describes the runs.
        questions: number of questions of the runs, including those not shown.
    """

    notes: Sequence[str]
    tables: Sequence[Table]
    examples: Sequence[Example]
    questions: int

    def to_dict(self) -> dict[str, Any]:
        """Return the tables for JSON, with unrounded figures."""
        return {
            "notes": list(self.notes),
            "tables": {table.key: table.to_dict() for table in self.tables},
        }


def make_report(loaded: Loaded, *, baseline: str | None = None, examples: int = 200) -> BenchReport:
    """Make a report on runs.

    Args:
        baseline: label or folder of the run to compare the others with.
        examples: maximum number of example questions; those with the largest differences are shown.
    """
    runs = loaded.runs
    against = choose_baseline(runs, baseline)
    compared = comparison_table(runs, against)
    notes = [*loaded.notes]
    if compared is None and len(runs) > 1:
        notes.append(f"no comparison: {not_compared(runs, against)}")
    tables = [
        main_table(runs),
        quoting_table(runs),
        compared,
        judged_table(runs),
        prompts_table(runs),
        exemplars_table(runs),
        baselines_table(runs),
        *(breakdown(runs, key) for key in GROUPINGS),
        records_table(runs),
    ]
    shown, questions = make_examples(runs, examples)
    found = [table for table in tables if table is not None]
    return BenchReport(notes, found, shown, questions)


def write_report(report: BenchReport, out: Path) -> list[Path]:
    """Write ``report.html``, ``report.md``, ``report.tex`` and one CSV file per table."""
    make_folder(out)
    texts = {
        "report.html": to_page(report),
        "report.md": to_markdown(report.tables, report.notes),
        # The table of records is too wide for a paper.
        "report.tex": to_latex([t for t in report.tables if t.key != "records"]),
        **{f"{table.key}.csv": to_csv(table) for table in report.tables},
    }
    for name, text in texts.items():
        write_atomic(out / name, [text.encode("utf-8", "backslashreplace")])
    return [out / name for name in texts]


def to_page(report: BenchReport) -> str:
    """Return a report as a standalone HTML page.

    Questions, sources, answers and names are untrusted, so all text is escaped and the content
    security policy allows only the page's own script.
    """
    return render_page(
        "semqa.bench.report",
        "report",
        report=report,
        parted=lambda text: re.findall(r"[^:/]+[:/]*|[:/]+", text),
        version=semqa.__version__,
    )
