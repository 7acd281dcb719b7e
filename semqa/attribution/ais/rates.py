"""Flag, Int and AIS rates of systems.

Flag is over all outputs, Int over those that are not flagged, AIS over those that are
interpretable; Int & AIS, over those that are not flagged, is what a reader gets.

Source: Rashkin et al., "Measuring Attribution in Natural Language Generation Models"
(Computational Linguistics 49, 2023), tables 3 and 4.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from semqa.metrics.statistics import bootstrap_interval, wilson_interval

if TYPE_CHECKING:
    from collections.abc import Iterable

    from semqa.attribution.ais.verdict import Verdict

__all__ = ["MEASURES", "IntervalKind", "Measure", "Rate", "SystemRates", "judged", "system_rates"]

Measure = Literal["flag", "int", "ais", "int_and_ais"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

IntervalKind = Literal["wilson", "bootstrap"]

NOTHING = {
    "flag": "no outputs",
    "int": "every output is flagged",
    "ais": "no output is interpretable",
    "int_and_ais": "every output is flagged",
}


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of how many."""

    count: int
    n: int

    @property
    def percent(self) -> float | None:
        """0 to 100; None of nothing."""
        return 100 * self.count / self.n if self.n else None

    def interval(
        self,
        kind: IntervalKind = "wilson",
        *,
        confidence: float = 0.95,
        resamples: int = 10_000,
        seed: int = 0,
    ) -> tuple[float, float] | None:
        """Return (low, high) in percent; None of nothing.

        Args:
            kind: Wilson's score interval, or percentiles of resamples of the n.
            confidence: mass of the interval, in (0, 1).
            resamples: of the bootstrap.
            seed: of the bootstrap.
        """
        if not self.n:
            return None
        if kind == "wilson":
            low, high = wilson_interval(self.count, self.n, confidence=confidence)
        else:
            low, high = bootstrap_interval(
                self.count, self.n, confidence=confidence, resamples=resamples, seed=seed
            )
        return 100 * low, 100 * high


@dataclass(frozen=True, slots=True)
class SystemRates:
    """The rates of one system in one task.

    Attributes:
        system: its name.
        n: outputs.
        rates: by measure.
    """

    system: str
    n: int
    rates: dict[Measure, Rate]

    def to_dict(self, kind: IntervalKind = "wilson", **settings: Any) -> dict[str, Any]:
        """Return system, n and each measure: count, n, percent, interval, or why unscored."""
        row: dict[str, Any] = {"system": self.system, "n": self.n}
        for measure, rate in self.rates.items():
            interval = rate.interval(kind, **settings)
            cell = {"count": rate.count, "n": rate.n, "percent": rate.percent}
            row[measure] = cell | (
                {"unscored": NOTHING[measure]} if interval is None else {"interval": list(interval)}
            )
        return row


def judged(verdict: Verdict, measure: Measure) -> bool | None:
    """Return what a verdict says in a measure; None where it stands outside of the measure."""
    if measure == "flag":
        return verdict.flagged
    if measure == "int":
        return verdict.interpretable
    if measure == "ais":
        return verdict.attributable
    if verdict.interpretable is None or (verdict.interpretable and verdict.attributable is None):
        return None
    return bool(verdict.attributable)


def system_rates(verdicts: Iterable[Verdict]) -> list[SystemRates]:
    """Return the rates of each system, systems in order of appearance.

    Args:
        verdicts: of one task and design; every one counts, doubles included.
    """
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[verdict.system].append(verdict)
    found = []
    for system, group in groups.items():
        rates = {}
        for measure in MEASURES:
            answers = [a for each in group if (a := judged(each, measure)) is not None]
            rates[measure] = Rate(sum(answers), len(answers))
        found.append(SystemRates(system, len(group), rates))
    return found
