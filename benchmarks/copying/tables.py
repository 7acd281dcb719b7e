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


def print_row(*heads: str, row: dict[str, float | str]) -> None:
    """Print one text of one contestant."""
    columns = ("build_ms", "mask_p50_us", "mask_p99_us", "mask_max_us", "advance_p99_us", "kept_mb",
               "peak_mb")  # fmt: skip
    cells = "".join(f"{row[name]:>11.4g}" if name in row else f"{'-':>11}" for name in columns)
    note = " ".join(
        f"{name} {row[name]}" for name in ("refused", "stopped", "accepted") if name in row
    )
    print("".join(f"{head:16}" for head in heads) + cells + ("  " + note[:90] if note else ""))


def print_head(*heads: str) -> None:
    """Print the head of a table of texts."""
    columns = ("build ms", "mask p50", "p99", "max us", "adv. p99", "kept MB", "peak MB")
    print("".join(f"{head:16}" for head in heads) + "".join(f"{name:>11}" for name in columns))
