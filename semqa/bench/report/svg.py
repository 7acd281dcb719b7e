"""Small plots as inline SVG: dots with intervals, lines, and points in a plane.

Everything is text and numbers: no library, no script, no address. Colours come from the page's
style sheet, and each series has a shape of its own besides.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from semqa.quotes.render.common import safe_text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Point", "Series", "dots", "lines", "pairs", "plane"]

COLOURS = 8
WIDTH = 640
LABEL = 34
"""Characters of a label that are shown, its middle left out; the whole is in its title."""


class Point(NamedTuple):
    """A point, with the interval of its y where there is one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


class Series(NamedTuple):
    """Points that belong together, by their name."""

    name: str
    points: Sequence[Point]


def dots(rows: Sequence[tuple[str, float, Sequence[float] | None]], label: str) -> str:
    """Return one line a row: its name, a dot at its value, and a bar for its interval.

    Args:
        rows: names, values and intervals, from the top.
        label: of the axis.
    """
    left, line = 230, 26
    height = line * len(rows) + 44
    ends = [v for _, value, around in rows for v in (value, *(around or ()))]
    scale = _Scale(ends, left, WIDTH - 20)
    parts = [_axis_below(scale, height - 40, label)]
    for at, (name, value, around) in enumerate(rows):
        y = line * at + line / 2
        parts.append(_text(left - 10, y + 4, name, "end"))
        if around is not None:
            parts.append(
                f'<line class="bar s0" x1="{scale(around[0]):.1f}" x2="{scale(around[1]):.1f}" '
                f'y1="{y:.1f}" y2="{y:.1f}"/>'
            )
        told = f"{name}: {value:.1f}" + (
            "" if around is None else f" ({around[0]:.1f} – {around[1]:.1f})"
        )
        parts.append(_mark(scale(value), y, 0, told))
    return _svg(parts, height, label)


def pairs(rows: Sequence[tuple[str, float, float]], label: str, ends: tuple[str, str]) -> str:
    """Return one line a row: its name, a ring where it was, a dot where it went, and the way.

    Args:
        rows: names, values before and values after, from the top.
        label: of the axis.
        ends: what before and after are called.
    """
    left, line = 230, 26
    height = line * len(rows) + 44
    scale = _Scale([value for _, *both in rows for value in both], left, WIDTH - 20)
    parts = [_axis_below(scale, height - 40, label)]
    for at, (name, before, after) in enumerate(rows):
        y = line * at + line / 2
        parts += [
            _text(left - 10, y + 4, name, "end"),
            f'<line class="line s0" x1="{scale(before):.1f}" x2="{scale(after):.1f}" '
            f'y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<circle class="ring s0" cx="{scale(before):.1f}" cy="{y:.1f}" r="4.5">'
            f"<title>{_safe(f'{name}, {ends[0]}: {before:.1f}')}</title></circle>",
            _mark(scale(after), y, 0, f"{name}, {ends[1]}: {after:.1f}"),
        ]
    return _svg(parts, height, label)


def lines(series: Sequence[Series], x_label: str, y_label: str) -> str:
    """Return lines over whole numbers, with bars for intervals and a legend."""
    points = [point for each in series for point in each.points]
    ys = [v for p in points for v in (p.y, p.low, p.high) if v is not None]
    return _graph(series, _Scale([p.x for p in points], 60, 400, whole=True), ys, x_label, y_label)


def plane(series: Sequence[Series], x_label: str, y_label: str) -> str:
    """Return single points, each a series of its own, in a plane from 0 to 100."""
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
    height = bottom + 44
    up = _Scale(ys, bottom, 10)
    parts = [_axis_below(across, bottom + 4, x_label)]
    parts += [
        f'<line class="grid" x1="60" x2="400" y1="{up(tick):.1f}" y2="{up(tick):.1f}"/>'
        + _text(52, up(tick) + 4, f"{tick:g}", "end")
        for tick in up.ticks
    ]
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
                    f'<line class="bar thin s{at % COLOURS}" x1="{x:.1f}" x2="{x:.1f}" '
                    f'y1="{up(point.low):.1f}" y2="{up(point.high):.1f}"/>'
                )
            told = f"{name}: {x_label} {point.x:g}, {y_label} {point.y:.1f}"
            parts.append(_mark(x, y, at, told))
        legend = 22 * at + 20
        parts.append(_mark(424, legend - 4, at, name) + _text(436, legend, name, "start"))
    return _svg(parts, height, f"{y_label} by {x_label}")


class _Scale:
    """Numbers to places, over a range that holds them all, with ticks at round numbers."""

    def __init__(
        self, values: Sequence[float], start: float, end: float, *, whole: bool = False
    ) -> None:
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        if whole:
            self.ticks = sorted(set(values))
            if len(self.ticks) > 12:
                self.ticks = self.ticks[:: math.ceil(len(self.ticks) / 12)]
            room = (high - low) * 0.08 or 1
            low, high = low - room, high + room
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
    """Return a round number that some five of fit into a range."""
    rough = size / 5
    power: float = 10.0 ** math.floor(math.log10(rough))
    return power * next(f for f in (1, 2, 5, 10) if f * power >= rough - 1e-12)


def _axis_below(scale: _Scale, y: float, label: str) -> str:
    ends = (scale(scale.ticks[0]), scale(scale.ticks[-1]))
    ticks = "".join(
        f'<line class="grid" x1="{scale(t):.1f}" x2="{scale(t):.1f}" y1="4" y2="{y:.1f}"/>'
        + _text(scale(t), y + 16, f"{t:g}", "middle")
        for t in scale.ticks
    )
    middle = sum(ends) / 2
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


def _text(x: float, y: float, text: str, anchor: str) -> str:
    shown = text if len(text) <= LABEL else f"{text[: LABEL // 3]}…{text[1 - 2 * LABEL // 3 :]}"
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_safe(shown)}'
        f"<title>{_safe(text)}</title></text>"
    )


def _svg(parts: Sequence[str], height: float, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{_safe(title)}">'
        + "".join(parts)
        + "</svg>"
    )


def _safe(text: str) -> str:
    return escape(" ".join(safe_text(text).split()))
