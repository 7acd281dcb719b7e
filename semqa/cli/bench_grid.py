"""A grid of runs at a terminal: which of how many, how far, how fast, and what became of each."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

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

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = cells
        self._begun = 0

    def begin(self, at: int, cell: Cell) -> None:
        """Tell that a run begins."""
        del at
        self._begun += 1
        say(f"{self._place} {cell.label}")

    def progress(self, at: int, progress: Progress) -> None:
        """Tell how far the run is."""

    def end(self, at: int, outcome: CellOutcome) -> None:
        """Tell what became of the run."""
        del at
        say(f"{self._place} {ended(outcome)}")

    @property
    def _place(self) -> str:
        return f"[{self._begun}/{len(self._cells)}]"


class _Bars(GridWatch):
    """Shows a bar for the run and one for the grid, where standard error is a terminal."""

    def __init__(self, cells: Sequence[Cell], bars: Any) -> None:
        super().__init__(cells)
        self._bars = bars
        self._grid = bars.add_task("all runs", total=len(cells), told="")
        self._run = bars.add_task("", total=None, told="")

    def begin(self, at: int, cell: Cell) -> None:
        from rich.markup import escape

        from semqa.quotes.render.safe import safe_text

        del at
        self._begun += 1
        title = f"{self._place} {cell.label}"
        self._bars.reset(
            self._run, description=escape(safe_text(title)[:60]), total=None, told="", start=True
        )

    def progress(self, at: int, progress: Progress) -> None:
        del at
        told = []
        if progress.new_tokens and progress.seconds:
            told.append(f"{progress.new_tokens / progress.seconds:.0f} tokens/s")
        if progress.failed:
            told.append(f"{progress.failed} failed")
        share = progress.done / progress.total if progress.total else 1.0
        self._bars.update(
            self._run, completed=progress.done, total=progress.total, told=", ".join(told)
        )
        self._bars.update(self._grid, completed=self._begun - 1 + share)

    def end(self, at: int, outcome: CellOutcome) -> None:
        from rich.markup import escape

        from semqa.quotes.render.safe import safe_text

        del at
        self._bars.update(self._grid, completed=self._begun)
        self._bars.console.print(escape(safe_text(f"{self._place} {ended(outcome)}")))


@contextmanager
def watch_grid(cells: Sequence[Cell]) -> Iterator[GridWatch]:
    """Show how far a grid is, as bars where standard error is a terminal, else in lines."""
    if not sys.stderr.isatty():
        yield GridWatch(cells)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[told]}"),
    )
    with Progress(*columns, console=Console(stderr=True, highlight=False)) as bars:
        yield _Bars(cells, bars)


def ended(outcome: CellOutcome) -> str:
    """Return what became of a run, in a line."""
    if outcome.state == "failed":
        return f"failed: {outcome.label}: {outcome.error}"
    score = "" if outcome.semqa is None else f", SEMQA {outcome.semqa:.2f}"
    done = "finished before" if outcome.state == "kept" else f"done in {outcome.seconds:.1f} s"
    failed = f", {outcome.failed} failed" if outcome.failed else ""
    return f"{done}: {outcome.label}: {outcome.answered} answered{failed}{score}"


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
