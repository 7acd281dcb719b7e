"""`semqa eval ais`: what annotators say of outputs and their sources."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from semqa.cli.inputs import check_not_an_input, check_stdin_once
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, write_result
from semqa.data.files import display_name
from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.attribution.ais.report import Report

__all__ = ["ais"]

Test = Literal["z", "fisher", "chi2", "welch", "mcnemar"]
Alternative = Literal["two-sided", "less", "greater"]
Correction = Literal["none", "bonferroni", "holm", "bh"]
Interval = Literal["wilson", "bootstrap"]
Ties = Literal["no", "yes", "open"]


class By(StrEnum):
    """What completion times can be grouped by; typer takes no list of literals."""

    DESIGN = "design"
    ANNOTATOR = "annotator"
    SYSTEM = "system"


def ais(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Verdicts as released with the paper, CSV, a task each; - for standard input.",
            show_default=False,
        ),
    ] = None,
    ratings: Annotated[
        list[Path] | None,
        typer.Option(
            "--ratings",
            help="Single ratings, JSON lines; - for standard input. Repeat it for more.",
            show_default=False,
        ),
    ] = None,
    test: Annotated[
        Test,
        typer.Option(
            help="Of two rates: pooled z, Fisher's exact, χ² (Yates), Welch's t; mcnemar compares "
            "the same examples.",
        ),
    ] = "z",
    alternative: Annotated[
        Alternative, typer.Option(help="less: that a system is below the best or the baseline.")
    ] = "two-sided",
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="SYSTEM",
            help="Compare with this system.",
            show_default="the best of each column",
        ),
    ] = None,
    correction: Annotated[
        Correction, typer.Option(help="For the number of comparisons in a column.")
    ] = "none",
    level: Annotated[float, typer.Option(help="A p below it gets a star.")] = 0.01,
    interval: Annotated[Interval, typer.Option(help="How intervals are made.")] = "wilson",
    confidence: Annotated[float, typer.Option(help="Mass of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, envvar="SEMQA_SEED", help="Of the bootstrap.")] = 0,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SYSTEM", help="Leave a system out; repeat it for more.", show_default=False
        ),
    ] = None,
    drop_doubles: Annotated[
        bool, typer.Option("--drop-doubles", help="Count an item and system once: its first row.")
    ] = False,
    agreement: Annotated[
        bool,
        typer.Option(
            "--agreement",
            help="How annotators agree, from the counts of CSV files too. Needs the extra eval.",
        ),
    ] = False,
    ties: Annotated[
        Ties,
        typer.Option(help="What half against half means among ratings; open: out of the rates."),
    ] = "no",
    by: Annotated[
        list[By] | None,
        typer.Option(
            help="Group completion times; design also compares designs by McNemar's test.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write the verdicts here, as released CSV.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Flag, Int and AIS rates of systems, as human annotators judge them.

    Flag: the task is malformed. Int: the output can be understood by itself.
    AIS: according to the source, all of it is so. A star marks what differs
    from the best system of its column, or from the baseline.
    """
    from semqa.attribution.ais.ratings import read_ratings
    from semqa.attribution.ais.released import ReleasedFile, read_released, write_released
    from semqa.attribution.ais.report import Settings, report

    given, rated = files or [], ratings or []
    if not given and not rated:
        raise InputError(
            "nothing to evaluate: got neither FILE nor --ratings, expected one of them; name a "
            "CSV file of verdicts, or JSON lines of ratings"
        )
    check_stdin_once(*given, *rated)
    for path in given:
        if path.suffix.lower() in (".jsonl", ".json"):
            raise InputError(
                f"{path}: not a file of verdicts: got JSON lines, expected CSV; name ratings with "
                "--ratings"
            )
    for path in rated:
        if path.suffix.lower() == ".csv":
            raise InputError(
                f"{path}: not a file of ratings: got CSV, expected JSON lines; name verdicts without "
                "--ratings"
            )
    check_not_an_input(out, *given, *rated)
    settings = Settings(
        test=test,
        alternative=alternative,
        correction=correction,
        level=level,
        baseline=baseline,
        interval=interval,
        confidence=confidence,
        seed=seed,
        ties=ties,
        without=tuple(without or ()),
        first_only=drop_doubles,
        agreement=agreement or bool(rated),
        by=tuple(each.value for each in by or ()),
    )
    released = [read_released(path) for path in given]
    for path, file in zip(given, released, strict=True):
        if not file.rows:
            raise InputError(
                f"{display_name(path)}: no verdicts: got a header alone, expected rows below it; "
                "check that it was written completely"
            )
    found = report(released, [each for path in rated for each in read_ratings(path)], settings)
    if out is not None:
        if len(released) == 1 and not rated and not without and not drop_doubles:
            write_released(out, released[0])
        else:
            verdicts = [verdict for task in found.tasks for verdict in task.verdicts]
            write_released(out, ReleasedFile.of(verdicts))
    _show(found, as_json=as_json)


def _show(found: Report, *, as_json: bool) -> None:
    if as_json:
        from semqa.attribution.records import versions

        made = versions("numpy", "scipy", "krippendorff")
        write_result(json_line({**found.to_dict(), "versions": made}, indent=2))
        return
    from semqa.cli.eval.ais_tables import ais_notes, ais_tables
    from semqa.cli.tables import print_tables

    print_tables(*ais_tables(found))
    for note in ais_notes(found):
        write_result(note)
