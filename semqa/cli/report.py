"""`semqa report`: report finished runs as a page, and as tables for papers and spreadsheets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result


def report(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Output of semqa bench: a run, a grid, or several."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the report.", show_default="DIR/report"),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(help="QuoteSum file of the runs, if it was moved; repeatable."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="Run to compare the others with: a name or folder.",
            show_default="the first that is not human",
        ),
    ] = None,
    examples: Annotated[
        int,
        typer.Option(min=0, help="Maximum questions in the page; those where runs differ most."),
    ] = 200,
    as_json: AsJson = False,
) -> None:
    """Report benchmark runs: report.html, report.md, report.tex, and a CSV file per table.

    The page is a single file that loads nothing from the network. Scores are
    recomputed from the predictions and the data, found by digest.
    With --json the tables are printed too.
    """
    from semqa.bench.report import load_runs, make_report, write_report

    loaded = load_runs(folder, data or ())
    made = make_report(loaded, baseline=baseline, examples=examples)
    written = write_report(made, out if out is not None else folder / "report")
    for note in made.notes:
        say(note)
    if as_json:
        write_result(json_line({**made.to_dict(), "files": list(map(str, written))}, indent=2))
        return
    for path in written:
        write_result(str(path))
