"""A report before it is written as anything: its tables, plots and examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from semqa.bench.report.baselines import baselines_table
from semqa.bench.report.comparison import choose_baseline, comparison_table, not_compared
from semqa.bench.report.examples import make_examples
from semqa.bench.report.exemplars import exemplars_table
from semqa.bench.report.judged import judged_table
from semqa.bench.report.plots import make_plots
from semqa.bench.report.prompts import prompts_table
from semqa.bench.report.seeds import seeds_table
from semqa.bench.report.tables import (
    GROUPINGS,
    breakdown,
    main_table,
    quoting_table,
    records_table,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.bench.report.examples import Example
    from semqa.bench.report.plots import Plot
    from semqa.bench.report.runs import Loaded
    from semqa.bench.report.table import Table

__all__ = ["BenchReport", "make_report"]


@dataclass(frozen=True, slots=True)
class BenchReport:
    """What a report says.

    Attributes:
        title: of the page.
        notes: what a reader must know first, such as what was left out.
        tables: in the order in which they are shown; the last says what was run.
        plots: likewise.
        examples: the questions that are shown.
        questions: how many could be.
    """

    title: str
    notes: Sequence[str]
    tables: Sequence[Table]
    plots: Sequence[Plot]
    examples: Sequence[Example]
    questions: int

    def to_dict(self) -> dict[str, Any]:
        """Return the tables ready for JSON, figures in full."""
        return {
            "title": self.title,
            "notes": list(self.notes),
            "tables": {table.key: table.to_dict() for table in self.tables},
        }


def make_report(
    loaded: Loaded,
    *,
    title: str = "QuoteSum",
    baseline: str | None = None,
    examples: int = 200,
) -> BenchReport:
    """Make a report of runs.

    Args:
        loaded: what `load_runs` found.
        title: of the page.
        baseline: label or folder of the run that others are compared with.
        examples: most questions that are shown, those where runs differ most.

    Raises:
        InputError: there is no such baseline.
    """
    runs = loaded.runs
    against = choose_baseline(runs, baseline)
    compared = comparison_table(runs, against)
    notes = [*loaded.notes]
    if compared is None and len(runs) > 1:
        notes.append(f"nothing is compared: {not_compared(runs, against)}")
    broken = [breakdown(runs, key) for key in GROUPINGS]
    tables = [
        main_table(runs),
        quoting_table(runs),
        compared,
        judged_table(runs),
        prompts_table(runs),
        exemplars_table(runs),
        baselines_table(runs),
        seeds_table(runs),
        *broken,
        records_table(runs),
    ]
    shown, questions = make_examples(runs, examples)
    return BenchReport(
        title,
        notes,
        [table for table in tables if table is not None],
        make_plots(runs),
        shown,
        questions,
    )
