"""The figures of `semqa eval ais` as tables for a person at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from semqa.attribution.ais.rates import Measure, SystemRates
    from semqa.attribution.ais.report import Report, Settings, TaskReport
    from semqa.metrics.statistics import Statistic

__all__ = ["ais_notes", "ais_tables"]

SHOWN: dict[Measure, str] = {
    "flag": "Flag",
    "int": "Int",
    "ais": "AIS",
    "int_and_ais": "Int & AIS",
}

TESTS = {
    "z": "pooled z-test of two rates",
    "fisher": "Fisher's exact test",
    "chi2": "χ² with Yates' correction",
    "welch": "Welch's t-test",
    "mcnemar": "McNemar's exact test on the same examples",
}


def ais_tables(found: Report) -> Iterator[Table]:
    """Yield the tables: rates of each task, agreement, designs, times."""
    for task in found.tasks:
        yield _rates(task, found.settings)
    if any(task.agreement for task in found.tasks):
        yield _agreement(found)
    if found.designs:
        yield _designs(found)
    if any(times.n for times in found.times):
        yield _times(found)


def ais_notes(found: Report) -> Iterator[str]:
    """Yield what a reader of the tables has to know, a line each."""
    settings = found.settings
    if any(task.comparisons for task in found.tasks):
        yield _star(settings)
    name = {"wilson": "Wilson's", "bootstrap": "bootstrap"}[settings.interval]
    yield f"after each rate: {name} interval, {settings.confidence:.0%}"
    for task in found.tasks:
        yield from _task_notes(task, settings)
    if any(task.agreement and task.origin == "released" for task in found.tasks):
        yield "agreement of released files is derived: k of 5 agree, where k is 3 to 5"


def _star(settings: Settings) -> str:
    against = settings.baseline or "the best of its column"
    side = {"two-sided": "other than", "less": "below", "greater": "above"}[settings.alternative]
    exact = settings.test in ("mcnemar", "chi2")
    direction = "two-sided" if exact or settings.alternative == "two-sided" else "one-sided"
    corrected = "" if settings.correction == "none" else f", {settings.correction} correction"
    test = TESTS[settings.test]
    return f"* {side} {against}, p < {settings.level:g}: {test}, {direction}{corrected}"


def _task_notes(task: TaskReport, settings: Settings) -> Iterator[str]:
    name = _name(task)
    if settings.baseline is None and task.comparisons:
        best = {each.measure: each.other for each in task.comparisons}
        columns = (f"{SHOWN[measure]} {system}" for measure, system in best.items())
        yield f"{name}: best: {', '.join(columns)}"
    for what, count in task.oddities.items():
        yield f"{name}: {count} {'row' if count == 1 else 'rows'}: {what}"
    meaning = {"no": "counted as no", "yes": "counted as yes", "open": "left out of the rates"}
    for question, count in task.ties.items():
        column = SHOWN["int" if question == "int" else "ais"]
        yield f"{name}: {count} tied in {column}: {meaning[settings.ties]}"
    reasons: dict[str, list[str]] = {}
    for each in task.comparisons:
        if each.unscored is not None:
            cell = f"{each.system} ({SHOWN[each.measure]})"
            reasons.setdefault(each.unscored, []).append(cell)
    for reason, cells in reasons.items():
        yield f"{name}: not compared: {', '.join(cells)}: {reason}"
    if settings.baseline is not None and not task.comparisons:
        yield f"{name}: not compared: it has no system {settings.baseline}"


def _rates(task: TaskReport, settings: Settings) -> Table:
    table = _table(_name(task), "n", *SHOWN.values())
    starred = {(each.system, each.measure) for each in task.comparisons if each.significant}
    for rates in task.systems:
        cells = [_cell(rates, measure, settings, starred) for measure in SHOWN]
        table.add_row(rates.system, str(rates.n), *cells)
    if task.total is not None and len(task.systems) > 1:
        cells = [_cell(task.total, measure, settings, set()) for measure in SHOWN]
        table.add_row("all", str(task.total.n), *cells, style="dim")
    return table


def _cell(
    rates: SystemRates,
    measure: Measure,
    settings: Settings,
    starred: set[tuple[str, Measure]],
) -> str:
    rate = rates.rates[measure]
    ends = rate.interval(settings.interval, confidence=settings.confidence, seed=settings.seed)
    if ends is None:
        return "unscored"
    star = "*" if (rates.system, measure) in starred else " "
    return f"{rate.percent:.1f}{star} {f'{ends[0]:.0f}–{ends[1]:.0f}':>6}"


def _agreement(found: Report) -> Table:
    table = _table("agreement", "items", "left out", "α", "pairs", "F1", "all agree")
    for task in found.tasks:
        for each in task.agreement:
            label = {"flag": "Flag", "int": "Int", "ais": "AIS"}[each.question]
            table.add_row(
                f"{_name(task)}: {label}",
                str(each.items),
                str(each.dropped),
                *map(_figure, (each.alpha, each.pairs, each.fit.macro, each.unanimous)),
            )
    return table


def _designs(found: Report) -> Table:
    table = _table("designs", "measure", "n", "only the first", "only the second", "p")
    for each in found.designs:
        label = f"{each.first or '(none)'} / {each.second or '(none)'}"
        pairs = each.pairs
        table.add_row(
            f"{each.task}: {label}" if each.task else label,
            SHOWN[each.measure],
            str(pairs.n),
            str(pairs.only_first),
            str(pairs.only_second),
            "unscored" if pairs.p is None else f"{pairs.p:.4f}",
        )
    return table


def _times(found: Report) -> Table:
    table = _table("seconds", "n", "median", "mean", "untimed")
    for each in found.times:
        label = ", ".join(value for value in each.group.values() if value) or "all"
        if each.median is None or each.mean is None:
            table.add_row(label, "0", "", "", str(each.untimed))
        else:
            table.add_row(
                label, str(each.n), f"{each.median:.1f}", f"{each.mean:.1f}", str(each.untimed)
            )
    return table


def _name(task: TaskReport) -> str:
    return ", ".join(part for part in (task.task, task.design) if part) or task.origin


def _figure(statistic: Statistic) -> str:
    return "unscored" if statistic.value is None else f"{statistic.value:.3f}"


def _table(first: str, *others: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right")
    return table
