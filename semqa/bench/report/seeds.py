"""Runs that differ in their seed alone: how much of a score is luck."""

from __future__ import annotations

from statistics import fmean, stdev
from typing import TYPE_CHECKING

from semqa.bench.labels import labels_of
from semqa.bench.report.table import Table, number, words
from semqa.bench.report.tables import SCORES
from semqa.metrics import summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.bench.report.runs import FinishedRun

__all__ = ["seeds_table"]


def seeds_table(runs: Sequence[FinishedRun]) -> Table | None:
    """Return means and standard deviations over seeds.

    Returns:
        None where no two runs differ in their seed alone.
    """
    families: dict[str, list[FinishedRun]] = {}
    for run in runs:
        if isinstance(run.settings.get("seed"), int):
            rest = {key: value for key, value in run.settings.items() if key != "seed"}
            families.setdefault(f"{run.data} {rest}", []).append(run)
    several = [
        members for members in families.values() if len({m.settings["seed"] for m in members}) > 1
    ]
    if not several:
        return None
    labels = labels_of(
        [{k: v for k, v in members[0].settings.items() if k != "seed"} for members in several]
    )
    rows = []
    for label, members in zip(labels, several, strict=True):
        cells = [words(label), number(len(members), 0)]
        reports = [summarise(run.scores, resamples=0) for run in members]
        for metric in SCORES:
            values = [value for each in reports if (value := each.value(metric)) is not None]
            cells.append(number(fmean(values) if values else None))
            cells.append(number(stdev(values) if len(values) > 1 else None, 2))
        rows.append(cells)
    columns = ["run", "seeds"]
    for name in SCORES.values():
        columns += [name, f"SD ({name})"]
    return Table(
        "seeds",
        "Over seeds",
        columns,
        rows,
        ("Means and sample standard deviations over runs that differ in their seed alone.",),
    )
