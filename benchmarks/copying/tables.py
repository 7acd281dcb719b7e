"""Figures from clocks, and how they are printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copying.contestants import Clock


def percentiles(times: Sequence[int], unit: float) -> dict[str, float]:
    """Return mean, p50, p90, p99 and max, in a unit of nanoseconds."""
    values = np.array(times) / unit
    p50, p90, p99 = np.percentile(values, [50, 90, 99]).tolist()
    figures = {"mean": values.mean(), "p50": p50, "p90": p90, "p99": p99, "max": values.max()}
    return {name: float(f"{value:.4g}") for name, value in figures.items()}


def clock_table(clock: Clock, rounds: int = 1) -> dict[str, dict[str, float]]:
    """Return the figures of one contestant.

    Rounds make the same calls in the same order. The medians by call are less disturbed by what
    else the machine does than the figures of all calls; on a quiet one they are alike.
    """
    table = {
        "build ms": percentiles(clock.build, 1e6),
        "mask us": percentiles(clock.mask, 1e3),
        "advance us": percentiles(clock.advance, 1e3),
    }
    if rounds > 1:
        medians = np.median(np.array(clock.mask).reshape(rounds, -1), axis=0)
        table["mask us, median"] = percentiles(medians.tolist(), 1e3)
    return table


def print_clocks(tables: dict[str, dict[str, dict[str, float]]]) -> None:
    """Print the figures of all contestants."""
    print(f"{'':12}{'':17}{'mean':>10}{'p50':>10}{'p90':>10}{'p99':>10}{'max':>10}")
    for name, table in tables.items():
        for what, figures in table.items():
            print(f"{name:12}{what:17}" + "".join(f"{value:10.4g}" for value in figures.values()))


def ratios(
    theirs: dict[str, dict[str, float]], ours: dict[str, dict[str, float]]
) -> dict[str, float]:
    """Return how many times faster ours is."""
    asked = [("mask us", "mean"), ("mask us", "p99"), ("build ms", "mean")]
    found = {f"{w[:5].strip()} {f}": theirs[w][f] / ours[w][f] for w, f in asked}
    if "mask us, median" in ours:
        for figure in ("mean", "p99"):
            quotient = theirs["mask us, median"][figure] / ours["mask us, median"][figure]
            found[f"mask {figure} of medians"] = quotient
    return {name: round(value, 1) for name, value in found.items()}
