"""A grid of runs at a terminal: which of how many, how far, how fast, and what became of each."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from semqa.cli.bench_results import exemplars_told
from semqa.cli.bench_watch import RunBar, RunWatch, bars
from semqa.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from rich.table import Table

    from semqa.bench.grid import Cell, CellOutcome
    from semqa.bench.run import Progress

__all__ = ["GridWatch", "outcomes_table", "watch_grid"]


class GridWatch:
    """Says on standard error, a line a run, what a grid is at."""

    def __init__(self, cells: Sequence[Cell], run: RunWatch) -> None:
        self.run = run
        self._cells = cells
        self._begun = 0

    def begin(self, cell: Cell) -> None:
        """Tell that a run begins."""
        self._begun += 1
        say(f"{self._place} {cell.label}")
        self.run.begin("")

    def progress(self, progress: Progress) -> None:
        """Tell how far the run is."""
        self.run.progress(progress)

    def end(self, outcome: CellOutcome) -> None:
        """Tell what became of the run."""
        self.run.remark(f"{self._place} {ended(outcome)}")

    @property
    def _place(self) -> str:
        return f"[{self._begun}/{len(self._cells)}]"


class _Bars(GridWatch):
    """Shows a bar for the run and one for the grid, where standard error is a terminal."""

    def __init__(self, cells: Sequence[Cell], shown: Any) -> None:
        self._shown = shown
        self._grid = shown.add_task("all runs", total=len(cells), told="")
        super().__init__(cells, RunBar(shown, ""))

    def begin(self, cell: Cell) -> None:
        self._begun += 1
        self.run.begin(f"{self._place} {cell.label}")

    def progress(self, progress: Progress) -> None:
        super().progress(progress)
        share = progress.done / progress.total if progress.total else 1.0
        self._shown.update(self._grid, completed=self._begun - 1 + share)

    def end(self, outcome: CellOutcome) -> None:
        super().end(outcome)
        self._shown.update(self._grid, completed=self._begun)


@contextmanager
def watch_grid(cells: Sequence[Cell]) -> Iterator[GridWatch]:
    """Show how far a grid is, as bars where standard error is a terminal, else in lines."""
    if not sys.stderr.isatty():
        yield GridWatch(cells, RunWatch())
        return
    with bars() as shown:
        yield _Bars(cells, shown)


def ended(outcome: CellOutcome) -> str:
    """Return what became of a run, in a line."""
    if outcome.state == "failed":
        return f"failed: {outcome.label}: {outcome.error}"
    score = "" if outcome.semqa is None else f", SEMQA {outcome.semqa:.2f}"
    done = "finished before" if outcome.state == "kept" else f"done in {outcome.seconds:.1f} s"
    failed = f", {outcome.failed} failed" if outcome.failed else ""
    told = ""
    if outcome.exemplars and outcome.exemplars.get("prompts_with_fewer"):
        told = "".join(f"; {line}" for line in exemplars_told(outcome.exemplars))
    return f"{done}: {outcome.label}: {outcome.answered} answered{failed}{score}{told}"


def outcomes_table(outcomes: Sequence[CellOutcome]) -> Table:
    """Return one row a run: what became of it, and its score."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("run", overflow="fold")
    for name in ("SEMQA", "answered", "failed", "state"):
        table.add_column(name, justify="right")
    for each in outcomes:
        table.add_row(
            each.label,
            "" if each.semqa is None else f"{each.semqa:.2f}",
            str(each.answered),
            str(each.failed),
            each.state,
        )
    return table
