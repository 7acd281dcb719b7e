"""A report on released files and ratings: rates, tests, agreement, designs, times and experts.

The experts' consensus on an output is the ground truth. The consensus and the single ratings of
each design are compared with it, and pairs of designs by correctness on the same outputs, with
McNemar's exact test. ``int_and_ais`` is the final answer of every design: is the output both
interpretable and fully attributable? For the design that only asks about attribution, it is that
answer. Flagged outputs are left out.

Source: Rashkin et al. 2023, section 4 and table 7, which measure agreement with F1, pairwise
agreement and Krippendorff's alpha.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from semqa.attribution.ais.rates import (
    Rate,
    agreement_of_counts,
    agreement_of_ratings,
    compare_designs,
    compare_systems,
    completion_times,
    system_rates,
)
from semqa.attribution.ais.ratings import ATTRIBUTION_ONLY, consensus
from semqa.attribution.ais.released import data_checks, drop_duplicates
from semqa.errors import InputError
from semqa.metrics.agreement import consensus_fit, krippendorff_alpha
from semqa.metrics.bootstrap import question_mean
from semqa.metrics.statistics import Statistic, mcnemar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from semqa.attribution.ais.rates import (
        Agreement,
        Comparison,
        DesignComparison,
        Grouping,
        Measure,
        SystemRates,
        SystemTest,
        Times,
    )
    from semqa.attribution.ais.ratings import RatedUnit, Rating, Verdict
    from semqa.attribution.ais.released import ReleasedFile
    from semqa.metrics.bootstrap import Mean
    from semqa.metrics.statistics import McNemar


COMPARED: tuple[Measure, ...] = ("int", "ais", "int_and_ais")
"""The rates used to compare systems."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a report; the defaults follow the paper. See `compare_systems`.

    Attributes:
        without: systems to leave out.
        first_only: whether to use only the first row of each item and system.
        agreement: whether to compute the agreement of annotators.
        by: groups for completion times, besides the task; ``design`` also compares designs.
    """

    test: SystemTest = "z"
    correct: bool = False
    baseline: str | None = None
    without: tuple[str, ...] = ()
    first_only: bool = False
    agreement: bool = True
    by: tuple[Grouping, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskReport:
    """Results of one task in one design.

    Attributes:
        total: rates over all outputs.
        comparisons: comparisons of systems in each of `COMPARED`.
        agreement: agreement of annotators; based on counts if the origin is ``released``.
        data_checks: problems in a released file, with counts.
        ties: number of ties per question in the ratings.
    """

    task: str
    design: str
    origin: Literal["released", "ratings"]
    systems: list[SystemRates]
    total: SystemRates | None
    comparisons: list[Comparison]
    agreement: list[Agreement]
    verdicts: list[Verdict] = field(repr=False)
    data_checks: dict[str, int] = field(default_factory=dict)
    ties: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready object without the verdicts."""
        parts = {name: getattr(self, name) for name in self.__slots__ if name != "verdicts"}
        return {name: _jsonable(part) for name, part in parts.items()}


@dataclass(frozen=True, slots=True)
class Report:
    """The complete report: released files first, then ratings by task and design.

    `correctness` compares each pair of designs by their agreement with `experts`.
    """

    tasks: list[TaskReport]
    designs: list[DesignComparison]
    times: list[Times]
    experts: list[ExpertFit]
    correctness: list[CorrectnessComparison]
    settings: Settings

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready object."""
        parts = {name: _jsonable(getattr(self, name)) for name in self.__slots__}
        return parts | {"settings": asdict(self.settings)}


def _jsonable(part: Any) -> Any:
    if isinstance(part, list):
        return [each.to_dict() for each in part]
    return part.to_dict() if hasattr(part, "to_dict") else part


def report(
    files: Sequence[ReleasedFile],
    ratings: Sequence[Rating],
    settings: Settings | None = None,
    *,
    experts: Sequence[Rating] = (),
) -> Report:
    """Report on released files, each with one task, and on ratings of any tasks and designs."""
    settings = settings or Settings()
    released = [_released(file, settings) for file in files]
    kept = [rating for rating in ratings if rating.system not in settings.without]
    together = consensus(kept)
    fits, correctness = compare_with_experts(together, consensus(experts))
    units: dict[tuple[str, str], list[RatedUnit]] = {}
    for unit in together:
        units.setdefault((unit.verdict.task, unit.verdict.design), []).append(unit)
    rated = [_rated(group, settings) for group in units.values()]
    tasks = released + rated
    systems = [row.verdict.system for file in files for row in file.rows]
    _check_names(tasks, [*systems, *(each.system for each in ratings)], settings)
    tasks = [replace(each, comparisons=_comparisons(each, settings)) for each in tasks]
    verdicts = [verdict for each in rated for verdict in each.verdicts]
    return Report(
        tasks,
        compare_designs(verdicts) if "design" in settings.by else [],
        completion_times(kept, tuple(dict.fromkeys(("task", *settings.by)))) if kept else [],
        fits,
        correctness,
        settings,
    )


def _released(file: ReleasedFile, settings: Settings) -> TaskReport:
    rows = [row for row in file.rows if row.verdict.system not in settings.without]
    verdicts = [row.verdict for row in rows]
    if settings.first_only:
        verdicts = drop_duplicates(verdicts)
    task = file.rows[0].verdict.task if file.rows else ""
    return TaskReport(
        task,
        "",
        "released",
        system_rates(verdicts),
        _total(verdicts),
        [],
        agreement_of_counts(verdicts) if settings.agreement else [],
        verdicts,
        data_checks=data_checks(rows),
    )


def _rated(units: Sequence[RatedUnit], settings: Settings) -> TaskReport:
    verdicts = [unit.verdict for unit in units]
    tied = [question for unit in units for question in unit.tied]
    return TaskReport(
        units[0].verdict.task,
        units[0].verdict.design,
        "ratings",
        system_rates(verdicts),
        _total(verdicts),
        [],
        agreement_of_ratings(units) if settings.agreement else [],
        verdicts,
        ties={question: tied.count(question) for question in ("int", "ais") if question in tied},
    )


def _total(verdicts: Sequence[Verdict]) -> SystemRates | None:
    together = system_rates(replace(verdict, system="all") for verdict in verdicts)
    return together[0] if together else None


def _comparisons(task: TaskReport, settings: Settings) -> list[Comparison]:
    if settings.baseline is not None and settings.baseline not in {s.system for s in task.systems}:
        return []
    chosen: Any = {name: getattr(settings, name) for name in ("baseline", "test", "correct")}
    found = (compare_systems(task.verdicts, measure, **chosen) for measure in COMPARED)
    return [comparison for comparisons in found for comparison in comparisons]


def _check_names(tasks: Sequence[TaskReport], known: Sequence[str], settings: Settings) -> None:
    """Raise if a system named in the settings does not exist, or its rows are all left out."""
    for name in settings.without:
        if name not in known:
            raise _unknown(name, known)
    left = [rates.system for task in tasks for rates in task.systems]
    if settings.baseline is not None and settings.baseline not in left:
        raise _unknown(settings.baseline, left)


def _unknown(name: str, known: Sequence[str]) -> InputError:
    hint = f"Choose from {', '.join(dict.fromkeys(known))}." if known else None
    return InputError(f"The system {name!r} has no ratings.", value=name, hint=hint)


Judgement = Literal["int", "ais", "int_and_ais"]
JUDGEMENTS: tuple[Judgement, ...] = get_args(Judgement)

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class ExpertFit:
    """Agreement of one design with experts on one question, for outputs that both rated.

    Attributes:
        consensus: rate of outputs with the same consensus as the experts.
        single: share of single ratings that match the experts, 0 to 1, with an interval over
            outputs.
        f1: macro F1 of the consensus over yes and no.
        alpha: nominal Krippendorff's alpha of the consensus and the experts.
    """

    task: str
    design: str
    judgement: Judgement
    consensus: Rate
    single: Mean
    f1: Statistic
    alpha: Statistic

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready object."""
        return {
            "task": self.task,
            "design": self.design,
            "judgement": self.judgement,
            "consensus": self.consensus.to_dict(),
            "single": self.single._asdict(),
            "f1_macro": self.f1.to_dict(),
            "krippendorff_alpha": self.alpha.to_dict(),
        }


class CorrectnessComparison(NamedTuple):
    """Two designs, compared by the correctness of their consensus on the same outputs."""

    task: str
    judgement: Judgement
    first: str
    second: str
    pairs: McNemar

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready object."""
        return {**self._asdict(), "pairs": self.pairs.to_dict()}


def compare_with_experts(
    units: Sequence[RatedUnit], experts: Iterable[RatedUnit]
) -> tuple[list[ExpertFit], list[CorrectnessComparison]]:
    """Compare each design with experts, and the designs of a task with each other.

    The experts' own design name does not matter.
    """
    truth = {_key(unit): unit.verdict for unit in experts}
    groups: dict[str, dict[str, list[RatedUnit]]] = {}
    for unit in units:
        if _key(unit) in truth:
            designs = groups.setdefault(unit.verdict.task, {})
            designs.setdefault(unit.verdict.design, []).append(unit)
    fits, compared = [], []
    for task, designs in groups.items():
        right: dict[tuple[str, Judgement], dict[Key, bool]] = {}
        for design, group in designs.items():
            for judgement in JUDGEMENTS:
                fit, correct = _fit(task, design, judgement, group, truth)
                if correct:
                    fits.append(fit)
                    right[design, judgement] = correct
        for first, second in combinations(designs, 2):
            for judgement in JUDGEMENTS:
                one, other = right.get((first, judgement), {}), right.get((second, judgement), {})
                if shared := [key for key in one if key in other]:
                    pairs = mcnemar([one[key] for key in shared], [other[key] for key in shared])
                    compared.append(CorrectnessComparison(task, judgement, first, second, pairs))
    return fits, compared


def _fit(
    task: str,
    design: str,
    judgement: Judgement,
    group: Sequence[RatedUnit],
    truth: dict[Key, Verdict],
) -> tuple[ExpertFit, dict[Key, bool]]:
    predicted, expected = [], []
    correct: dict[Key, bool] = {}
    single: list[tuple[str, float | None]] = []
    for unit in group:
        key = _key(unit)
        expert = _answer(truth[key], judgement)
        if expert is None:
            continue
        answers = [_answer(rating, judgement) for rating in unit.ratings]
        single += [(repr(key), float(each == expert)) for each in answers if each is not None]
        if (verdict := _answer(unit.verdict, judgement)) is not None:
            predicted.append(verdict)
            expected.append(expert)
            correct[key] = verdict == expert
    rate = Rate(sum(correct.values()), len(correct))
    f1 = consensus_fit([[each] for each in predicted], expected).macro
    alpha = krippendorff_alpha(list(zip(predicted, expected, strict=True)))
    return ExpertFit(task, design, judgement, rate, question_mean(single), f1, alpha), correct


def _key(unit: RatedUnit) -> Key:
    return unit.verdict.task, unit.verdict.item, unit.verdict.system


def _answer(given: Verdict | Rating, judgement: Judgement) -> bool | None:
    if given.flagged:
        return None
    if judgement == "int":
        return given.interpretable
    if judgement == "ais" or given.design == ATTRIBUTION_ONLY:
        return given.attributable
    return None if given.interpretable is None else bool(given.attributable)
