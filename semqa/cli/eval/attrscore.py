"""``semqa eval attrscore``: attributable, extrapolatory or contradictory."""

from __future__ import annotations

import typer

from semqa.cli.eval import attrscore_data, attrscore_run, attrscore_train

__all__ = ["app"]

app = typer.Typer(
    name="attrscore",
    help="AttrScore: is a claim attributable to a reference, extrapolatory, or contradictory?",
    no_args_is_help=True,
)
app.command("run")(attrscore_run.run)
app.command("score")(attrscore_run.score)
app.command("simulate")(attrscore_data.simulate)
app.command("map")(attrscore_data.map_command)
app.command("train")(attrscore_train.train)
