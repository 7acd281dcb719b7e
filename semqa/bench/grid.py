"""Run the cells of a grid one by one; a failed cell does not stop the grid."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from semqa.attribution.judges import Judge
from semqa.bench.folder import (
    RESULTS_FILE,
    RUN_FILE,
    other_key,
    own_errors,
    pretty,
)
from semqa.bench.plan import Plan
from semqa.bench.run import Watch, Workers, run
from semqa.data.files import locked, make_folder, write_atomic
from semqa.data.jsonl import read_object
from semqa.engines import ConstrainedEngine, Engine, SharingEngine, close_engine
from semqa.errors import InputError, SemqaError
from semqa.prompting import PromptBuilder
from semqa.retrieval.settings import ExemplarCache

GRID_FILE = "grid.json"


class Cell(NamedTuple):
    """One run of a grid; `where` is its ``file:line``."""

    plan: Plan
    label: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """The outcome of a cell.

    Attributes:
        state: ``done``; ``kept`` if it was finished before; or ``failed``.
        exemplars: how many were requested and how many the prompts had, as in ``results.json``.
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


class GridWatch(Watch):
    """Observer of a grid and its runs."""

    def begin(self, cell: Cell) -> None:
        """Note the start of a run."""

    def end(self, outcome: CellOutcome) -> None:
        """Note the outcome of a run."""


class EngineCache:
    """Caches the last engine, so that consecutive runs share a model."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._spec: str | None = None
        self._held: Engine | None = None

    def take(self, plan: Plan, prompts: PromptBuilder | None) -> Engine | None:
        """Return the engine of a run; it stays cached."""
        held = self._held
        if isinstance(held, SharingEngine) and self._spec == plan.engine:
            shared = held.with_settings(plan.given, prompts)
            if shared is not None:
                if isinstance(shared, ConstrainedEngine):
                    shared.warm_up(self._say)
                return shared
        self.close()  # before loading the next one: two models may not fit
        self._held, self._spec = plan.create_engine(prompts, self._say), plan.engine
        return self._held

    def close(self) -> None:
        """Close the cached engine."""
        held, self._held, self._spec = self._held, None, None
        close_engine(held)


def run_grid(
    cells: Sequence[Cell],
    out: Path,
    watch: GridWatch,
    judge: Judge | None = None,
    *,
    retry_failed: bool = False,
    workers: Workers | None = None,
) -> list[CellOutcome]:
    """Run every unfinished cell, each in its own subfolder of `out`.

    Cells with the same engine run consecutively, so that its model is loaded once. ``grid.json``
    records the outcome of each cell and is rewritten after each. A killed grid resumes where it
    stopped, even within a cell.

    Args:
        workers: processes that answer instead of this one.
    """
    make_folder(out)
    outcomes: dict[int, CellOutcome] = {}
    questions = cache(lambda data, limit: Plan(data, "", limit=limit).questions())
    exemplars = ExemplarCache(watch.embedded)
    held = EngineCache(watch.note)

    def results_of(plan: Plan, folder: Path) -> tuple[Literal["done", "kept"], Any]:
        asked = questions(plan.data, plan.limit)
        prompts = plan.create_prompts(asked, watch.embedded, exemplars)
        found = _finished(folder, plan.identity(prompts))
        if (
            found is not None
            and not (retry_failed and found.get("failed"))
            and (judge is None or (found.get("judged") or {}).get("identity") == judge.identity)
        ):
            return "kept", found
        return "done", run(
            plan,
            folder,
            watch,
            prompts,
            judge,
            engines=held.take,
            retry_failed=retry_failed,
            workers=workers,
        )

    def outcome_of(cell: Cell) -> CellOutcome:
        folder, started = cell.plan.folder, time.perf_counter()
        try:
            state, results = results_of(cell.plan, out / folder)
        except Exception as error:  # noqa: BLE001 (the other cells must still run)
            if not isinstance(error, InputError):
                held.close()  # the model may be in a bad state
            message = str(error) if isinstance(error, SemqaError) else repr(error)
            seconds = round(time.perf_counter() - started, 3)
            return CellOutcome(folder, cell.label, "failed", seconds=seconds, error=message)
        scores = results["results"]
        return CellOutcome(
            folder,
            cell.label,
            state,
            results["answered"],
            results["failed"],
            None if scores is None else scores["semqa"],
            round(time.perf_counter() - started, 3),
            exemplars=results.get("exemplars"),
        )

    first: dict[str, int] = {}
    for at, cell in enumerate(cells):
        first.setdefault(cell.plan.engine, at)
    with own_errors(out), locked(out / ".grid.lock", wait_seconds=0), closing(held):
        for at in sorted(range(len(cells)), key=lambda at: (first[cells[at].plan.engine], at)):
            watch.begin(cells[at])
            outcomes[at] = outcome_of(cells[at])
            watch.end(outcomes[at])
            rows = [
                asdict(outcomes[at])
                if at in outcomes
                else {"folder": cell.plan.folder, "label": cell.label, "state": "waiting"}
                for at, cell in enumerate(cells)
            ]
            write_atomic(out / GRID_FILE, [pretty({"task": "quotesum", "cells": rows})])
    return [outcomes[at] for at in range(len(cells))]


def _finished(folder: Path, identity: Mapping[str, object]) -> dict[str, Any] | None:
    """Return the results of a finished run with this identity, or None."""
    if not ((folder / RUN_FILE).is_file() and (folder / RESULTS_FILE).is_file()):
        return None
    if other_key(read_object(folder / RUN_FILE), identity) is not None:
        return None
    return read_object(folder / RESULTS_FILE)
