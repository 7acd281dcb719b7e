"""`semqa eval ais`: AIS rates and agreement from human ratings."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from semqa.cli.eval.judging import shown
from semqa.cli.inputs import check_stdin_once
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, write_result
from semqa.cli.tables import make_table, print_tables
from semqa.data.files import display_name
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.table import Table

    from semqa.attribution.ais.rates import DesignComparison, Measure, Rate, SystemRates
    from semqa.attribution.ais.report import CorrectnessComparison, Report, Settings, TaskReport


SHOWN: dict[Measure, str] = {
    "flag": "Flag",
    "int": "Int",
    "ais": "AIS",
    "int_and_ais": "Int & AIS",
}

TESTS = {"z": "pooled z-test of two rates", "mcnemar": "McNemar's exact test on the same examples"}


def ais_tables(found: Report) -> Iterator[Table]:
    """Yield the tables: rates of each task, agreement, designs, times."""
    for task in found.tasks:
        yield _rates(task)
    if any(task.agreement for task in found.tasks):
        yield _agreement(found)
    if found.designs:
        rows = [(each.task, each.measure, each) for each in found.designs]
        yield _pairs(make_table("designs", "measure", *PAIRS), rows)
    if found.experts:
        yield _experts(found)
    if found.correctness:
        judged = [(each.task, each.judgement, each) for each in found.correctness]
        yield _pairs(make_table("right by experts", "judgement", *PAIRS), judged)
    if any(times.n for times in found.times):
        yield _times(found)


def ais_notes(found: Report) -> Iterator[str]:
    """Yield notes on the tables, one per line."""
    settings = found.settings
    if any(task.comparisons for task in found.tasks):
        yield _star(settings)
    yield "after each rate: Wilson's interval, 95%"
    for task in found.tasks:
        yield from _task_notes(task, settings)
        levels = {SHOWN[e.question]: e.levels for e in task.agreement if e.levels is not None}
        if levels:
            values = ", ".join(f"{name} {shown(each.value)}" for name, each in levels.items())
            yield f"{_name(task)}: α of the levels (ordinal): {values}"
    if any(task.agreement and task.origin == "released" for task in found.tasks):
        yield "agreement of released files is derived from counts: k of 5 agree, with k from 3 to 5"


def _star(settings: Settings) -> str:
    from semqa.attribution.ais.rates import LEVEL

    against = settings.baseline or "the best of its column"
    corrected = ", Holm correction" if settings.correct else ""
    test = TESTS[settings.test]
    return f"* differs from {against}, p < {LEVEL:g}: {test}, two-sided{corrected}"


def _task_notes(task: TaskReport, settings: Settings) -> Iterator[str]:
    name = _name(task)
    if settings.baseline is None and task.comparisons:
        best = {each.measure: each.other for each in task.comparisons}
        columns = (f"{SHOWN[measure]} {system}" for measure, system in best.items())
        yield f"{name}: best: {', '.join(columns)}"
    for what, count in task.data_checks.items():
        yield f"{name}: {count} {'row' if count == 1 else 'rows'}: {what}"
    for question, count in task.ties.items():
        column = SHOWN["int" if question == "int" else "ais"]
        yield f"{name}: {count} {'tie' if count == 1 else 'ties'} in {column}, counted as no"
    reasons: dict[str, list[str]] = {}
    for each in task.comparisons:
        if each.unscored is not None:
            cell = f"{each.system} ({SHOWN[each.measure]})"
            reasons.setdefault(each.unscored, []).append(cell)
    for reason, cells in reasons.items():
        yield f"{name}: not compared: {', '.join(cells)}: {reason}"
    if settings.baseline is not None and not task.comparisons:
        yield f"{name}: not compared: no system {settings.baseline}"


def _rates(task: TaskReport) -> Table:
    table = make_table(_name(task), "n", *SHOWN.values())
    starred = {(each.system, each.measure) for each in task.comparisons if each.significant}
    for rates in task.systems:
        cells = [_cell(rates, measure, starred) for measure in SHOWN]
        table.add_row(rates.system, str(rates.n), *cells)
    if task.total is not None and len(task.systems) > 1:
        cells = [_cell(task.total, measure, set()) for measure in SHOWN]
        table.add_row("all", str(task.total.n), *cells, style="dim")
    return table


def _cell(
    rates: SystemRates,
    measure: Measure,
    starred: set[tuple[str, Measure]],
) -> str:
    rate = rates.rates[measure]
    star = "*" if (rates.system, measure) in starred else " "
    return _percent(rate, star)


def _percent(rate: Rate, star: str = "") -> str:
    ends = rate.interval
    if ends is None:
        return "unscored"
    return f"{rate.percent:.1f}{star} {f'{ends[0]:.0f}–{ends[1]:.0f}':>6}"


def _agreement(found: Report) -> Table:
    table = make_table("agreement", "items", "left out", "α", "pairs", "F1", "all agree")
    for task in found.tasks:
        for each in task.agreement:
            table.add_row(
                f"{_name(task)}: {SHOWN[each.question]}",
                str(each.items),
                str(each.dropped),
                *(shown(f.value) for f in (each.alpha, each.pairs, each.fit.macro, each.unanimous)),
            )
    return table


PAIRS = ("n", "only the first", "only the second", "p")


def _pairs(
    table: Table, rows: Iterable[tuple[str, Measure, DesignComparison | CorrectnessComparison]]
) -> Table:
    for task, measure, each in rows:
        pairs = each.pairs
        label = f"{each.first or '(none)'} / {each.second or '(none)'}"
        table.add_row(
            _joined(task, label, ": "),
            SHOWN[measure],
            *map(str, (pairs.n, pairs.only_first, pairs.only_second)),
            shown(pairs.p, 4),
        )
    return table


def _experts(found: Report) -> Table:
    table = make_table("against experts", "outputs", "consensus right", "single right", "F1", "α")
    for each in found.experts:
        table.add_row(
            f"{_joined(each.task, each.design)}: {SHOWN[each.judgement]}",
            str(each.consensus.n),
            _percent(each.consensus),
            shown(each.single.value, 1, times=100),
            shown(each.f1.value),
            shown(each.alpha.value),
        )
    return table


def _joined(task: str, design: str, between: str = ", ") -> str:
    return between.join(part for part in (task, design) if part) or "ratings"


def _times(found: Report) -> Table:
    table = make_table("seconds", "n", "median", "mean", "sd", "untimed")
    for each in found.times:
        label = ", ".join(value for value in each.group.values() if value) or "all"
        seconds = (each.median, each.mean, each.sd)
        cells = ("" if value is None else f"{value:.1f}" for value in seconds)
        table.add_row(label, str(each.n), *cells, str(each.untimed))
    return table


def _name(task: TaskReport) -> str:
    return ", ".join(part for part in (task.task, task.design) if part) or task.origin


Test = Literal["z", "mcnemar"]


class By(StrEnum):
    """Groupings of completion times. An enum, because typer does not accept a list of literals."""

    DESIGN = "design"
    ANNOTATOR = "annotator"
    SYSTEM = "system"


def ais(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Verdicts as released CSV files, one per task; - for standard input.",
            show_default=False,
        ),
    ] = None,
    ratings: Annotated[
        list[Path] | None,
        typer.Option(
            "--ratings",
            help="Individual ratings as JSON lines; - for standard input; repeatable.",
            show_default=False,
        ),
    ] = None,
    experts: Annotated[
        list[Path] | None,
        typer.Option(
            "--experts",
            help="Expert ratings as JSON lines, to compare --ratings with; repeatable.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    test: Annotated[
        Test,
        typer.Option(
            help="z: pooled z-test of two rates; mcnemar: McNemar's test on shared examples."
        ),
    ] = "z",
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="SYSTEM",
            help="System to compare with.",
            show_default="the best of each column",
        ),
    ] = None,
    correction: Annotated[
        Literal["none", "holm"],
        typer.Option(help="Correction for multiple comparisons per column."),
    ] = "none",
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="SYSTEM", help="System to leave out; repeatable.", show_default=False),
    ] = None,
    drop_doubles: Annotated[
        bool, typer.Option("--drop-doubles", help="Use only the first row per item and system.")
    ] = False,
    agreement: Annotated[
        bool,
        typer.Option(
            "--agreement",
            help="Compute agreement, also from the counts in CSV files (needs the extra eval).",
        ),
    ] = False,
    by: Annotated[
        list[By] | None,
        typer.Option(
            help="Group completion times; design also compares designs by McNemar's test.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the Flag, Int and AIS rates of systems from human ratings.

    Flag: the task is malformed. Int: the output is understandable by itself.
    AIS: the source supports all of it. A star marks a significant difference
    from the best system of the column, or from the baseline.
    """
    from semqa.attribution.ais.ratings import read_ratings
    from semqa.attribution.ais.released import read_released
    from semqa.attribution.ais.report import Settings, report

    given, rated = files or [], ratings or []
    if not given and not rated:
        raise InputError("No files. Name a CSV file of verdicts, or use --ratings FILE.")
    known = experts or []
    if known and not rated:
        raise InputError("needs --ratings to compare with.", field="--experts")
    check_stdin_once(*given, *rated, *known)
    for path in given:
        if path.suffix.lower() in (".jsonl", ".json"):
            raise InputError(
                "Verdicts must be a CSV file. For JSON lines, use --ratings.", where=str(path)
            )
    for path in rated:
        if path.suffix.lower() == ".csv":
            raise InputError(
                "Ratings must be JSON lines. For a CSV file, leave out --ratings.", where=str(path)
            )
    settings = Settings(
        test=test,
        correct=correction == "holm",
        baseline=baseline,
        without=tuple(without or ()),
        first_only=drop_doubles,
        agreement=agreement or bool(rated),
        by=tuple(each.value for each in by or ()),
    )
    released = [read_released(path) for path in given]
    for path, file in zip(given, released, strict=True):
        if not file.rows:
            raise InputError("The file has no verdicts.", where=display_name(path))
    found = report(
        released,
        [each for path in rated for each in read_ratings(path)],
        settings,
        experts=[each for path in known for each in read_ratings(path)],
    )
    _show(found, as_json=as_json)


def _show(found: Report, *, as_json: bool) -> None:
    if as_json:
        from semqa.attribution.records import versions

        made = versions("numpy", "scipy", "krippendorff")
        write_result(json_line({**found.to_dict(), "versions": made}, indent=2))
        return
    print_tables(*ais_tables(found))
    for note in ais_notes(found):
        write_result(note)
