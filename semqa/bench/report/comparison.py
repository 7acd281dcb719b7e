"""All runs against a chosen one: paired bootstrap, corrected for how many tests there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.bench.report.table import Cell, Table, figure, words
from semqa.bench.report.tables import SCORES
from semqa.errors import InputError
from semqa.metrics.bootstrap import paired_bootstrap
from semqa.metrics.significance import adjust

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.bench.report.runs import FinishedRun
    from semqa.metrics.bootstrap import PairedTest

__all__ = ["choose_baseline", "comparison_table", "not_compared"]

RESAMPLES, SEED = 10_000, 0
LEVEL = 0.05


def choose_baseline(runs: Sequence[FinishedRun], name: str | None) -> FinishedRun:
    """Return the run that others are compared with.

    Args:
        runs: all of them.
        name: the label or the folder of one; by default the first that is not the human row.

    Raises:
        InputError: there is no such run.
    """
    if name is None:
        return next((run for run in runs if run.kind != "human"), runs[0])
    for run in runs:
        if name in (run.label, run.folder):
            return run
    raise InputError(
        f"--baseline: got {name!r}, expected one of {', '.join(repr(run.label) for run in runs)}; "
        "choose one of them"
    )


def comparison_table(
    runs: Sequence[FinishedRun], baseline: FinishedRun, resamples: int = RESAMPLES
) -> Table | None:
    """Return how each run differs from the baseline, with Holm's correction over all tests.

    Args:
        runs: all of them; those over other questions are left out, which a note says.
        baseline: one of them.
        resamples: of the bootstrap.

    Returns:
        None where there is nothing to compare.

    Source: Holm 1979; `semqa.metrics.bootstrap.paired_bootstrap`.
    """
    tests: dict[tuple[str, str], PairedTest] = {}
    notes: list[str] = []
    for run in runs:
        if run is baseline:
            continue
        if not _same_questions(run, baseline):
            notes.append(f"Not compared, for it is over other questions: {run.label}.")
            continue
        for metric in SCORES:
            try:
                tests[run.label, metric] = paired_bootstrap(
                    run.scores, baseline.scores, metric=metric, resamples=resamples, seed=SEED
                )
            except InputError as error:
                notes.append(f"Not compared: {run.label}: {error}.")
    if not tests:
        return None
    corrected = dict(zip(tests, adjust([t.p for t in tests.values()], "holm"), strict=True))
    rows: list[list[Cell]] = []
    for run in runs:
        if not any(label == run.label for label, _ in tests):
            continue
        cells = [words(run.label)]
        for metric in SCORES:
            test = tests.get((run.label, metric))
            if test is None:
                cells += [Cell("–", why="not compared"), Cell("–")]
                continue
            p = corrected[run.label, metric]
            cells.append(figure(test.difference, (test.low, test.high), test.n, signed=True))
            shown = f"{p:.3f}" if p >= 0.001 else "< 0.001"
            cells.append(Cell(shown, p, strong=p < LEVEL, why=f"uncorrected {test.p:.4f}"))
        rows.append(cells)
    columns = ["run"]
    for name in SCORES.values():
        columns += [f"Δ {name}", f"p ({name})"]
    return Table(
        "comparison",
        f"Against {baseline.label}",
        columns,
        rows,
        (
            f"Differences in points with 95% intervals, by a paired bootstrap of {resamples:,} "
            f"resamples over questions (seed {SEED}); two-sided p, corrected by Holm for all "
            f"{len(tests)} tests of this table; bold where below {LEVEL:g}. Intervals are not "
            "corrected: one without 0 is no proof beside a p that is not bold.",
            *_too_many(len(tests), resamples),
            *notes,
        ),
    )


def _too_many(tests: int, resamples: int) -> list[str]:
    """Return what to know where a correction leaves nothing that could be told apart."""
    least = tests / (1 + resamples)
    if least < LEVEL:
        return []
    return [
        f"No difference can be bold here: the least p of {resamples:,} resamples is "
        f"{1 / (1 + resamples):.1g}, which Holm multiplies by {tests:,} tests. Put fewer runs into a "
        "report."
    ]


def not_compared(runs: Sequence[FinishedRun], baseline: FinishedRun) -> str:
    """Return why there is nothing to compare a run with."""
    if not any(_same_questions(run, baseline) for run in runs if run is not baseline):
        return f"no other run is over the questions of {baseline.label}"
    if len(_qids(baseline)) == 1:
        return "one question shows no spread"
    return f"no question has a score of {baseline.label} and of another run"


def _same_questions(run: FinishedRun, other: FinishedRun) -> bool:
    return run.data == other.data and _qids(run) == _qids(other)


def _qids(run: FinishedRun) -> set[str]:
    return {record.qid for record in run.records}
