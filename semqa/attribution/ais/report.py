"""A report on released files and ratings: rates, tests, agreement, designs, times and experts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from semqa.attribution.ais.rates import (
    agreement_of_counts,
    agreement_of_ratings,
    compare_designs,
    compare_systems,
    compare_with_experts,
    completion_times,
    rates_of,
    system_rates,
)
from semqa.attribution.ais.ratings import consensus
from semqa.attribution.ais.released import data_checks, drop_duplicates
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.ais.rates import Grouping, Measure, SystemTest
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


def report(
    files: Sequence[ReleasedFile],
    ratings: Sequence[Rating],
    settings: Settings = Settings(),
    *,
    experts: Sequence[Rating] = (),
) -> dict[str, Any]:
    """Report on released files, each with one task, and on ratings of any tasks and designs.

    Returns:
        A JSON-ready object: ``tasks`` (released files, then ratings by task and design),
        ``designs``, ``times``, ``experts``, ``correctness`` (each two designs, by their agreement
        with `experts`), and ``settings``.
    """
    kept = [rating for rating in ratings if rating.system not in settings.without]
    together = consensus(kept)
    fits, correctness = compare_with_experts(together, consensus(experts))
    units: dict[tuple[str, str], list[RatedUnit]] = {}
    for unit in together:
        units.setdefault((unit.verdict.task, unit.verdict.design), []).append(unit)
    systems = [row.verdict.system for file in files for row in file.rows]
    _check_names([*systems, *(each.system for each in ratings)], settings)
    return {
        "tasks": [
            *(_released(file, settings) for file in files),
            *(_rated(group, settings) for group in units.values()),
        ],
        "designs": compare_designs([unit.verdict for unit in together])
        if "design" in settings.by
        else [],
        "times": completion_times(kept, tuple(dict.fromkeys(("task", *settings.by))))
        if kept
        else [],
        "experts": fits,
        "correctness": correctness,
        "settings": asdict(settings),
    }


def _released(file: ReleasedFile, settings: Settings) -> dict[str, Any]:
    rows = [row for row in file.rows if row.verdict.system not in settings.without]
    verdicts = [row.verdict for row in rows]
    if settings.first_only:
        verdicts = drop_duplicates(verdicts)
    return {
        "task": file.rows[0].verdict.task if file.rows else "",
        "design": "",
        "origin": "released",
        **_rates(verdicts, settings),
        "agreement": agreement_of_counts(verdicts) if settings.agreement else [],
        "data_checks": data_checks(rows),
        "ties": {},
    }


def _rated(units: Sequence[RatedUnit], settings: Settings) -> dict[str, Any]:
    tied = [question for unit in units for question in unit.tied]
    return {
        "task": units[0].verdict.task,
        "design": units[0].verdict.design,
        "origin": "ratings",
        **_rates([unit.verdict for unit in units], settings),
        "agreement": agreement_of_ratings(units) if settings.agreement else [],
        "data_checks": {},
        "ties": {name: tied.count(name) for name in ("int", "ais") if name in tied},
    }


def _rates(verdicts: Sequence[Verdict], settings: Settings) -> dict[str, Any]:
    systems = system_rates(verdicts)
    comparisons = []
    if settings.baseline is None or settings.baseline in {each["system"] for each in systems}:
        chosen: Any = {name: getattr(settings, name) for name in ("baseline", "test", "correct")}
        for measure in COMPARED:
            comparisons += compare_systems(verdicts, measure, **chosen)
    total = rates_of("all", verdicts) if verdicts else None
    return {"systems": systems, "total": total, "comparisons": comparisons}


def _check_names(known: Sequence[str], settings: Settings) -> None:
    """Raise if a system named in the settings does not exist, or its rows are all left out."""
    left = [name for name in known if name not in settings.without]
    baseline = () if settings.baseline is None else (settings.baseline,)
    for names, among in ((settings.without, known), (baseline, left)):
        for name in names:
            if name not in among:
                hint = f"Choose from {', '.join(dict.fromkeys(among))}." if among else None
                raise InputError(f"The system {name!r} has no ratings.", value=name, hint=hint)
