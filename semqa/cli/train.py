"""``semqa train``: fine-tune a model to answer with quotes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semqa.cli.inputs import check_files
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, progress_bar, say, write_result
from semqa.cli.tables import make_table, print_tables
from semqa.data.quotesum import read_quotesum
from semqa.training.options import TrainingOptions

if TYPE_CHECKING:
    from semqa.training.folder import Fit, Progress

TERMINATED = 128 + 15  # exit code after SIGTERM

SHOWN = (("ROUGE-L", "rougeLsum"), ("Sem-F1", "sem_f1"), ("Sem-Rec", "sem_recall"))


def train(
    ctx: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Training data: QuoteSum JSON lines.")
    ],
    dev: Annotated[Path, typer.Option(help="QuoteSum JSON lines to select a checkpoint.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Output folder.")],
    as_json: AsJson = False,
) -> None:
    """Fine-tune a model on human answers that quote their sources.

    The defaults are those of the QuoteSum paper. The output folder gets the best
    model (model), checkpoints during training, and training.json. To resume an
    interrupted training, run the same command again. Use the model with
    --engine transformers:OUT/model
    """
    from semqa.training.folder import Ranks
    from semqa.training.train import train as fine_tune

    options: TrainingOptions = ctx.obj[TrainingOptions]
    with training_progress(quiet=as_json) as progress:
        check_files(None, file, dev)
        record = fine_tune(read_quotesum(file), read_quotesum(dev), out, options, progress=progress)
    if not Ranks.first_here():
        return
    if as_json:
        write_result(json_line(record, indent=2))
        return
    _show(record)
    say(f"model: {out / 'model'}")


@contextmanager
def training_progress(*, quiet: bool) -> Iterator[Progress]:
    """Report the training in the block on standard error, including interruptions.

    If `quiet`, leave out progress and time estimates.
    """
    from semqa.training.folder import Progress, Ranks, Terminated

    first = Ranks.first_here()
    try:
        if not first:
            yield Progress()
            return
        with progress_bar("train", "examples") as bar:
            reports = (None, None) if quiet else (say, _report_fit)
            yield Progress(bar, lambda at: say(f"resuming from step {at}"), *reports)
    except KeyboardInterrupt as error:
        if first:
            say("interrupted; run the same command again to continue from the last checkpoint")
        if isinstance(error, Terminated):
            raise typer.Exit(TERMINATED) from error
        raise


def _report_fit(found: Fit, steps: int) -> None:
    say(
        f"micro-batch {found.micro_batch}, {found.needed / 1e9:.1f} GB of "
        f"{found.free / 1e9:.1f} GB free; about {_duration(found.seconds)} per step, "
        f"{_duration(found.seconds * steps)} for {steps:,} steps, without evaluations"
    )


def _show(record: Mapping[str, Any]) -> None:
    columns = (*SHOWN, ("SEMQA", "semqa"))
    table = make_table("epoch", "step", *(name for name, _ in columns), "verified", left=0)
    for each in record["history"]:
        table.add_row(
            f"{each['epoch']:g}",
            str(each["step"]),
            *(f"{each[key]:.1f}" if key in each else "–" for _, key in columns),
            f"{100 * each['verified']:.0f}%",
            style="bold" if each["step"] == record["best"]["step"] else None,
        )
    print_tables(table)
    for key, label in (
        ("left_out", "answers left out: too long with their prompts, or blank"),
        ("unverified", "training answers with quotes that are not in their sources"),
        ("shared_questions", "questions in both files"),
    ):
        if record[key]:
            write_result(f"{label}: {record[key]}")


def _duration(seconds: float) -> str:
    """Format a duration, such as 62 seconds as 0:01:02."""
    return str(timedelta(seconds=round(seconds)))
