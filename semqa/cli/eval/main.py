"""``semqa eval``: the commands that measure attribution."""

from __future__ import annotations

import typer

from semqa.cli.eval import ais, attrscore, auto_ais, citations, q2, tofueval

__all__ = ["app"]

app = typer.Typer(
    name="eval",
    help="Measure attribution: AIS, AttrScore, Q², TofuEval, citations.",
    no_args_is_help=True,
)


@app.callback()
def _eval() -> None:
    """Measure attribution: AIS, AttrScore, Q², TofuEval, citations."""


app.command("ais")(ais.ais)
app.command("auto-ais")(auto_ais.auto_ais)
app.add_typer(attrscore.app, name="attrscore")
app.command("citations")(citations.citations)
app.command("disambig")(citations.disambig)
app.add_typer(q2.app, name="q2")
app.add_typer(tofueval.app, name="tofueval")
