"""The plots of a report: what a reader would rather see than read."""

from __future__ import annotations

import re
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from semqa.bench.report.names import plot_names
from semqa.bench.report.runs import RULES
from semqa.bench.report.svg import Point, Series, dots, lines, pairs, plane
from semqa.bench.results import RESAMPLES, SEED
from semqa.metrics import summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.bench.report.runs import FinishedRun
    from semqa.metrics import ExampleScores, Report

__all__ = ["Plot", "make_plots"]


class Plot(NamedTuple):
    """A plot and what it shows."""

    title: str
    note: str
    svg: str


def make_plots(runs: Sequence[FinishedRun]) -> list[Plot]:
    """Return the plots that the runs have something for."""
    names, said = plot_names(runs)
    runs = [replace(run, label=name) for run, name in zip(runs, names, strict=True)]
    made = [_overview(runs), _by_sources(runs), _by_shots(runs), *_constraint(runs), _plane(runs)]
    found = [plot for plot in made if plot is not None]
    return [plot._replace(note=f"{plot.note} {said}".strip()) for plot in found]


def _overview(runs: Sequence[FinishedRun]) -> Plot | None:
    rows = []
    for run in runs:
        point = _semqa(0, run.report)
        if point is not None:
            around = None if point.low is None or point.high is None else (point.low, point.high)
            rows.append((run.label, point.y, around))
    if not rows:
        return None
    note = "Dots are scores of all questions, bars 95% intervals over resamples of them."
    return Plot("SEMQA", note, dots(rows, "SEMQA"))


def _by_sources(runs: Sequence[FinishedRun]) -> Plot | None:
    series = []
    for run in runs:
        groups: dict[int, list[ExampleScores]] = {}
        for item, scores in zip(run.items or (), run.scores if run.items else (), strict=True):
            groups.setdefault(len(item.question.numbers), []).append(scores)
        reports = {
            count: summarise(groups[count], resamples=RESAMPLES, seed=SEED)
            for count in sorted(groups)
        }
        points = [_semqa(count, report) for count, report in reports.items()]
        series.append(Series(run.label, [point for point in points if point is not None]))
    series = [each for each in series if each.points]
    if len({point.x for each in series for point in each.points}) < 2:
        return None
    note = "Questions with so many sources; bars are 95% intervals, wide where questions are few."
    return Plot("By number of sources", note, lines(series, "number of sources", "SEMQA"))


def _by_shots(runs: Sequence[FinishedRun]) -> Plot | None:
    """Join the runs that differ in their shots alone; exemplars there are only with shots."""
    families: dict[str, list[tuple[int, FinishedRun]]] = {}
    for run in runs:
        shots = run.settings.get("shots")
        if not isinstance(shots, int):
            continue
        rest = _without_shots(run)
        for kind in _kinds(run, [other for other in runs if _without_shots(other) == rest]):
            families.setdefault(f"{rest} {kind}", []).append((shots, run))
    series = []
    for family in families.values():
        members = _of_one_prompt(sorted(family, key=lambda each: each[0]))
        counts = [shots for shots, _ in members]
        if len(set(counts)) < 2 or len(set(counts)) < len(counts):
            continue
        points = [_semqa(shots, run.report) for shots, run in members]
        name = members[-1][1].label
        series.append(Series(name, [point for point in points if point is not None]))
    if not series:
        return None
    note = "Runs that differ in their shots alone"
    short = [_without_count(each.name) for each in series]
    if all(short) and len(set(short)) == len(short):
        series = [each._replace(name=name) for each, name in zip(series, short, strict=True)]
        note += "."
    else:
        note += "; a line is called by its run of most shots."
    return Plot("By shots", note, lines(series, "shots", "SEMQA"))


def _without_count(name: str) -> str:
    """Return a run's name without its number of shots, for all of which a line stands."""
    parts = name.split(", ")
    return ", ".join(part for part in parts if not re.fullmatch("[0-9]+ shots?", part))


def _of_one_prompt(members: list[tuple[int, FinishedRun]]) -> list[tuple[int, FinishedRun]]:
    """Leave out runs without shots of other prompts, where there is one of the same."""
    prompt = members[-1][1].settings.get("prompt")
    own = [each for each in members if each[1].settings.get("prompt") == prompt]
    return own if not own[0][0] else members


def _without_shots(run: FinishedRun) -> dict[str, object]:
    left = ("shots", "exemplars", "prompt")
    return {key: value for key, value in run.settings.items() if key not in left}


def _kinds(run: FinishedRun, runs: Sequence[FinishedRun]) -> list[str]:
    """Return what prompts and exemplars a run goes with.

    One without shots goes with those of its prompt; where its prompt has none with shots, with all.
    """
    if run.settings.get("shots"):
        return [f"{run.settings.get('prompt')} {run.settings.get('exemplars')}"]
    others = [other for other in runs if other.settings.get("shots")]
    prompt = run.settings.get("prompt")
    own = [other for other in others if other.settings.get("prompt") == prompt]
    return sorted(
        {
            f"{other.settings.get('prompt')} {other.settings.get('exemplars')}"
            for other in own or others
        }
    )


def _constraint(runs: Sequence[FinishedRun]) -> list[Plot]:
    """Show what the constraint changes, for each pair of runs that differ in it alone.

    The rules of quoting have no effect without it, so they may differ, too.
    """
    found = [
        (free, kept)
        for free in runs
        for kept in runs
        if free.settings.get("constraint") == "off"
        and kept.settings.get("constraint") not in (None, "off")
        and _without_rules(free) == _without_rules(kept)
    ]
    if not found:
        return []
    scores = [(kept.label, _semqa(0, free.report), _semqa(0, kept.report)) for free, kept in found]
    scored = [(name, a.y, b.y) for name, a, b in scores if a is not None and b is not None]
    shares = [(kept.label, _verified(free), _verified(kept)) for free, kept in found]
    verified = [(name, a, b) for name, a, b in shares if a is not None and b is not None]
    note = "From the ring, without the constraint, to the dot, with it; by the run that has it."
    ends = ("without", "with")
    made = [("SEMQA", scored), ("per cent of quotes verified", verified)]
    return [
        Plot(f"What the constraint changes: {name}", note, pairs(rows, name, ends))
        for name, rows in made
        if rows
    ]


def _without_rules(run: FinishedRun) -> dict[str, object]:
    return {key: value for key, value in run.settings.items() if key not in RULES}


def _verified(run: FinishedRun) -> float | None:
    """Return the share of quotes that are verified; of no quotes there is none."""
    total = sum(sum(record.quotes.values()) for record in run.records)
    verified = sum(record.quotes.get("verified", 0) for record in run.records)
    return 100 * verified / total if total else None


def _plane(runs: Sequence[FinishedRun]) -> Plot | None:
    series = []
    for run in runs:
        recall = [each.recall for each in run.quoted or () if each.recall is not None]
        precision = [each.precision for each in run.quoted or () if each.precision is not None]
        if recall and precision:
            series.append(Series(run.label, [Point(fmean(recall), fmean(precision))]))
    if not series:
        return None
    note = (
        "Words quoted, compared with the best reference for each source: recall over the sources "
        "that references quote, precision over those that the answer quotes."
    )
    return Plot("Precision and recall of quoting", note, plane(series, "recall", "precision"))


def _semqa(x: float, report: Report) -> Point | None:
    estimate = report.estimates["semqa"]
    if estimate.value is None:
        return None
    low, high = estimate.interval or (None, None)
    return Point(x, estimate.value, low, high)
