"""Running the cells of a grid, one after the other; a cell that fails does not end it."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from semqa.bench.folder import (
    RESULTS_FILE,
    RUN_FILE,
    make_folder,
    other_key,
    own_errors,
    pretty,
    read_object,
)
from semqa.bench.grid.engines import HeldEngine
from semqa.bench.plan import Plan
from semqa.bench.rescore import rescore
from semqa.bench.run import Progress, run
from semqa.data.atomic import write_atomic
from semqa.data.lock import locked
from semqa.errors import InputError, SemqaError
from semqa.retrieval.settings import ExemplarShelf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from semqa.attribution.judges import Judge
    from semqa.bench.grid.cells import Cell
    from semqa.bench.workers import Workers
    from semqa.data.quotesum import Question

__all__ = ["GRID_FILE", "CellOutcome", "run_grid"]

GRID_FILE = "grid.json"


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """What became of a cell.

    Attributes:
        folder: of its run.
        label: what people call it.
        state: ``done``; ``kept`` where it was finished before; or ``failed``.
        answered: examples that have an answer.
        failed: examples that have none.
        semqa: the score, where there is one.
        seconds: what it took now.
        error: why it failed.
        exemplars: how many were asked for and how many the prompts had, as in ``results.json``.
    """

    folder: str
    label: str
    state: Literal["done", "kept", "failed"]
    answered: int = 0
    failed: int = 0
    semqa: float | None = None
    seconds: float = 0.0
    error: str | None = None
    exemplars: Mapping[str, object] | None = None


def run_grid(
    cells: Sequence[Cell],
    out: Path,
    *,
    on_cell: Callable[[Cell], None] = lambda _: None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    on_done: Callable[[CellOutcome], None] = lambda _: None,
    on_embedded: Callable[[int, int], None] = lambda _done, _total: None,
    say: Callable[[str], None] | None = None,
    judge: Judge | None = None,
    predict_only: bool = False,
    retry_failed: bool = False,
    rescoring: bool = False,
    workers: Workers | None = None,
) -> list[CellOutcome]:
    """Run every cell that is not finished, each in its folder below `out`.

    Cells of one engine are run in a row, so that its model is loaded once. ``grid.json`` tells of
    each cell what became of it; it is written anew after each. A grid that was killed goes on where
    it stopped, in the midst of a cell.

    Args:
        cells: what to run.
        out: the folder of the grid; made when it does not exist.
        on_cell: called with a cell before it is run.
        on_progress: called with how far it is.
        on_done: called with what became of it.
        on_embedded: called with how many questions are embedded, and of how many.
        say: told in words what takes long.
        judge: who judges the answers, if anybody; finished cells are judged then, too.
        predict_only: leave the scores out.
        retry_failed: try examples again that failed earlier, in cells that were finished, too.
        rescoring: ask no engine: score again what is there.
        workers: answer and score, in place of this process.

    Returns:
        What became of each cell, in the order of `cells`.

    Raises:
        InputError: the folder cannot be made.
        UnavailableError: another process is at work in it, or the disk failed.
    """
    make_folder(out)
    outcomes: dict[int, CellOutcome] = {}
    asked = cache(lambda data, limit: Plan(data, "", limit=limit).questions())
    held, exemplars = HeldEngine(say), ExemplarShelf(on_embedded)
    with own_errors(out), locked(out / ".grid.lock", wait_seconds=0), closing(held):
        for at in _order(cells):
            cell = cells[at]
            on_cell(cell)
            outcome = _outcome(
                cell,
                out / cell.folder,
                on_progress,
                held=held,
                exemplars=exemplars,
                asked=asked,
                say=say,
                judge=judge,
                predict_only=predict_only,
                retry_failed=retry_failed,
                rescoring=rescoring,
                workers=workers,
            )
            outcomes[at] = outcome
            on_done(outcome)
            _write(out, cells, outcomes)
    return [outcomes[at] for at in range(len(cells))]


def _outcome(
    cell: Cell,
    folder: Path,
    on_progress: Callable[[Progress], None],
    *,
    held: HeldEngine,
    exemplars: ExemplarShelf,
    asked: Callable[[Path, int | None], list[Question]],
    say: Callable[[str], None] | None,
    judge: Judge | None,
    predict_only: bool,
    retry_failed: bool,
    rescoring: bool,
    workers: Workers | None,
) -> CellOutcome:
    """Run one cell, or see that it is done; what goes wrong is its outcome."""
    started = time.perf_counter()
    state: Literal["done", "kept"] = "done"
    results: Any
    try:
        if rescoring:
            if not (folder / RUN_FILE).is_file():
                raise InputError(
                    "holds no run: got none to score again, expected one; give the command without "
                    "--rescore"
                )
            results = rescore(folder, cell.plan.data, workers)
        else:
            plan = cell.plan
            prompts = plan.create_prompts(
                asked(plan.data, plan.limit), prepare=False, shelf=exemplars
            )
            results = _finished(folder, plan.identity(prompts))
            if (
                results is not None
                and (predict_only or results.get("results") is not None)
                and not (retry_failed and results.get("failed"))
                and _judged_by(judge, results)
            ):
                state = "kept"
            else:
                results = run(
                    plan,
                    folder,
                    on_progress,
                    prompts,
                    say=say,
                    judge=judge,
                    engines=held.take,
                    predict_only=predict_only,
                    retry_failed=retry_failed,
                    workers=workers,
                )
    except Exception as error:  # noqa: BLE001 (one cell must not cost the others)
        if not isinstance(error, InputError):
            held.close()  # what state a model is left in, nobody knows
        said = str(error) if isinstance(error, SemqaError) else repr(error)
        seconds = round(time.perf_counter() - started, 3)
        return CellOutcome(cell.folder, cell.label, "failed", seconds=seconds, error=said)
    scores = results["results"]
    return CellOutcome(
        cell.folder,
        cell.label,
        state,
        results["answered"],
        results["failed"],
        None if scores is None else scores["semqa"],
        round(time.perf_counter() - started, 3),
        exemplars=results.get("exemplars"),
    )


def _order(cells: Sequence[Cell]) -> list[int]:
    """Return the places of cells, those of an engine together, engines by their first cell."""
    first: dict[str, int] = {}
    for at, cell in enumerate(cells):
        first.setdefault(cell.plan.engine, at)
    return sorted(range(len(cells)), key=lambda at: (first[cells[at].plan.engine], at))


def _finished(folder: Path, identity: Mapping[str, object]) -> dict[str, Any] | None:
    """Return the results of a run that was summed up and has this identity."""
    if not ((folder / RUN_FILE).is_file() and (folder / RESULTS_FILE).is_file()):
        return None
    if other_key(read_object(folder / RUN_FILE), identity) is not None:
        return None
    results = read_object(folder / RESULTS_FILE)
    return results if _is_summary(results) else None


def _is_summary(results: Mapping[str, Any]) -> bool:
    """Tell whether results have what is told of a run; they may be of another version, or edited."""
    counts = (results.get("answered"), results.get("failed"))
    if not all(isinstance(count, int) for count in counts):
        return False
    scores = results.get("results")
    return scores is None or (
        isinstance(scores, dict) and isinstance(scores.get("semqa", ""), int | float | None)
    )


def _judged_by(judge: Judge | None, results: Mapping[str, Any]) -> bool:
    """Tell whether results hold what this judge has to say."""
    return judge is None or (results.get("judged") or {}).get("identity") == judge.identity


def _write(out: Path, cells: Sequence[Cell], outcomes: dict[int, CellOutcome]) -> None:
    rows = [
        asdict(outcomes[at])
        if at in outcomes
        else {"folder": cell.folder, "label": cell.label, "state": "waiting"}
        for at, cell in enumerate(cells)
    ]
    write_atomic(out / GRID_FILE, [pretty({"task": "quotesum", "cells": rows})])
