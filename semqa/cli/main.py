"""The `semqa` command: subcommands and error handling.

Exit codes: 0 success; 1 a check failed (`verify`) or something external failed; 2 invalid input;
130 interrupted. Typer exits silently on Ctrl-C and on a closed pipe.
"""

from __future__ import annotations

import sys

import typer

import semqa
from semqa.cli import (
    answer,
    bench,
    chat,
    collections,
    data,
    harness,
    index,
    keys,
    models,
    questions,
    report,
    score,
    serve,
    study,
    train,
    verify,
)
from semqa.cli.choice import EngineOptions
from semqa.cli.collections import OwnerOptions
from semqa.cli.command import taking, use_help
from semqa.cli.eval import ais, attrscore, citations, docs, q2, tofueval
from semqa.cli.eval.judging import JudgeCommand, JudgeOptions
from semqa.cli.inputs import SourceOptions
from semqa.cli.output import prepare_streams, print_error
from semqa.errors import InputError, SemqaError
from semqa.training.options import TrainingOptions

app = typer.Typer(
    name="semqa",
    help="Answers whose every claim is a quote that a reader can check at a glance.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
evaluation = typer.Typer(
    help="Evaluate answers about your documents, and attribution: AIS, AttrScore, Q² and others.",
    no_args_is_help=True,
)
evaluation.command("docs", cls=taking(EngineOptions))(docs.docs)
evaluation.command("ais")(ais.ais)
evaluation.command("auto-ais", cls=JudgeCommand)(citations.auto_ais)
evaluation.add_typer(attrscore.app, name="attrscore")
evaluation.command("citations", cls=JudgeCommand)(citations.citations)
evaluation.command("disambig", cls=JudgeCommand)(citations.disambig)
evaluation.add_typer(q2.app, name="q2")
evaluation.add_typer(tofueval.app, name="tofueval")

_ASK, _SERVE, _MEASURE, _TRAIN = "Answers", "Server", "Evaluation", "Models"
app.command(
    name="answer", cls=taking(SourceOptions, EngineOptions, JudgeOptions), rich_help_panel=_ASK
)(answer.answer)
app.command(name="chat", cls=taking(SourceOptions, EngineOptions), rich_help_panel=_ASK)(chat.chat)
app.command(name="verify", rich_help_panel=_ASK)(verify.verify)
app.command(name="index", cls=taking(OwnerOptions), rich_help_panel=_ASK)(index.index)
app.add_typer(collections.app, name="collections", rich_help_panel=_ASK)
app.command(name="serve", cls=serve.ServeCommand, rich_help_panel=_SERVE)(serve.serve)
app.add_typer(keys.app, name="keys", rich_help_panel=_SERVE)
app.add_typer(data.app, name="data", rich_help_panel=_MEASURE)
app.add_typer(questions.app, name="questions", rich_help_panel=_MEASURE)
app.add_typer(bench.app, name="bench", rich_help_panel=_MEASURE)
app.command(name="score", rich_help_panel=_MEASURE)(score.score)
app.command(name="report", rich_help_panel=_MEASURE)(report.report)
app.add_typer(evaluation, name="eval", rich_help_panel=_MEASURE)
app.add_typer(study.app, name="study", rich_help_panel=_MEASURE)
app.add_typer(harness.app, name="harness", rich_help_panel=_MEASURE)
app.add_typer(models.app, name="models", rich_help_panel=_TRAIN)
app.command(name="train", cls=taking(TrainingOptions), rich_help_panel=_TRAIN)(train.train)


def _version(requested: bool) -> None:
    if requested:
        sys.stdout.write(f"semqa {semqa.__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Answers whose every claim is a quote that a reader can check at a glance."""
    del version


use_help(app)


def main() -> None:
    """Run the command line and exit; invalid input prints one line without a traceback."""
    prepare_streams()
    try:
        app(prog_name="semqa")
    except InputError as error:
        print_error(str(error))
        sys.exit(2)
    except SemqaError as error:
        print_error(str(error))
        sys.exit(1)
    except OSError as error:
        # For example, standard output goes to a full disk; other files raise InputError.
        print_error(f"{error.filename or 'standard output'}: {error.strerror or error}")
        sys.exit(1)
