"""The plots of a report, as inline SVG: dots with intervals, lines, pairs, and points in a plane.

Colours come from the style sheet of the page; each series has a shape of its own as well.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html import escape
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from semqa.bench.report.runs import RULES, plot_names
from semqa.bench.results import RESAMPLES, SEED
from semqa.metrics import summarise
from semqa.quotes.render.common import safe_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.bench.report.runs import FinishedRun
    from semqa.metrics import ExampleScores, Report

COLOURS = 8
WIDTH = 640
LABEL = 34  # characters of a label shown; the middle of a longer one is cut, its title has it whole


class Plot(NamedTuple):
    """A plot and what it shows."""

    title: str
    note: str
    svg: str


class Point(NamedTuple):
    """A point, with an optional interval of its y."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


class Series(NamedTuple):
    """Points of one name."""

    name: str
    points: Sequence[Point]


def make_plots(runs: Sequence[FinishedRun]) -> list[Plot]:
    """Return the plots that these runs have data for."""
    names, said = plot_names(runs)
    runs = [replace(run, label=name) for run, name in zip(runs, names, strict=True)]
    made = [_overview(runs), _by_sources(runs), _by_shots(runs), *_constraint(runs), _plane(runs)]
    found = [plot for plot in made if plot is not None]
    return [plot._replace(note=f"{plot.note} {said}".strip()) for plot in found]


def _overview(runs: Sequence[FinishedRun]) -> Plot | None:
    rows = [
        (run.label, estimate.value, estimate.interval)
        for run in runs
        if (estimate := run.report.estimates["semqa"]).value is not None
    ]
    if not rows:
        return None
    note = "Dots are scores over all questions, bars 95% intervals over resamples of them."
    return Plot("SEMQA", note, dots(rows, "SEMQA"))


def _by_sources(runs: Sequence[FinishedRun]) -> Plot | None:
    series = []
    for run in runs:
        groups: dict[int, list[ExampleScores]] = {}
        for item, scores in zip(run.items or (), run.scores if run.items else (), strict=True):
            groups.setdefault(len(item.question.numbers), []).append(scores)
        points = [
            _semqa(count, summarise(groups[count], resamples=RESAMPLES, seed=SEED))
            for count in sorted(groups)
        ]
        series.append(Series(run.label, [point for point in points if point is not None]))
    series = [each for each in series if each.points]
    if len({point.x for each in series for point in each.points}) < 2:
        return None
    note = "By number of sources; bars are 95% intervals, wide if there are few questions."
    return Plot("By number of sources", note, lines(series, "number of sources", "SEMQA"))


def _by_shots(runs: Sequence[FinishedRun]) -> Plot | None:
    """Join the runs that differ in their shots alone; without shots there are no exemplars."""
    families: dict[str, list[tuple[int, FinishedRun]]] = {}
    for run in runs:
        shots = run.settings.get("shots")
        if isinstance(shots, int):
            rest = _without(run, "shots", "exemplars", "prompt")
            peers = [r for r in runs if _without(r, "shots", "exemplars", "prompt") == rest]
            for kind in _kinds(run, peers):
                families.setdefault(f"{rest} {kind}", []).append((shots, run))
    series = []
    for family in families.values():
        members = sorted(family, key=lambda each: each[0])
        prompt = members[-1][1].settings.get("prompt")
        own = [each for each in members if each[1].settings.get("prompt") == prompt]
        if not own[0][0]:  # runs of other prompts stand in only if this one has none without shots
            members = own
        counts = [shots for shots, _ in members]
        if len(set(counts)) < 2 or len(set(counts)) < len(counts):
            continue
        points = [_semqa(shots, run.report) for shots, run in members]
        name = members[-1][1].label
        series.append(Series(name, [point for point in points if point is not None]))
    if not series:
        return None
    parts = [each.name.split(", ") for each in series]
    short = [", ".join(p for p in ps if not re.fullmatch("[0-9]+ shots?", p)) for ps in parts]
    note = "Runs that differ in their shots alone"
    if all(short) and len(set(short)) == len(short):
        series = [each._replace(name=name) for each, name in zip(series, short, strict=True)]
        note += "."
    else:
        note += "; a line has the name of its run with the most shots."
    return Plot("By shots", note, lines(series, "shots", "SEMQA"))


def _kinds(run: FinishedRun, peers: Sequence[FinishedRun]) -> list[str]:
    """Return the prompts and exemplars that a run goes with.

    One without shots goes with those of its prompt, or with all if its prompt has none with shots.
    """
    if run.settings.get("shots"):
        return [f"{run.settings.get('prompt')} {run.settings.get('exemplars')}"]
    others = [other for other in peers if other.settings.get("shots")]
    own = [o for o in others if o.settings.get("prompt") == run.settings.get("prompt")]
    kinds = (f"{o.settings.get('prompt')} {o.settings.get('exemplars')}" for o in own or others)
    return sorted(set(kinds))


def _constraint(runs: Sequence[FinishedRun]) -> list[Plot]:
    """Show what the constraint changes, for each pair of runs that differ in it alone."""
    found = [
        (free, kept)
        for free in runs
        for kept in runs
        if free.settings.get("constraint") == "off"
        and kept.settings.get("constraint") not in (None, "off")
        and _without(free, *RULES) == _without(kept, *RULES)
    ]
    scores = [(k.label, f.report.value("semqa"), k.report.value("semqa")) for f, k in found]
    shares = [(kept.label, _verified(free), _verified(kept)) for free, kept in found]
    note = "From the ring, without the constraint, to the dot, with it; by the run that has it."
    plots = []
    for name, rows in (("SEMQA", scores), ("per cent of quotes verified", shares)):
        known = [(label, a, b) for label, a, b in rows if a is not None and b is not None]
        if known:
            title = f"What the constraint changes: {name}"
            plots.append(Plot(title, note, pairs(known, name, ("without", "with"))))
    return plots


def _without(run: FinishedRun, *left_out: str) -> dict[str, object]:
    return {key: value for key, value in run.settings.items() if key not in left_out}


def _verified(run: FinishedRun) -> float | None:
    """Return the percentage of quotes that are verified; None without quotes."""
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
    return Point(x, estimate.value, *(estimate.interval or (None, None)))


def dots(rows: Sequence[tuple[str, float, Sequence[float] | None]], label: str) -> str:
    """Draw a line per row: name, a dot at the value, and a bar for the interval."""
    scale = _Scale([v for _, value, around in rows for v in (value, *(around or ()))], 230, 620)
    parts = []
    for at, (name, value, around) in enumerate(rows):
        y, told = 26 * at + 13, f"{name}: {value:.1f}"
        parts.append(_text(220, y + 4, name, "end"))
        if around is not None:
            parts.append(_line("bar s0", scale(around[0]), y, scale(around[1]), y))
            told += f" ({around[0]:.1f} – {around[1]:.1f})"
        parts.append(_mark(scale(value), y, 0, told))
    return _chart(parts, scale, len(rows), label)


def pairs(rows: Sequence[tuple[str, float, float]], label: str, ends: tuple[str, str]) -> str:
    """Draw a line per row: name, a ring at the first value, a dot at the second, and the way."""
    scale = _Scale([value for _, *both in rows for value in both], 230, 620)
    parts = []
    for at, (name, before, after) in enumerate(rows):
        y = 26 * at + 13
        parts += [
            _text(220, y + 4, name, "end"),
            _line("line s0", scale(before), y, scale(after), y),
            f'<circle class="ring s0" cx="{scale(before):.1f}" cy="{y:.1f}" r="4.5">'
            f"<title>{_safe(f'{name}, {ends[0]}: {before:.1f}')}</title></circle>",
            _mark(scale(after), y, 0, f"{name}, {ends[1]}: {after:.1f}"),
        ]
    return _chart(parts, scale, len(rows), label)


def lines(series: Sequence[Series], x_label: str, y_label: str) -> str:
    """Draw lines over whole numbers, with bars for intervals and a legend."""
    points = [point for each in series for point in each.points]
    ys = [v for p in points for v in (p.y, p.low, p.high) if v is not None]
    return _graph(series, _Scale([p.x for p in points], 60, 400, whole=True), ys, x_label, y_label)


def plane(series: Sequence[Series], x_label: str, y_label: str) -> str:
    """Draw single points, each a series of its own, in a plane from 0 to 100."""
    return _graph(series, _Scale([0, 100], 60, 400), [0, 100], x_label, y_label, joined=False)


def _graph(
    series: Sequence[Series],
    across: _Scale,
    ys: Sequence[float],
    x_label: str,
    y_label: str,
    *,
    joined: bool = True,
) -> str:
    bottom = max(250, 22 * len(series) + 20)
    up = _Scale(ys, bottom, 10)
    parts = [_axis_below(across, bottom + 4, x_label)]
    for tick in up.ticks:
        parts.append(_line("grid", 60, up(tick), 400, up(tick)))
        parts.append(_text(52, up(tick) + 4, f"{tick:g}", "end"))
    parts.append(
        f'<text class="axis" transform="translate(14 {bottom / 2:.0f}) rotate(-90)" '
        f'text-anchor="middle">{_safe(y_label)}</text>'
    )
    shift = min(5.0, 30 / max(1, len(series)))
    for at, (name, points) in enumerate(series):
        aside = (at - (len(series) - 1) / 2) * shift if joined else 0.0
        placed = [(across(p.x) + aside, up(p.y), p) for p in points]
        if joined and len(placed) > 1:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in placed)
            parts.append(f'<polyline class="line s{at % COLOURS}" points="{path}"/>')
        for x, y, point in placed:
            if point.low is not None and point.high is not None:
                parts.append(
                    _line(f"bar thin s{at % COLOURS}", x, up(point.low), x, up(point.high))
                )
            told = f"{name}: {x_label} {point.x:g}, {y_label} {point.y:.1f}"
            parts.append(_mark(x, y, at, told))
        legend = 22 * at + 20
        parts.append(_mark(424, legend - 4, at, name) + _text(436, legend, name, "start"))
    return _svg(parts, bottom + 44, f"{y_label} by {x_label}")


class _Scale:
    """Map numbers to places, over a range that holds them all, with ticks at round numbers."""

    def __init__(
        self, values: Sequence[float], start: float, end: float, *, whole: bool = False
    ) -> None:
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        if whole:
            self.ticks = sorted(set(values))
            if len(self.ticks) > 12:
                self.ticks = self.ticks[:: math.ceil(len(self.ticks) / 12)]
            margin = (high - low) * 0.08 or 1
            low, high = low - margin, high + margin
        else:
            step = _step((high - low) or 1.0)
            low, high = step * math.floor(low / step), step * math.ceil(high / step)
            if low == high:
                high = low + step
            self.ticks = [low + step * k for k in range(round((high - low) / step) + 1)]
        self._low, self._high, self._start, self._end = low, high, start, end

    def __call__(self, value: float) -> float:
        share = (value - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)


def _step(size: float) -> float:
    """Return a round number that fits into a range about five times."""
    rough = size / 5
    power: float = 10.0 ** math.floor(math.log10(rough))
    return power * next(f for f in (1, 2, 5, 10) if f * power >= rough - 1e-12)


def _axis_below(scale: _Scale, y: float, label: str) -> str:
    middle = (scale(scale.ticks[0]) + scale(scale.ticks[-1])) / 2
    ticks = "".join(
        _line("grid", scale(t), 4, scale(t), y) + _text(scale(t), y + 16, f"{t:g}", "middle")
        for t in scale.ticks
    )
    return ticks + (
        f'<text class="axis" x="{middle:.1f}" y="{y + 34:.1f}" text-anchor="middle">'
        f"{_safe(label)}</text>"
    )


_SHAPES = ("M-4,0 a4,4 0 1,0 8,0 a4,4 0 1,0 -8,0", "M-4,-4 h8 v8 h-8 z", "M0,-5 L5,4 L-5,4 z",
           "M0,-5 L5,0 L0,5 L-5,0 z", "M0,5 L5,-4 L-5,-4 z")  # fmt: skip


def _mark(x: float, y: float, at: int, told: str) -> str:
    return (
        f'<path class="mark s{at % COLOURS}" transform="translate({x:.1f} {y:.1f})" '
        f'd="{_SHAPES[at % len(_SHAPES)]}"><title>{_safe(told)}</title></path>'
    )


def _line(css: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{css}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    shown = text if len(text) <= LABEL else f"{text[: LABEL // 3]}…{text[1 - 2 * LABEL // 3 :]}"
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_safe(shown)}'
        f"<title>{_safe(text)}</title></text>"
    )


def _chart(parts: Sequence[str], scale: _Scale, rows: int, label: str) -> str:
    height = 26 * rows + 44
    return _svg([_axis_below(scale, height - 40, label), *parts], height, label)


def _svg(parts: Sequence[str], height: float, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{_safe(title)}">'
        + "".join(parts)
        + "</svg>"
    )


def _safe(text: str) -> str:
    return escape(" ".join(safe_text(text).split()))
