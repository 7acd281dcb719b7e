"""Precision and recall as a picture."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from semqa.attribution.q2.names import shown_name
from semqa.data.files import write_atomic
from semqa.errors import InputError
from semqa.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from semqa.attribution.q2.meta import Level
    from semqa.metrics.agreement import PrecisionRecall

__all__ = ["FORMATS", "plot_levels"]

FORMATS = ("svg", "png", "pdf")


def plot_levels(levels: Sequence[Level], path: Path) -> None:
    """Write a picture with four panels: two curves, and precision and recall by threshold.

    Left, detecting inconsistent responses by low scores; right, consistent ones by high scores. The
    same figures give the same bytes.

    Args:
        levels: one measure each.
        path: its ending says the format, one of `FORMATS`.

    Raises:
        InputError: there is nothing to draw, the format is unknown, or the file cannot be written.
        MissingExtraError: matplotlib is not installed.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise InputError(
            f"--plot: got {path.name!r}, expected a name that ends in .{', .'.join(FORMATS)}; "
            "rename it"
        )
    if not levels:
        raise InputError(
            "--plot: nothing to draw: got no response with a label and a score, expected some; "
            "give files of labelled responses"
        )
    figures = require("matplotlib.figure", extra="eval", purpose="--plot")
    settings = require("matplotlib", extra="eval", purpose="--plot")
    stream = io.BytesIO()
    with settings.rc_context({"svg.hashsalt": "semqa", "svg.fonttype": "path"}):
        figure = figures.Figure(figsize=(11, 8), layout="constrained")
        panels = figure.subplots(2, 2)
        for column, what in enumerate(("inconsistent", "consistent")):
            _curves(panels[0][column], levels, what)
            _by_threshold(panels[1][column], levels, what)
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
        figure.savefig(stream, format=kind, dpi=150, metadata=metadata)
    write_atomic(path, [stream.getvalue()])


def _curve(level: Level, what: str) -> PrecisionRecall | None:
    curve: PrecisionRecall | None = getattr(level, what)
    return curve


def _curves(axes: Any, levels: Sequence[Level], what: str) -> None:
    for level in levels:
        if (curve := _curve(level, what)) is not None:
            axes.step(curve.recall, curve.precision, where="post", label=shown_name(level.measure))
    axes.set(
        title=f"Detecting {what} responses",
        xlabel="recall",
        ylabel="precision",
        xlim=(0, 1.01),
        ylim=(0, 1.01),
    )
    axes.grid(visible=True, alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="lower left")


def _by_threshold(axes: Any, levels: Sequence[Level], what: str) -> None:
    """Draw steps: between two scores no decision changes."""
    low = what == "inconsistent"
    for place, level in enumerate(levels):
        if (curve := _curve(level, what)) is None:
            continue
        at = 1 - curve.thresholds if low else curve.thresholds
        for values, style in ((curve.precision, "-"), (curve.recall, "--")):
            # In rising order: at or below a threshold, what lies between it and the next one up
            # is decided as at it; at or above, as at the next one.
            points = (at[::-1], values[-2::-1]) if low else (at, values[:-1])
            side = "post" if low else "pre"
            axes.step(*points, where=side, color=f"C{place % 10}", linestyle=style)
    rule = "score at most" if low else "score at least"
    axes.set(
        title="precision (solid) and recall (dashed)",
        xlabel=f"threshold: {rule}",
        xlim=(-0.01, 1.01),
        ylim=(0, 1.01),
    )
    axes.grid(visible=True, alpha=0.3)
