"""A report on released files and ratings: rates, tests, agreement, designs and times."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from semqa.attribution.ais.experts import compare_with_experts
from semqa.attribution.ais.rates import (
    agreement_of_counts,
    agreement_of_ratings,
    compare_designs,
    compare_systems,
    completion_times,
    system_rates,
)
from semqa.attribution.ais.ratings import consensus
from semqa.attribution.ais.released import data_checks, drop_duplicates
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.ais.experts import CorrectnessComparison, ExpertFit
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
