"""Runs that differ in their seed alone as one row of a table: means, and how much of them is luck."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from statistics import fmean, stdev
from typing import TYPE_CHECKING, NamedTuple

from semqa.bench.disambig import rouge_of, sum_up
from semqa.bench.report.table import Cell, figure
from semqa.bench.report.tables import SCORES
from semqa.bench.results import RESAMPLES, SEED
from semqa.metrics.bootstrap import mean_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from semqa.bench.report.runs import FinishedRun

__all__ = [
    "Figure",
    "cells_of",
    "disambig_figure",
    "dr_figure",
    "mark_best",
    "pool",
    "rows_of",
    "score_figures",
]

CITES = "its prompt asks for citations, which quote nothing"


class Figure(NamedTuple):
    """A figure of one run.

    Attributes:
        value: None where there is none.
        interval: of it.
        n: what it rests on.
        why: why there is none.
    """

    value: float | None
    interval: tuple[float, float] | None = None
    n: int | None = None
    why: str = ""


def pool(
    runs: Iterable[FinishedRun], key: Callable[[FinishedRun], object]
) -> dict[object, list[FinishedRun]]:
    """Return runs that have a key in common, by that key, in the order in which they come."""
    found: dict[object, list[FinishedRun]] = {}
    for run in runs:
        found.setdefault(key(run), []).append(run)
    return found


def rows_of(
    runs: Iterable[FinishedRun], key: Callable[[FinishedRun], object]
) -> list[list[FinishedRun]]:
    """Return runs that are one row: those that have a key in common, and each another seed.

    Two runs of one key and one seed differ in what no setting tells, such as the version of a model;
    they are rows of their own.
    """
    rows: list[list[FinishedRun]] = []
    for members in pool(runs, key).values():
        seeds = {str(run.settings.get("seed")) for run in members}
        rows += [members] if len(seeds) == len(members) else [[run] for run in members]
    return rows


def score_figure(run: FinishedRun, metric: str) -> Figure:
    """Return a score of a run; where its prompt asks for citations, as a reader sees the answers.

    Numbers of citations are no words to ROUGE then, and there is no score of quotes.
    """
    if run.cites and metric != "rougeLsum":
        return Figure(None, why=CITES)
    if run.cites and run.items is not None:
        groups: dict[str, list[float]] = {}
        for item, record in zip(run.items, run.records, strict=True):
            value = rouge_of(item, record.prediction)
            if value is not None:
                groups.setdefault(record.qid, []).append(value)
        values = [value for group in groups.values() for value in group]
        if not values:
            return Figure(None, why="unscored")
        around = mean_interval(list(groups.values()), resamples=RESAMPLES, seed=SEED)
        return Figure(fmean(values), around, len(values))
    estimate = run.report.estimates[metric]
    why = "with the numbers of citations, for the data is not there" if run.cites else ""
    return Figure(estimate.value, estimate.interval, estimate.n, why)


def score_figures() -> dict[str, Callable[[FinishedRun], Figure]]:
    """Return what finds the scores of the paper's Table 2, by their names."""
    return {name: partial(score_figure, metric=metric) for metric, name in SCORES.items()}


def disambig_figure(run: FinishedRun) -> Figure:
    """Return Disambig-F1 of a run."""
    if run.read is None:
        return Figure(None, why="not judged by a judge that answers questions")
    told = sum_up([record.qid for record in run.records], run.read, [None] * len(run.read))
    return Figure(told.f1, told.interval, told.n, "" if told.n else "no sub-questions")


def dr_figure(run: FinishedRun) -> Figure:
    """Return DR of a run: of the answers that have Disambig-F1."""
    if run.read is None:
        return Figure(None, why="not judged by a judge that answers questions")
    rouge: list[float | None] = [each.rougeLsum for each in run.scores]
    if run.items is not None:
        rouge = [
            rouge_of(item, record.prediction) if read.pairs else None
            for item, record, read in zip(run.items, run.records, run.read, strict=True)
        ]
    told = sum_up([record.qid for record in run.records], run.read, rouge)
    return Figure(told.dr, told.dr_interval, told.n, "" if told.n else "no sub-questions")


def cells_of(
    runs: Sequence[FinishedRun], figures: Mapping[str, Callable[[FinishedRun], Figure]]
) -> list[Cell]:
    """Return the cells of a row.

    Args:
        runs: one; or several that differ in their seed alone, of which mean and sample standard
            deviation are shown.
        figures: what is shown, by the names of columns.
    """
    cells = []
    for find in figures.values():
        found = [find(run) for run in runs]
        values = [each.value for each in found if each.value is not None]
        first = found[0]
        if len(runs) == 1 or not values:
            cells.append(figure(first.value, first.interval, first.n, why=first.why))
            continue
        missing = len(runs) - len(values)
        why = f"{missing} of {len(runs)} runs unscored" if missing else ""
        cell = figure(fmean(values), n=first.n, why=why)
        cells.append(replace(cell, spread=stdev(values) if len(values) > 1 else None))
    return cells


def mark_best(rows: Sequence[Sequence[Cell]], first: int) -> list[list[Cell]]:
    """Make the best figure of each column stand out, where some are worse.

    Args:
        rows: as long as each other.
        first: the first column of figures.
    """
    made = [list(row) for row in rows]
    for at in range(first, len(made[0])):
        values = {row[at].value for row in made if row[at].value is not None}
        if len(values) > 1:
            best = max(value for value in values if value is not None)
            for row in made:
                if row[at].value == best:
                    row[at] = replace(row[at], strong=True)
    return made
