"""Flag, Int and AIS rates of systems; tests between them; agreement and speed of annotators.

Flag is over all outputs, Int over those that are not flagged, AIS over those that are interpretable; Int
& AIS, over those that are not flagged, is what a reader gets.

The paper stars a rate that is significantly below the best of its column (p < 0.01). A two-sided z-test
of two proportions gives its stars; so do Fisher's, χ² and Welch's. They take systems as independent.
McNemar's exact test compares systems, or task designs, output by output; `experts` compares designs by
how often they are right.

Agreement is computed from single ratings, or from released files, which only tell how many of five
annotators said what the majority did: rows whose count is not 3 to 5 are left out.

Source: Rashkin et al., "Measuring Attribution in Natural Language Generation Models" (Computational
Linguistics 49, 2023), tables 3, 4 and 7.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, Any, Literal, get_args

from semqa.attribution.ais.released import drop_doubles
from semqa.errors import InputError
from semqa.metrics.agreement import (
    ConsensusFit,
    consensus_fit,
    krippendorff_alpha,
    pairwise_agreement,
    unanimity,
)
from semqa.metrics.statistics import (
    McNemar,
    adjust,
    bootstrap_interval,
    compare_rates,
    mcnemar,
    wilson_interval,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.attribution.ais.ratings import RatedUnit, Rating, Verdict
    from semqa.metrics.statistics import Alternative, Correction, Statistic


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
    """A proportion."""

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
            resamples: bootstrap resamples.
            seed: random seed.
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
    """Return a verdict's answer in a measure; None if the measure does not apply."""
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


SystemTest = Literal["z", "fisher", "chi2", "welch", "mcnemar"]

SAME = 0.9
"""Share of the smaller system's examples that both must have to count as rated on the same."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One system's rate against another's.

    Attributes:
        measure: what was compared.
        system: the system.
        other: the best system of the measure, or the baseline.
        difference: system minus other, in points; None if a rate rests on nothing.
        p: of the test, before correction; None if `unscored` says why.
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
        raise InputError(f"must be between 0 and 1, got {level}.", field="level", value=level)
    if test == "mcnemar" and alternative != "two-sided":
        raise InputError(
            "must be two-sided with McNemar's test.", field="alternative", value=alternative
        )
    rates = {each.system: each for each in system_rates(verdicts)}
    if baseline is not None and baseline not in rates:
        raise InputError(
            f"must be one of {', '.join(rates)}, got {baseline!r}.",
            field="baseline",
            value=baseline,
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


@dataclass(frozen=True, slots=True)
class DesignComparison:
    """Two designs on the outputs that were rated under both.

    Attributes:
        task: the task.
        measure: what is compared; ``ais`` only where both find the output interpretable.
        first: a design.
        second: the other.
        pairs: the outputs, and the test.
    """

    task: str
    measure: Measure
    first: str
    second: str
    pairs: McNemar

    def to_dict(self) -> dict[str, Any]:
        """Return task, measure, the two designs and the test, ready for JSON."""
        return {
            "task": self.task,
            "measure": self.measure,
            "first": self.first,
            "second": self.second,
            **self.pairs.to_dict(),
        }


def compare_designs(verdicts: Iterable[Verdict]) -> list[DesignComparison]:
    """Compare each two designs of each task, in every measure.

    Args:
        verdicts: of any tasks and designs; one per output and design.
    """
    tasks: dict[str, dict[str, dict[tuple[str, str], Verdict]]] = {}
    for verdict in verdicts:
        designs = tasks.setdefault(verdict.task, {})
        designs.setdefault(verdict.design, {})[verdict.item, verdict.system] = verdict
    found = []
    for task, designs in tasks.items():
        for first, second in combinations(designs, 2):
            for measure in MEASURES:
                pairs = [
                    (a, b)
                    for key, verdict in designs[first].items()
                    if key in designs[second]
                    and (a := judged(verdict, measure)) is not None
                    and (b := judged(designs[second][key], measure)) is not None
                ]
                test = mcnemar([a for a, _ in pairs], [b for _, b in pairs])
                found.append(DesignComparison(task, measure, first, second, test))
    return found


Question = Literal["flag", "int", "ais"]

ANNOTATORS = 5
"""Annotators an output in the released files."""

_MAJORITIES = (3, 4, 5)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How annotators agree on one question.

    Attributes:
        question: ``flag``, ``int``, or ``ais`` of what the consensus finds interpretable.
        items: outputs that enter.
        dropped: outputs left out.
        alpha: Krippendorff's, nominal.
        pairs: pairwise agreement.
        fit: single answers against the consensus.
        unanimous: share of outputs that all agree on.
        levels: Krippendorff's alpha, ordinal, of the levels; None if the design has none.
    """

    question: Question
    items: int
    dropped: int
    alpha: Statistic
    pairs: Statistic
    fit: ConsensusFit
    unanimous: Statistic
    levels: Statistic | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, each as `Statistic.to_dict` gives it."""
        row = {
            "question": self.question,
            "items": self.items,
            "dropped": self.dropped,
            "krippendorff_alpha": self.alpha.to_dict(),
            "pairwise_agreement": self.pairs.to_dict(),
            "f1_yes": self.fit.f1[True].to_dict() if True in self.fit.f1 else None,
            "f1_no": self.fit.f1[False].to_dict() if False in self.fit.f1 else None,
            "f1_macro": self.fit.macro.to_dict(),
            "accuracy": self.fit.accuracy.to_dict(),
            "unanimous": self.unanimous.to_dict(),
        }
        if self.levels is not None:
            row["krippendorff_alpha_levels"] = self.levels.to_dict()
        return row


def agreement_of_ratings(units: Sequence[RatedUnit]) -> list[Agreement]:
    """Return the agreement on each question, from single ratings.

    Outputs that fewer than two annotators answered the question for are left out, and so are ties,
    for want of a consensus. A question that the design does not ask has no agreement.
    """
    asked: dict[Question, list[tuple[list[bool], bool | None]]] = {"flag": [], "int": [], "ais": []}
    both = any(unit.ratings[0].interpretability_asked for unit in units)
    if not both:
        del asked["int"]
    for unit in units:
        verdict = unit.verdict
        asked["flag"].append(([r.flagged for r in unit.ratings], verdict.flagged))
        if not verdict.flagged and both:
            said = [r.interpretable for r in unit.ratings if r.interpretable is not None]
            asked["int"].append((said, None if "int" in unit.tied else verdict.interpretable))
        if verdict.interpretable or not (both or verdict.flagged):
            said = [r.attributable for r in unit.ratings if r.attributable is not None]
            asked["ais"].append((said, None if "ais" in unit.tied else verdict.attributable))
    found = [_agreement(question, cases) for question, cases in asked.items()]
    return [replace(each, levels=_level_alpha(units, each.question)) for each in found]


def _level_alpha(units: Sequence[RatedUnit], question: Question) -> Statistic | None:
    if question == "flag":
        return None
    name = "interpretable_level" if question == "int" else "attributable_level"
    given = [[n for r in unit.ratings if (n := getattr(r, name)) is not None] for unit in units]
    return krippendorff_alpha(given, level="ordinal") if any(given) else None


def agreement_of_counts(verdicts: Iterable[Verdict]) -> list[Agreement]:
    """Return the agreement on ``int`` and ``ais``, from how many of five are of the majority."""
    asked: dict[Question, list[tuple[list[bool], bool | None]]] = {"int": [], "ais": []}
    for each in verdicts:
        if each.interpretable is not None:
            said = _said(each.interpretable, each.agree_int)
            asked["int"].append((said, each.interpretable))
        if each.attributable is not None:
            asked["ais"].append((_said(each.attributable, each.agree_ais), each.attributable))
    return [_agreement(question, cases) for question, cases in asked.items()]


def _said(majority: bool, agree: int | None) -> list[bool]:
    if agree not in _MAJORITIES:
        return []
    return [majority] * agree + [not majority] * (ANNOTATORS - agree)


def _agreement(question: Question, cases: Sequence[tuple[list[bool], bool | None]]) -> Agreement:
    kept = [(said, truth) for said, truth in cases if len(said) > 1]
    units = [said for said, _ in kept]
    return Agreement(
        question,
        len(kept),
        len(cases) - len(kept),
        krippendorff_alpha(units),
        pairwise_agreement(units),
        consensus_fit(units, [truth for _, truth in kept]),
        unanimity(units),
    )


Grouping = Literal["task", "design", "annotator", "system"]


@dataclass(frozen=True, slots=True)
class Times:
    """Completion times of a group of ratings.

    Attributes:
        group: what they have in common, by name.
        n: ratings with a time.
        untimed: ratings without one.
        median: seconds; None without any time.
        mean: seconds; None without any time.
        sd: standard deviation of the sample, in seconds; None of fewer than two times.
        total: seconds of all together.
    """

    group: dict[str, str]
    n: int
    untimed: int
    median: float | None
    mean: float | None
    sd: float | None
    total: float

    def to_dict(self) -> dict[str, Any]:
        """Return the group's names and the figures, ready for JSON."""
        return {
            **self.group,
            "n": self.n,
            "untimed": self.untimed,
            "median_seconds": self.median,
            "mean_seconds": self.mean,
            "sd_seconds": self.sd,
            "total_seconds": self.total,
        }


def completion_times(
    ratings: Iterable[Rating], by: Sequence[Grouping] = ("task", "design")
) -> list[Times]:
    """Return the times of each group, in order of appearance.

    Annotators pause, and a few long breaks raise the mean: read the median first.

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
                stdev(seconds) if len(seconds) > 1 else None,
                sum(seconds),
            )
        )
    return found
