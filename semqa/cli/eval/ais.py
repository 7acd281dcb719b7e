"""`semqa eval ais`: AIS rates and agreement from human ratings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semqa.cli.eval.judging import finish
from semqa.cli.inputs import check_files
from semqa.cli.options import AsJson
from semqa.cli.output import write_result
from semqa.cli.tables import make_table, print_tables, shown
from semqa.data.files import display_name
from semqa.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    Part = Mapping[str, Any]
    """A JSON-ready part of a report."""

SHOWN = {"flag": "Flag", "int": "Int", "ais": "AIS", "int_and_ais": "Int & AIS"}

TESTS = {"z": "pooled z-test of two rates", "mcnemar": "McNemar's exact test on the same examples"}


def ais_tables(found: Part) -> Iterator[Table]:
    """Yield the tables: rates of each task, agreement, designs, experts, times."""
    for task in found["tasks"]:
        yield _rates(task)
    if any(task["agreement"] for task in found["tasks"]):
        yield _agreement(found["tasks"])
    if found["designs"]:
        rows = [(each["measure"], each, each) for each in found["designs"]]
        yield _pairs("designs", "measure", rows)
    if found["experts"]:
        yield _experts(found["experts"])
    if found["correctness"]:
        rows = [(each["judgement"], each, each["pairs"]) for each in found["correctness"]]
        yield _pairs("right by experts", "judgement", rows)
    if any(times["n"] for times in found["times"]):
        yield _times(found["times"])


def ais_notes(found: Part) -> Iterator[str]:
    """Yield notes on the tables, one per line."""
    settings = found["settings"]
    if any(task["comparisons"] for task in found["tasks"]):
        yield _star(settings)
    yield "after each rate: Wilson's interval, 95%"
    for task in found["tasks"]:
        yield from _task_notes(task, settings)
        levels = [
            f"{SHOWN[each['question']]} {shown(each['krippendorff_alpha_levels']['value'])}"
            for each in task["agreement"]
            if "krippendorff_alpha_levels" in each
        ]
        if levels:
            yield f"{_name(task)}: α of the levels (ordinal): {', '.join(levels)}"
    if any(task["agreement"] and task["origin"] == "released" for task in found["tasks"]):
        yield "agreement of released files is derived from counts: k of 5 agree, with k from 3 to 5"


def _star(settings: Part) -> str:
    from semqa.attribution.ais.rates import LEVEL

    against = settings["baseline"] or "the best of its column"
    corrected = ", Holm correction" if settings["correct"] else ""
    test = TESTS[settings["test"]]
    return f"* differs from {against}, p < {LEVEL:g}: {test}, two-sided{corrected}"


def _task_notes(task: Part, settings: Part) -> Iterator[str]:
    name, baseline = _name(task), settings["baseline"]
    if baseline is None and task["comparisons"]:
        best = {each["measure"]: each["other"] for each in task["comparisons"]}
        columns = (_best(task["systems"], measure, system) for measure, system in best.items())
        yield f"{name}: best: {', '.join(columns)}"
    for what, count in task["data_checks"].items():
        yield f"{name}: {count} {'row' if count == 1 else 'rows'}: {what}"
    for question, count in task["ties"].items():
        yield f"{name}: {count} {'tie' if count == 1 else 'ties'} in {SHOWN[question]}, counted as no"
    reasons: dict[str, list[str]] = {}
    for each in task["comparisons"]:
        if "unscored" in each:
            cell = f"{each['system']} ({SHOWN[each['measure']]})"
            reasons.setdefault(each["unscored"], []).append(cell)
    for reason, cells in reasons.items():
        yield f"{name}: not compared: {', '.join(cells)}: {reason}"
    if baseline is not None and not task["comparisons"]:
        yield f"{name}: not compared: no system {baseline}"


def _best(systems: Sequence[Part], measure: str, best: str) -> str:
    """Return the best system of a column, which the others are compared with, and its equals."""
    percent = {row["system"]: row[measure]["percent"] for row in systems}
    equal = [name for name in percent if name != best and percent[name] == percent[best]]
    return f"{SHOWN[measure]} {best}" + (f" (tied with {', '.join(equal)})" if equal else "")


def _rates(task: Part) -> Table:
    table = make_table(_name(task), "n", *SHOWN.values())
    starred = {
        (each["system"], each["measure"]) for each in task["comparisons"] if each["significant"]
    }
    for row in task["systems"]:
        stars = {measure: "*" if (row["system"], measure) in starred else " " for measure in SHOWN}
        cells = [_percent(row[measure], stars[measure]) for measure in SHOWN]
        table.add_row(row["system"], str(row["n"]), *cells)
    total = task["total"]
    if total is not None and len(task["systems"]) > 1:
        cells = [_percent(total[measure], " ") for measure in SHOWN]
        table.add_row("all", str(total["n"]), *cells, style="dim")
    return table


def _percent(rate: Part, star: str = "") -> str:
    if rate["percent"] is None:
        return "unscored"
    low, high = rate["interval"]
    return f"{rate['percent']:.1f}{star} {f'{low:.0f}–{high:.0f}':>6}"


def _agreement(tasks: Sequence[Part]) -> Table:
    table = make_table("agreement", "items", "left out", "α", "pairs", "F1", "all agree")
    figures = ("krippendorff_alpha", "pairwise_agreement", "f1_macro", "unanimous")
    for task in tasks:
        for each in task["agreement"]:
            table.add_row(
                f"{_name(task)}: {SHOWN[each['question']]}",
                str(each["items"]),
                str(each["dropped"]),
                *(shown(each[figure]["value"]) for figure in figures),
            )
    return table


def _pairs(title: str, what: str, rows: Sequence[tuple[str, Part, Part]]) -> Table:
    table = make_table(title, what, "n", "only the first", "only the second", "p")
    for measure, each, pairs in rows:
        label = f"{each['first'] or '(none)'} / {each['second'] or '(none)'}"
        table.add_row(
            ": ".join(part for part in (each["task"], label) if part),
            SHOWN[measure],
            *(str(pairs[name]) for name in ("n", "only_first", "only_second")),
            shown(pairs["p"], 4),
        )
    return table


def _experts(rows: Sequence[Part]) -> Table:
    table = make_table("against experts", "outputs", "consensus right", "single right", "F1", "α")
    for each in rows:
        table.add_row(
            f"{_name(each)}: {SHOWN[each['judgement']]}",
            str(each["consensus"]["n"]),
            _percent(each["consensus"]),
            shown(each["single"]["value"], 1, times=100),
            shown(each["f1_macro"]["value"]),
            shown(each["krippendorff_alpha"]["value"]),
        )
    return table


def _times(rows: Sequence[Part]) -> Table:
    table = make_table("seconds", "n", "median", "mean", "sd", "untimed")
    for each in rows:
        names = ("task", "design", "annotator", "system")
        group = [value for name, value in each.items() if name in names]
        seconds = [each[f"{name}_seconds"] for name in ("median", "mean", "sd")]
        cells = ("" if value is None else f"{value:.1f}" for value in seconds)
        label = ", ".join(value for value in group if value) or "all"
        table.add_row(label, str(each["n"]), *cells, str(each["untimed"]))
    return table


def _name(part: Part) -> str:
    named = (part["task"], part["design"])
    return ", ".join(name for name in named if name) or part.get("origin", "ratings")


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
        ),
    ] = None,
    ratings: Annotated[
        list[Path] | None,
        typer.Option(help="Individual ratings as JSON lines; - for standard input; repeatable."),
    ] = None,
    experts: Annotated[
        list[Path] | None,
        typer.Option(
            help="Expert ratings as JSON lines, to compare --ratings with; repeatable.",
            metavar="FILE",
        ),
    ] = None,
    test: Annotated[
        Literal["z", "mcnemar"],
        typer.Option(
            help="z: pooled z-test of two rates; mcnemar: McNemar's test on shared examples."
        ),
    ] = "z",
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="SYSTEM", help="System to compare with.", show_default="the best of each column"
        ),
    ] = None,
    correction: Annotated[
        Literal["none", "holm"],
        typer.Option(help="Correction for multiple comparisons per column."),
    ] = "none",
    without: Annotated[
        list[str] | None, typer.Option(metavar="SYSTEM", help="System to leave out; repeatable.")
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
            help="Group completion times; design also compares designs by McNemar's test."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the Flag, Int and AIS rates of systems from human ratings.

    Flag: the task is malformed. Int: the output is understandable by itself.
    AIS: the source supports all of it. A star marks a significant difference
    from the best system of the column, or from the baseline.
    """
    from semqa.attribution.ais.rates import Settings, report
    from semqa.attribution.ais.ratings import read_ratings
    from semqa.attribution.ais.released import read_released
    from semqa.attribution.records import versions

    given, rated = files or [], ratings or []
    if not given and not rated:
        raise InputError("No files. Name a CSV file of verdicts, or use --ratings FILE.")
    known = experts or []
    if known and not rated:
        raise InputError("needs --ratings to compare with.", field="--experts")
    check_files(None, *given, *rated, *known)
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
    record = {**found, "versions": versions("numpy", "scipy", "krippendorff")}
    finish(record, None, lambda: _show(found), as_json=as_json)


def _show(found: Part) -> None:
    print_tables(*ais_tables(found))
    for note in ais_notes(found):
        write_result(note)
    if "design" in found["settings"]["by"] and not found["designs"]:
        write_result("designs: not compared: no task was rated under two designs")
