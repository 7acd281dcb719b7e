"""Flag, Int and AIS rates of systems, significance tests, and annotators' agreement and speed.

Flag is the rate over all outputs, Int over outputs that are not flagged, and AIS over interpretable
outputs. Int & AIS, over outputs that are not flagged, is the rate that readers experience.

The paper stars rates that are significantly below the best rate of their column (p < 0.01). A
two-sided z-test of two independent proportions reproduces its stars. McNemar's exact test compares
systems, or task designs, on the same outputs; `report` compares designs by correctness.

Agreement is computed from single ratings, or from released files, which only state how many of five
annotators agree with the majority. Rows with a count outside 3 to 5 are left out.

Source: Rashkin et al., "Measuring Attribution in Natural Language Generation Models" (Computational
Linguistics 49, 2023), tables 3, 4 and 7.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from semqa.attribution.ais.released import drop_duplicates
from semqa.errors import InputError
from semqa.metrics.agreement import (
    ConsensusFit,
    consensus_fit,
    krippendorff_alpha,
    pairwise_agreement,
    unanimity,
)
from semqa.metrics.statistics import McNemar, compare_rates, holm, mcnemar, wilson_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from semqa.attribution.ais.ratings import RatedUnit, Rating, Verdict
    from semqa.metrics.statistics import Statistic


_Key = TypeVar("_Key")
Measure = Literal["flag", "int", "ais", "int_and_ais"]
MEASURES: tuple[Measure, ...] = get_args(Measure)

UNDEFINED = {
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
        """0 to 100; None if n is 0."""
        return 100 * self.count / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's 95% interval in percent; None if n is 0."""
        ends = wilson_interval(self.count, self.n) if self.n else None
        return ends and (100 * ends[0], 100 * ends[1])

    def to_dict(self) -> dict[str, Any]:
        """Return count, n, percent and interval."""
        return asdict(self) | {"percent": self.percent, "interval": self.interval}


@dataclass(frozen=True, slots=True)
class SystemRates:
    """The rates of one system in one task, by measure; `n` is the number of outputs."""

    system: str
    n: int
    rates: dict[Measure, Rate]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready object; a rate has an interval, or the reason it is unscored."""
        row: dict[str, Any] = {"system": self.system, "n": self.n}
        for measure, rate in self.rates.items():
            row[measure] = rate.to_dict()
            if not rate.n:
                del row[measure]["interval"]
                row[measure]["unscored"] = UNDEFINED[measure]
        return row


def verdict_value(verdict: Verdict, measure: Measure) -> bool | None:
    """Return a verdict's value for a measure; None if the measure does not apply."""
    if measure == "flag":
        return verdict.flagged
    if measure == "int":
        return verdict.interpretable
    if measure == "ais":
        return verdict.attributable
    return None if verdict.interpretable is None else bool(verdict.attributable)


def system_rates(verdicts: Iterable[Verdict]) -> list[SystemRates]:
    """Return the rates of each system, in order of appearance; duplicates count each time."""
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[verdict.system].append(verdict)
    found = []
    for system, group in groups.items():
        rates = {}
        for measure in MEASURES:
            answers = [a for each in group if (a := verdict_value(each, measure)) is not None]
            rates[measure] = Rate(sum(answers), len(answers))
        found.append(SystemRates(system, len(group), rates))
    return found


SystemTest = Literal["z", "mcnemar"]

LEVEL = 0.01
"""The paper's level of significance."""

MIN_SHARED = 0.9
"""Minimum share of the smaller system's examples that both must have for a paired test."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of a system with the best one, or with the baseline.

    Attributes:
        difference: system minus other, in percentage points; None if a rate is undefined.
        p: p-value of the test before correction; if None, `unscored` is the reason.
        adjusted: p-value after correction for all comparisons of this measure.
        pairs: McNemar's test on the examples of both systems.
    """

    measure: Measure
    system: str
    other: str
    difference: float | None
    p: float | None
    adjusted: float | None = None
    significant: bool = False
    pairs: McNemar | None = None
    unscored: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready object without empty optional fields."""
        row = asdict(self) | {"pairs": None if self.pairs is None else self.pairs.to_dict()}
        optional = ("pairs", "unscored")
        return {name: v for name, v in row.items() if v is not None or name not in optional}


def compare_systems(
    verdicts: Sequence[Verdict],
    measure: Measure,
    *,
    baseline: str | None = None,
    test: SystemTest = "z",
    correct: bool = False,
) -> list[Comparison]:
    """Compare each system with the best one, or with the baseline, in order of appearance.

    Args:
        verdicts: the verdicts of one task and design.
        measure: the rate; for ``flag``, the lowest is best.
        baseline: name of a system; None for the best one, or the first of several best ones.
        test: ``z`` for independent rates, or ``mcnemar`` on the examples of both systems.
        correct: whether to correct for multiple comparisons, with Holm's method.
    """
    rates = {each.system: each for each in system_rates(verdicts)}
    if baseline is not None and baseline not in rates:
        rule = f"must be one of {', '.join(rates)}, got {baseline!r}."
        raise InputError(rule, field="baseline", value=baseline)
    other = rates[baseline] if baseline is not None else _best(list(rates.values()), measure)
    if other is None:
        return []
    found = []
    for name, each in rates.items():
        if name == other.system:
            continue
        a, b = each.rates[measure], other.rates[measure]
        gap = None if a.percent is None or b.percent is None else a.percent - b.percent
        pairs = None
        if test == "mcnemar":
            pairs = compare_paired(verdicts, name, other.system, measure)
            unscored = pairs.unscored or _not_comparable(pairs, min(a.n, b.n))
            p = pairs.p if unscored is None else None
        else:
            tested = compare_rates((a.count, a.n), (b.count, b.n))
            p, unscored = tested.value, tested.unscored
        found.append(
            Comparison(measure, name, other.system, gap, p, pairs=pairs, unscored=unscored)
        )
    ps = [each.p for each in found if each.p is not None]
    adjusted = iter(holm(ps) if correct else ps)
    return [
        each
        if each.p is None
        else replace(each, adjusted=(p := next(adjusted)), significant=p < LEVEL)
        for each in found
    ]


def compare_paired(
    verdicts: Sequence[Verdict], first: str, second: str, measure: Measure
) -> McNemar:
    """Compare two systems on the items where both have a value; duplicates count once."""
    own: dict[str, dict[str, Verdict]] = {first: {}, second: {}}
    for verdict in drop_duplicates(verdicts):
        if verdict.system in own:
            own[verdict.system][verdict.item] = verdict
    return _mcnemar(own[first], own[second], measure)


def _best(rates: Sequence[SystemRates], measure: Measure) -> SystemRates | None:
    sign = -1 if measure == "flag" else 1
    scored = [each for each in rates if each.rates[measure].n]
    return max(scored, key=lambda each: sign * (each.rates[measure].percent or 0.0), default=None)


def _not_comparable(pairs: McNemar, smaller: int) -> str | None:
    if pairs.n >= MIN_SHARED * smaller:
        return None
    return (
        f"rated on different examples: only {pairs.n} of {smaller} are the same; use a test for "
        "independent rates"
    )


@dataclass(frozen=True, slots=True)
class DesignComparison:
    """Two designs on the outputs rated in both; for ``ais``, those interpretable in both."""

    task: str
    measure: Measure
    first: str
    second: str
    pairs: McNemar

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready object with the fields of the test."""
        row = asdict(self)
        return {k: v for k, v in row.items() if k != "pairs"} | self.pairs.to_dict()


def compare_designs(verdicts: Iterable[Verdict]) -> list[DesignComparison]:
    """Compare each pair of designs of a task in every measure; each output has one verdict."""
    tasks: dict[str, dict[str, dict[tuple[str, str], Verdict]]] = {}
    for verdict in verdicts:
        designs = tasks.setdefault(verdict.task, {})
        designs.setdefault(verdict.design, {})[verdict.item, verdict.system] = verdict
    return [
        DesignComparison(
            task, measure, first, second, _mcnemar(designs[first], designs[second], measure)
        )
        for task, designs in tasks.items()
        for first, second in combinations(designs, 2)
        for measure in MEASURES
    ]


def _mcnemar(
    first: Mapping[_Key, Verdict], second: Mapping[_Key, Verdict], measure: Measure
) -> McNemar:
    """Compare two sets of verdicts on the outputs where both have a value."""
    pairs = [
        (a, b)
        for key, verdict in first.items()
        if key in second
        and (a := verdict_value(verdict, measure)) is not None
        and (b := verdict_value(second[key], measure)) is not None
    ]
    return mcnemar([a for a, _ in pairs], [b for _, b in pairs])


Question = Literal["flag", "int", "ais"]

ANNOTATORS = 5
"""Annotators per output in the released files."""

_MAJORITIES = (3, 4, 5)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of annotators on one question; `dropped` outputs have fewer than two answers.

    Attributes:
        alpha: nominal Krippendorff's alpha.
        fit: single answers compared with the consensus.
        unanimous: share of outputs with unanimous answers.
        levels: ordinal Krippendorff's alpha of the levels; None if the design has no levels.
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
        """Return a JSON-ready object."""
        found = {
            "krippendorff_alpha": self.alpha,
            "pairwise_agreement": self.pairs,
            "f1_yes": self.fit.f1.get(True),
            "f1_no": self.fit.f1.get(False),
            "f1_macro": self.fit.macro,
            "accuracy": self.fit.accuracy,
            "unanimous": self.unanimous,
            **({} if self.levels is None else {"krippendorff_alpha_levels": self.levels}),
        }
        row = {"question": self.question, "items": self.items, "dropped": self.dropped}
        return row | {name: each and each.to_dict() for name, each in found.items()}


def agreement_of_ratings(units: Sequence[RatedUnit]) -> list[Agreement]:
    """Compute the agreement on each question from single ratings.

    Outputs with fewer than two answers are left out. Ties have no consensus and are left out of
    `Agreement.fit`. Questions that the design does not ask are omitted.
    """
    asked: dict[Question, list[tuple[list[bool], bool | None]]] = {"flag": [], "int": [], "ais": []}
    both = any(unit.ratings[0].interpretability_asked for unit in units)
    if not both:
        del asked["int"]
    for unit in units:
        verdict = unit.verdict
        asked["flag"].append(([r.flagged for r in unit.ratings], verdict.flagged))
        if not verdict.flagged and both:
            given = [r.interpretable for r in unit.ratings if r.interpretable is not None]
            asked["int"].append((given, None if "int" in unit.tied else verdict.interpretable))
        if verdict.interpretable or not (both or verdict.flagged):
            given = [r.attributable for r in unit.ratings if r.attributable is not None]
            asked["ais"].append((given, None if "ais" in unit.tied else verdict.attributable))
    found = [_agreement(question, cases) for question, cases in asked.items()]
    return [replace(each, levels=_level_alpha(units, each.question)) for each in found]


def _level_alpha(units: Sequence[RatedUnit], question: Question) -> Statistic | None:
    if question == "flag":
        return None
    name = "interpretable_level" if question == "int" else "attributable_level"
    given = [[n for r in unit.ratings if (n := getattr(r, name)) is not None] for unit in units]
    return krippendorff_alpha(given, level="ordinal") if any(given) else None


def agreement_of_counts(verdicts: Iterable[Verdict]) -> list[Agreement]:
    """Compute the agreement on ``int`` and ``ais`` from the size of the majority of five."""
    asked: dict[Question, list[tuple[list[bool], bool | None]]] = {"int": [], "ais": []}
    for each in verdicts:
        if each.interpretable is not None:
            given = _answers_of(each.interpretable, each.agree_int)
            asked["int"].append((given, each.interpretable))
        if each.attributable is not None:
            asked["ais"].append((_answers_of(each.attributable, each.agree_ais), each.attributable))
    return [_agreement(question, cases) for question, cases in asked.items()]


def _answers_of(majority: bool, agree: int | None) -> list[bool]:
    if agree not in _MAJORITIES:
        return []
    return [majority] * agree + [not majority] * (ANNOTATORS - agree)


def _agreement(question: Question, cases: Sequence[tuple[list[bool], bool | None]]) -> Agreement:
    kept = [(given, truth) for given, truth in cases if len(given) > 1]
    units = [given for given, _ in kept]
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
    """Completion times of a group of ratings, in seconds; `n` ratings have a time.

    `group` has the values that define the group, by name; `sd` is the sample standard deviation.
    """

    group: dict[str, str]
    n: int
    untimed: int
    median: float | None
    mean: float | None
    sd: float | None
    total: float

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready object."""
        figures = ("median", "mean", "sd", "total")
        seconds = {f"{name}_seconds": getattr(self, name) for name in figures}
        return {**self.group, "n": self.n, "untimed": self.untimed, **seconds}


def completion_times(
    ratings: Iterable[Rating], by: Sequence[Grouping] = ("task", "design")
) -> list[Times]:
    """Return the completion times of each group of ratings, in order of appearance.

    Prefer the median: a few long breaks of annotators raise the mean.
    """
    groups: dict[tuple[str, ...], list[float | None]] = defaultdict(list)
    for rating in ratings:
        groups[tuple(getattr(rating, name) for name in by)].append(rating.seconds)
    found = []
    for key, all_seconds in groups.items():
        seconds = [each for each in all_seconds if each is not None]
        n = len(seconds)
        middle, mean = (median(seconds), fmean(seconds)) if n else (None, None)
        sd = stdev(seconds) if n > 1 else None
        group = {str(name): value for name, value in zip(by, key, strict=True)}
        found.append(Times(group, n, len(all_seconds) - n, middle, mean, sd, sum(seconds)))
    return found
