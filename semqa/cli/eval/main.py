"""``semqa eval``: evaluate answers about documents, and attribution."""

from __future__ import annotations

import typer

from semqa.cli.choice import EngineOptions
from semqa.cli.command import taking
from semqa.cli.eval import ais, attrscore, citations, docs, q2, tofueval
from semqa.cli.eval.judging import JudgeCommand

__all__ = ["app"]

app = typer.Typer(
    name="eval",
    help="Evaluate answers about your documents, and attribution: AIS, AttrScore, Q² and others.",
    no_args_is_help=True,
)


@app.callback()
def _eval() -> None:
    """Evaluate answers about your documents, and attribution: AIS, AttrScore, Q² and others."""


app.command("docs", cls=taking(EngineOptions))(docs.docs)
app.command("ais")(ais.ais)
app.command("auto-ais", cls=JudgeCommand)(citations.auto_ais)
app.add_typer(attrscore.app, name="attrscore")
app.command("citations", cls=JudgeCommand)(citations.citations)
app.command("disambig", cls=JudgeCommand)(citations.disambig)
app.add_typer(q2.app, name="q2")
app.add_typer(tofueval.app, name="tofueval")
