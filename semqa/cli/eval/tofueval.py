"""``semqa eval tofueval``: topic-focused summaries of dialogues, and who finds their errors."""

from __future__ import annotations

import typer

from semqa.cli.eval import tofueval_ask, tofueval_quality, tofueval_score

__all__ = ["app"]

app = typer.Typer(
    name="tofueval",
    help="TofuEval: do summaries on a topic say what the dialogue says, and does a judge see it?",
    no_args_is_help=True,
)
app.command("topics")(tofueval_ask.topics)
app.command("summarise")(tofueval_ask.summarise)
app.command("judge")(tofueval_ask.judge)
app.command("classify")(tofueval_ask.classify)
app.command("completeness")(tofueval_quality.completeness)
app.command("relevance")(tofueval_quality.relevance)
app.command("rates")(tofueval_score.rates)
app.command("score")(tofueval_score.score)
