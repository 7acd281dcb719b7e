"""``semqa eval``: the commands that measure attribution."""

from __future__ import annotations

import typer

__all__ = ["app"]

app = typer.Typer(
    name="eval",
    help="Measure attribution: AIS, AttrScore, Q², TofuEval, citations.",
    no_args_is_help=True,
)
