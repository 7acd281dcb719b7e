"""Summarise and print timings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copying.contestants import Clock


def percentiles(times: Sequence[int], unit: float) -> dict[str, float]:
    """Return mean, p50, p90, p99 and max; `unit` is in nanoseconds."""
    values = np.array(times) / unit
    p50, p90, p99 = np.percentile(values, [50, 90, 99]).tolist()
    figures = {"mean": values.mean(), "p50": p50, "p90": p90, "p99": p99, "max": values.max()}
    return {name: float(f"{value:.4g}") for name, value in figures.items()}


def clock_table(clock: Clock, rounds: int = 1) -> dict[str, dict[str, float]]:
    """Return the timings of one implementation.

    All rounds make the same calls in the same order. Medians per call are less affected by other
    load on the machine than figures over all calls; on an idle machine the two agree.
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
    """Print the timings of all implementations."""
    print(f"{'':12}{'':17}{'mean':>10}{'p50':>10}{'p90':>10}{'p99':>10}{'max':>10}")
    for name, table in tables.items():
        for measure, figures in table.items():
            print(
                f"{name:12}{measure:17}" + "".join(f"{value:10.4g}" for value in figures.values())
            )


def ratios(
    theirs: dict[str, dict[str, float]], ours: dict[str, dict[str, float]]
) -> dict[str, float]:
    """Return how many times faster ours is."""
    measures = [("mask us", "mean"), ("mask us", "p99"), ("build ms", "mean")]
    found = {f"{m[:5].strip()} {f}": theirs[m][f] / ours[m][f] for m, f in measures}
    if "mask us, median" in ours:
        for figure in ("mean", "p99"):
            quotient = theirs["mask us, median"][figure] / ours["mask us, median"][figure]
            found[f"mask {figure} of medians"] = quotient
    return {name: round(value, 1) for name, value in found.items()}
