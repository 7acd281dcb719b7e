"""The grids whose runs a report tells of: their order, and the runs that left nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from semqa.bench.folder import read_object
from semqa.bench.grid.run import GRID_FILE
from semqa.bench.report.notes import Note
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from pathlib import Path

__all__ = ["GridCell", "missing", "read_grids"]


class GridCell(NamedTuple):
    """What a grid's file says of one run.

    Attributes:
        folder: where it lies, or would.
        label: what it is called.
        state: ``done``, ``kept``, ``failed`` or ``waiting``.
        error: why it failed.
    """

    folder: Path
    label: str
    state: object
    error: object


def read_grids(folder: Path, notes: list[str]) -> list[GridCell]:
    """Return the runs of all grids below a folder, in the order of their files.

    Args:
        folder: of the report.
        notes: gets a line for each grid whose file cannot be read, which costs its order alone.
    """
    found = []
    for path in sorted(folder.rglob(GRID_FILE)):
        try:
            cells = read_object(path).get("cells")
        except InputError as error:
            notes.append(f"not in the order of their grid: {error}")
            continue
        for cell in cells if isinstance(cells, list) else []:
            if isinstance(cell, dict) and isinstance(cell.get("folder"), str):
                lies = path.parent / cell["folder"]
                label = str(cell.get("label"))
                found.append(GridCell(lies, label, cell.get("state"), cell.get("error")))
    return found


def missing(cells: Sequence[GridCell], there: Container[Path]) -> list[Note]:
    """Tell of the runs of a grid that left nothing, for their absence is not to be seen."""
    notes = []
    for cell in cells:
        if cell.folder in there:
            continue
        if cell.state == "failed":
            notes.append(Note(cell.label, f"not here, for it failed: {cell.error}"))
        elif cell.state == "waiting":
            notes.append(Note(cell.label, "not here, for it was not run yet"))
    return notes
