"""`semqa harness`: QuoteSum as a task of other evaluation harnesses."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from semqa.cli.options import AsJson
from semqa.cli.output import json_line, write_result

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _harness() -> None:
    """QuoteSum as a task of lm-evaluation-harness and inspect_ai."""


@app.command("path")
def path_command(
    name: Annotated[
        Literal["lm_eval", "inspect_ai"],
        typer.Argument(metavar="NAME", help="lm_eval or inspect_ai."),
    ],
    as_json: AsJson = False,
) -> None:
    """Print the path to pass to the harness.

    lm_eval --include_path "$(semqa harness path lm_eval)" --tasks quotesum …

    inspect eval "$(semqa harness path inspect_ai)" …
    """
    from semqa.harness.quotesum import harness_path

    path = str(harness_path(name))
    write_result(json_line({"harness": name, "path": path}) if as_json else path)
