"""Runs that differ in their seed alone: how much of a score is luck."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.bench.labels import labels_of
from semqa.bench.report.pooled import cells_of, rows_of, score_figures
from semqa.bench.report.table import Table, number, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.bench.report.runs import FinishedRun

__all__ = ["seeds_table"]


def seeds_table(runs: Sequence[FinishedRun]) -> Table | None:
    """Return means and standard deviations over seeds.

    Returns:
        None where no two runs differ in their seed alone.
    """
    seeded = [run for run in runs if isinstance(run.settings.get("seed"), int)]
    several = [members for members in rows_of(seeded, _key) if len(members) > 1]
    if not several:
        return None
    labels = labels_of(
        [{k: v for k, v in members[0].settings.items() if k != "seed"} for members in several]
    )
    figures = score_figures()
    rows = [
        [words(label), number(len(members), 0), *cells_of(members, figures)]
        for label, members in zip(labels, several, strict=True)
    ]
    return Table(
        "seeds",
        "Over seeds",
        ("run", "seeds", *figures),
        rows,
        ("Means and sample standard deviations (SD) over runs that differ in their seed alone.",),
    )


def _key(run: FinishedRun) -> str:
    rest = {key: value for key, value in run.settings.items() if key != "seed"}
    return f"{run.data} {run.prompts.get('sha256')} {rest}"
