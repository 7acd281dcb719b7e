"""`semqa report`: finished runs as a page, and as tables for papers and spreadsheets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result


def report(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="What semqa bench wrote: a grid, a run, or several."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", "--output-path", help="Folder of the report.", show_default="DIR/report"
        ),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            help="QuoteSum file of the runs, where it lies elsewhere now; repeat it for more.",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="The run that others are compared with, by its name or folder.",
            show_default="the first that is not the human row",
        ),
    ] = None,
    formats: Annotated[
        str,
        typer.Option("--format", metavar="NAME,…", help="Some of html, md, csv, tex."),
    ] = "html,md,csv,tex",
    examples: Annotated[
        int, typer.Option(min=0, help="Most questions in the page, those where runs differ most.")
    ] = 200,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "QuoteSum",
    as_json: AsJson = False,
) -> None:
    """Make a report of benchmark runs: report.html, report.md, report.tex, and a CSV file a table.

    The page is one file, loads nothing from anywhere and can be sent by mail.
    Scores are computed anew from the predictions and the data, which is found
    by its digest. With --json the tables are printed too.
    """
    from semqa.bench.report import load_runs, make_report, write_report

    loaded = load_runs(folder, data or ())
    made = make_report(loaded, title=title, baseline=baseline, examples=examples)
    chosen = [name.strip() for name in formats.split(",") if name.strip()]
    written = write_report(made, out if out is not None else folder / "report", chosen)
    for note in made.notes:
        say(note)
    if as_json:
        write_result(json_line({**made.to_dict(), "files": list(map(str, written))}, indent=2))
        return
    for path in written:
        write_result(str(path))
