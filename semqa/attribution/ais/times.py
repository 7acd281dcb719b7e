"""How long annotators take."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.attribution.ais.rating import Rating

__all__ = ["Grouping", "Times", "completion_times"]

Grouping = Literal["task", "design", "annotator", "system"]


@dataclass(frozen=True, slots=True)
class Times:
    """Completion times of a group of ratings.

    Attributes:
        group: what they have in common, by name.
        n: ratings with a time.
        untimed: ratings without one.
        median: seconds; None without any time.
        mean: seconds; likewise.
        total: seconds of all together.
    """

    group: dict[str, str]
    n: int
    untimed: int
    median: float | None
    mean: float | None
    total: float

    def to_dict(self) -> dict[str, Any]:
        """Return the group's names and the figures, ready for JSON."""
        return {
            **self.group,
            "n": self.n,
            "untimed": self.untimed,
            "median_seconds": self.median,
            "mean_seconds": self.mean,
            "total_seconds": self.total,
        }


def completion_times(
    ratings: Iterable[Rating], by: Sequence[Grouping] = ("task", "design")
) -> list[Times]:
    """Return the times of each group, in order of appearance.

    Annotators pause, so that means are drawn out by a few long breaks: read the median first.

    Args:
        ratings: with or without times.
        by: what ratings of one group have in common; nothing for one group of all.
    """
    groups: dict[tuple[str, ...], list[float | None]] = defaultdict(list)
    for rating in ratings:
        groups[tuple(getattr(rating, name) for name in by)].append(rating.seconds)
    found = []
    for key, all_seconds in groups.items():
        seconds = [each for each in all_seconds if each is not None]
        found.append(
            Times(
                dict(zip(by, key, strict=True)),
                len(seconds),
                len(all_seconds) - len(seconds),
                median(seconds) if seconds else None,
                fmean(seconds) if seconds else None,
                sum(seconds),
            )
        )
    return found
