"""``semqa train``: a model that answers in quotes, learned from human answers."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semqa.cli.bench_watch import Lines, duration
from semqa.cli.inputs import check_stdin_once
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, progress_bar, say, write_result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from semqa.training.folder import Progress
    from semqa.training.trainer import Fit

TERMINATED = 128 + 15  # exit code after SIGTERM

LORA_PANEL = "LoRA"
SHOWN = (("ROUGE-L", "rougeLsum"), ("Sem-F1", "sem_f1"), ("Sem-Rec", "sem_recall"))


def train(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="QuoteSum JSON lines to learn from.", show_default=False
        ),
    ],
    dev: Annotated[
        Path,
        typer.Option(help="QuoteSum JSON lines that tell the best checkpoint.", show_default=False),
    ],
    model: Annotated[
        str,
        typer.Option(
            help="The model to begin with: a folder or a name on the Hub.", show_default=False
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of this training.", show_default=False)
    ],
    method: Annotated[
        Literal["auto", "full", "lora"],
        typer.Option(help="auto: all weights of encoder-decoder models, LoRA for the others."),
    ] = "auto",
    prompt: Annotated[
        str, typer.Option(help="The template of the prompts: its name, or a file.")
    ] = "zero-shot",
    form: Annotated[
        Literal["auto", "chat", "completion"], typer.Option(help="Of the prompts.")
    ] = "auto",
    max_steps: Annotated[int, typer.Option(help="Steps of the optimizer.")] = 25_000,
    batch_size: Annotated[int, typer.Option(help="Answers a step, however many fit at once.")] = 32,
    pack: Annotated[
        bool,
        typer.Option("--pack", help="Learn the answers to a question together, behind one prompt."),
    ] = False,
    optimizer: Annotated[Literal["adafactor", "adamw"], typer.Option()] = "adafactor",
    learning_rate: Annotated[float, typer.Option(help="At its highest.")] = 1e-3,
    schedule: Annotated[
        Literal["constant", "linear", "cosine"], typer.Option(help="Of the learning rate.")
    ] = "constant",
    warmup_steps: Annotated[int, typer.Option(help="Steps over which it rises.")] = 0,
    weight_decay: Annotated[float, typer.Option(help="Of the optimizer.")] = 0.0,
    eval_steps: Annotated[
        int, typer.Option(help="Steps between evaluations, each with a checkpoint.")
    ] = 500,
    eval_batch_size: Annotated[int, typer.Option(help="Questions answered together.")] = 8,
    metric: Annotated[
        Literal["rougeLsum", "rougeL", "sem_f1", "semqa"],
        typer.Option(help="That tells the best checkpoint."),
    ] = "rougeLsum",
    constraint: Annotated[
        Literal["on", "off"], typer.Option(help="Evaluate under the copy constraint.")
    ] = "on",
    max_new_tokens: Annotated[int, typer.Option(help="Of an answer in an evaluation.")] = 256,
    max_length: Annotated[
        int,
        typer.Option(
            help="Tokens of a prompt, of a decoder-only model with its answer; longer ones are left "
            "out."
        ),
    ] = 2048,
    lora_rank: Annotated[int, typer.Option(rich_help_panel=LORA_PANEL)] = 16,
    lora_alpha: Annotated[int, typer.Option(rich_help_panel=LORA_PANEL)] = 32,
    lora_dropout: Annotated[float, typer.Option(rich_help_panel=LORA_PANEL)] = 0.05,
    lora_targets: Annotated[
        str,
        typer.Option(
            help="Names of modules, with commas, or all-linear.", rich_help_panel=LORA_PANEL
        ),
    ] = "all-linear",
    merge: Annotated[
        bool,
        typer.Option(
            "--merge/--no-merge",
            help="Make a whole model of the adapters when all is done.",
            rich_help_panel=LORA_PANEL,
        ),
    ] = True,
    gradient_checkpointing: Annotated[
        bool, typer.Option("--gradient-checkpointing", help="Less memory, more time.")
    ] = False,
    keep_checkpoints: Annotated[
        bool, typer.Option("--keep-checkpoints", help="Leave them when all is done.")
    ] = False,
    max_checkpoints: Annotated[int, typer.Option(help="Left at a time.")] = 2,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write events to OUT/tensorboard.")
    ] = False,
    seed: Annotated[
        int, typer.Option(envvar="SEMQA_SEED", help="Of new weights, order and dropout.")
    ] = 0,
    device: Annotated[
        Literal["cpu"] | None, typer.Option(help="Keep off the GPU.", show_default="a GPU if any")
    ] = None,
    bf16: Annotated[bool, typer.Option("--bf16", help="Compute in bfloat16.")] = False,
    fp16: Annotated[bool, typer.Option("--fp16", help="Compute in float16, on a GPU.")] = False,
    dtype: Annotated[
        Literal["float32", "bfloat16"], typer.Option(help="Of the weights; bfloat16 for LoRA only.")
    ] = "float32",
    as_json: AsJson = False,
) -> None:
    """Fine-tune a model on human answers that quote their sources.

    Without further flags this is the recipe of the QuoteSum paper. The folder
    gets the best model (model), checkpoints while it trains, and training.json.
    A training that was interrupted or killed goes on where it stopped: give the
    same command again. The model is an engine then: --engine transformers:OUT/model
    """
    from semqa.data.quotesum import read_quotesum
    from semqa.training import TrainingOptions
    from semqa.training import train as fine_tune
    from semqa.training.folder import Ranks

    with training_progress(quiet=as_json) as progress:
        options = TrainingOptions(
            model=model,
            method=method,
            prompt=prompt,
            form=form,
            max_steps=max_steps,
            batch_size=batch_size,
            pack=pack,
            optimizer=optimizer,
            learning_rate=learning_rate,
            schedule=schedule,
            warmup_steps=warmup_steps,
            weight_decay=weight_decay,
            eval_steps=eval_steps,
            eval_batch_size=eval_batch_size,
            metric=metric,
            constraint=constraint,
            max_new_tokens=max_new_tokens,
            max_length=max_length,
            lora_rank=lora_rank,
            lora_alpha=lora_alpha,
            lora_dropout=lora_dropout,
            lora_targets=tuple(name.strip() for name in lora_targets.split(",")),
            gradient_checkpointing=gradient_checkpointing,
            seed=seed,
            device=device,
            bf16=bf16,
            fp16=fp16,
            dtype=dtype,
            merge=merge,
        )
        check_stdin_once(file, dev)
        record = fine_tune(
            read_quotesum(file),
            read_quotesum(dev),
            out,
            options,
            keep_checkpoints=keep_checkpoints,
            max_checkpoints=max_checkpoints,
            tensorboard=tensorboard,
            progress=progress,
        )
    if not Ranks.first_here():
        return
    if as_json:
        write_result(json_line(record, indent=2))
        return
    _show(record)
    say(f"model: {out / 'model'}")


@contextmanager
def training_progress(*, quiet: bool) -> Iterator[Progress]:
    """Report the training in the block on standard error, and how it was interrupted.

    Args:
        quiet: leave out what only explains why it takes long.
    """
    from semqa.training.folder import Progress, Ranks, Terminated

    first = Ranks.first_here()
    try:
        if not first:
            yield Progress()
            return
        with progress_bar("train", "examples") as bar:
            lines = Lines(say)

            def step(done: int, total: int | None) -> None:
                if bar is not None:
                    bar(done, total)
                elif not quiet:
                    lines.tell(done, total, "steps", list)

            spoken = (None, None) if quiet else (say, _fits)
            yield Progress(step, lambda at: say(f"going on from step {at}"), *spoken)
    except KeyboardInterrupt as error:
        if first:
            say("interrupted: the last checkpoint is kept; give the same command again to go on")
        if isinstance(error, Terminated):
            raise typer.Exit(TERMINATED) from error
        raise


def _fits(found: Fit, steps: int) -> None:
    say(
        f"{found.micro_batch} at once, in {found.needed / 1e9:.1f} GB of the "
        f"{found.free / 1e9:.1f} GB that are free; about {duration(found.seconds)} per step, "
        f"{duration(found.seconds * steps)} for {steps:,} steps, without evaluations"
    )


def _show(record: Mapping[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    from semqa.cli.tables import print_tables

    table = Table(box=box.SIMPLE, pad_edge=False)
    columns = (*SHOWN, ("SEMQA", "semqa"))
    for name in ("epoch", "step", *(name for name, _ in columns), "verified"):
        table.add_column(name, justify="right")
    for each in record["history"]:
        table.add_row(
            f"{each['epoch']:g}",
            str(each["step"]),
            *(f"{each[key]:.1f}" if key in each else "–" for _, key in columns),
            f"{100 * each['verified']:.0f}%",
            style="bold" if each["step"] == record["best"]["step"] else None,
        )
    print_tables(table)
    for key, told in (
        ("left_out", "answers left out: too long with their prompts, or blank"),
        ("unverified", "answers learned from that quote what no source has"),
        ("shared_questions", "questions in both files"),
    ):
        if record[key]:
            write_result(f"{told}: {record[key]}")
