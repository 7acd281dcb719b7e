"""Whether systems differ from the best one, or from one that is named.

The paper stars a rate that is significantly below the best of its column (p < 0.01). A two-sided
z-test of two proportions gives its stars; so do Fisher's, χ² and Welch's. They take systems as
independent. Where systems were rated on the same examples, McNemar's test is the one to take: it
compares them example by example.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from semqa.attribution.ais.oddities import drop_doubles
from semqa.attribution.ais.rates import Measure, judged, system_rates
from semqa.errors import InputError
from semqa.metrics.statistics import McNemar, adjust, compare_rates, mcnemar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.ais.rates import SystemRates
    from semqa.attribution.ais.verdict import Verdict
    from semqa.metrics.statistics import Alternative, Correction

__all__ = ["Comparison", "SystemTest", "compare_systems", "paired"]

SystemTest = Literal["z", "fisher", "chi2", "welch", "mcnemar"]

SAME = 0.9
"""Systems were rated on the same examples where this share of the smaller's are the other's too."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One system's rate against another's.

    Attributes:
        measure: what was compared.
        system: the system.
        other: the best system of the measure, or the baseline.
        difference: system minus other, in points; None where a rate rests on nothing.
        p: of the test, before correction; None where `unscored` says why.
        adjusted: after correction for all comparisons of this measure.
        significant: whether `adjusted` is below the level.
        pairs: the same examples in both, for McNemar's test.
        unscored: why there is no p.
    """

    measure: Measure
    system: str
    other: str
    difference: float | None
    p: float | None
    adjusted: float | None
    significant: bool
    pairs: McNemar | None = None
    unscored: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are there, ready for JSON."""
        row: dict[str, Any] = {
            "measure": self.measure,
            "system": self.system,
            "other": self.other,
            "difference": self.difference,
            "p": self.p,
            "adjusted": self.adjusted,
            "significant": self.significant,
        }
        if self.pairs is not None:
            row["pairs"] = self.pairs.to_dict()
        if self.unscored is not None:
            row["unscored"] = self.unscored
        return row


def compare_systems(
    verdicts: Sequence[Verdict],
    measure: Measure,
    *,
    baseline: str | None = None,
    test: SystemTest = "z",
    alternative: Alternative = "two-sided",
    correction: Correction = "none",
    level: float = 0.01,
) -> list[Comparison]:
    """Compare each system with the best one, or with the baseline.

    Args:
        verdicts: of one task and design.
        measure: the rate; for ``flag`` the best is the lowest.
        baseline: a system's name; None for the best, the first of equals.
        test: see `RateTest`; or ``mcnemar``, exact and two-sided, on examples that both have.
        alternative: two-sided, or that the system is ``less`` (or ``greater``) than the other.
        correction: for the number of comparisons made here.
        level: a p below it is significant, in (0, 1).

    Returns:
        A comparison for each other system, in order of appearance.

    Raises:
        InputError: the baseline is no system of the task, or a setting is out of range.
    """
    if not 0 < level < 1:
        raise InputError(f"level: got {level}, expected a number between 0 and 1")
    if test == "mcnemar" and alternative != "two-sided":
        raise InputError(
            f"alternative: got {alternative!r} for McNemar's test, expected two-sided, for it has "
            "no direction here; take another test"
        )
    rates = {each.system: each for each in system_rates(verdicts)}
    if baseline is not None and baseline not in rates:
        raise InputError(
            f"unknown system: got {baseline!r} as the baseline, expected one of "
            f"{', '.join(rates)}; name one of them"
        )
    other = rates[baseline] if baseline is not None else _best(list(rates.values()), measure)
    if other is None:
        return []
    found = []
    for name, each in rates.items():
        if name == other.system:
            continue
        pairs, p, unscored = None, None, None
        if test == "mcnemar":
            pairs = paired(verdicts, name, other.system, measure)
            p, unscored = pairs.p, pairs.unscored or _not_the_same(pairs, each, other, measure)
        else:
            a, b = each.rates[measure], other.rates[measure]
            tested = compare_rates(
                (a.count, a.n), (b.count, b.n), test=test, alternative=alternative
            )
            p, unscored = tested.p, tested.unscored
        found.append((name, _difference(each, other, measure), p, pairs, unscored))
    tested_ps = [p for _, _, p, _, unscored in found if p is not None and unscored is None]
    corrected = iter(adjust(tested_ps, correction))
    comparisons = []
    for name, difference, p, pairs, unscored in found:
        adjusted = next(corrected) if p is not None and unscored is None else None
        comparisons.append(
            Comparison(
                measure,
                name,
                other.system,
                difference,
                None if adjusted is None else p,
                adjusted,
                adjusted is not None and adjusted < level,
                pairs,
                unscored,
            )
        )
    return comparisons


def paired(verdicts: Sequence[Verdict], first: str, second: str, measure: Measure) -> McNemar:
    """Compare two systems on the items that both have in a measure; doubles count once."""
    answers: dict[str, dict[str, bool]] = {first: {}, second: {}}
    for verdict in drop_doubles(verdicts):
        answer = judged(verdict, measure)
        if verdict.system in answers and answer is not None:
            answers[verdict.system][verdict.item] = answer
    shared = [item for item in answers[first] if item in answers[second]]
    return mcnemar(
        [answers[first][item] for item in shared], [answers[second][item] for item in shared]
    )


def _best(rates: Sequence[SystemRates], measure: Measure) -> SystemRates | None:
    scored = [each for each in rates if each.rates[measure].n]
    if not scored:
        return None

    def goodness(each: SystemRates) -> float:
        percent = each.rates[measure].percent or 0.0
        return -percent if measure == "flag" else percent

    return max(scored, key=goodness)


def _difference(system: SystemRates, other: SystemRates, measure: Measure) -> float | None:
    a, b = system.rates[measure].percent, other.rates[measure].percent
    return None if a is None or b is None else a - b


def _not_the_same(
    pairs: McNemar, system: SystemRates, other: SystemRates, measure: Measure
) -> str | None:
    least = min(system.rates[measure].n, other.rates[measure].n)
    if pairs.n >= SAME * least:
        return None
    return (
        f"rated on different examples: only {pairs.n} of {least} are the same; take a test for "
        "independent rates"
    )
