"""``semqa eval tofueval``: topic-focused summaries of dialogues, and who finds their errors."""

from __future__ import annotations

import typer

from semqa.cli.eval import tofueval_score

__all__ = ["app"]

app = typer.Typer(
    name="tofueval",
    help="TofuEval: do summaries on a topic say what the dialogue says, and does a judge see it?",
    no_args_is_help=True,
)
app.command("rates")(tofueval_score.rates)
app.command("score")(tofueval_score.score)
