"""``semqa eval attrscore train``: a model that tells the labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result
from semqa.cli.training import told_progress
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from semqa.attribution.attrscore import Example

__all__ = ["train"]


def train(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Labelled examples to learn from: CSV, TSV or JSON lines, as simulate and map "
            "write them.",
            show_default=False,
        ),
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
    dev: Annotated[
        Path | None,
        typer.Option(help="Examples that tell the best model.", show_default="a share of FILE"),
    ] = None,
    dev_share: Annotated[
        float,
        typer.Option(
            min=0.001, max=0.9, help="Without --dev: so much of the examples, by question."
        ),
    ] = 0.1,
    kind: Annotated[
        Literal["auto", "classifier", "seq2seq"],
        typer.Option(help="auto: seq2seq for encoder-decoder models, else classifier."),
    ] = "auto",
    family: Annotated[
        str, typer.Option(help="Of the prompt, for seq2seq.")
    ] = "attribution-defined",
    no_query: Annotated[
        bool, typer.Option("--no-query", help="Claims without their query.")
    ] = False,
    epochs: Annotated[float, typer.Option(help="Passes over the examples.")] = 3.0,
    max_steps: Annotated[
        int | None, typer.Option(help="End after so many steps.", show_default="by epochs")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Examples a step, in all processes.")] = 8,
    accumulate: Annotated[
        int,
        typer.Option(
            "--accumulate", "--gradient-accumulation-steps", help="Batches that make a step."
        ),
    ] = 8,
    learning_rate: Annotated[float, typer.Option(help="At its highest.")] = 2e-5,
    warmup_steps: Annotated[int, typer.Option(help="0 for a share of the steps.")] = 0,
    warmup_ratio: Annotated[
        float, typer.Option(help="Share of the steps over which it rises.")
    ] = 0.03,
    weight_decay: Annotated[float, typer.Option(help="Of the optimizer.")] = 0.0,
    max_length: Annotated[
        int, typer.Option(help="Tokens of an input; references are cut, claims never.")
    ] = 512,
    save_steps: Annotated[
        int | None, typer.Option(help="Steps between checkpoints.", show_default="an epoch")
    ] = None,
    metric: Annotated[
        Literal["micro_f1", "macro_f1"], typer.Option(help="That tells the best model.")
    ] = "micro_f1",
    keep_checkpoints: Annotated[
        bool, typer.Option("--keep-checkpoints", help="Leave them when all is done.")
    ] = False,
    max_checkpoints: Annotated[int, typer.Option(help="Left at a time.")] = 2,
    seed: Annotated[
        int, typer.Option(envvar="SEMQA_SEED", help="Of weights, order and split.")
    ] = 0,
    device: Annotated[
        Literal["cpu"] | None, typer.Option(help="Keep off the GPU.", show_default="a GPU if any")
    ] = None,
    bf16: Annotated[bool, typer.Option("--bf16", help="Compute in bfloat16.")] = False,
    fp16: Annotated[bool, typer.Option("--fp16", help="Compute in float16, on a GPU.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fine-tune a classifier or a seq2seq model on labelled examples.

    The folder gets the best model (model), checkpoints while it trains, and
    training.json. A training that was interrupted or killed goes on where it
    stopped: give the same command again. The model is a judge then:
    --judge transformers:nli=OUT/model, or lm=OUT/model for seq2seq.
    """
    from semqa.attribution.attrscore import read_examples
    from semqa.attribution.attrscore.training import TrainingOptions, split_by_question
    from semqa.attribution.attrscore.training import train as fine_tune
    from semqa.trainer import Ranks

    options = TrainingOptions(
        model=model,
        kind=kind,
        family=family,
        with_query=not no_query,
        epochs=epochs,
        max_steps=max_steps,
        batch_size=batch_size,
        accumulate=accumulate,
        learning_rate=learning_rate,
        warmup_steps=warmup_steps,
        warmup_ratio=warmup_ratio,
        weight_decay=weight_decay,
        max_length=max_length,
        save_steps=save_steps,
        metric=metric,
        seed=seed,
        device=device,
        bf16=bf16,
        fp16=fp16,
    )
    if [str(file) for file in files].count("-") > (str(dev) != "-"):
        raise InputError(
            "standard input named twice: got - for more than one input, expected it once; name "
            "files for the others"
        )
    examples: list[Example] = []
    for file in files:
        examples += read_examples(file, labelled=True)
    if dev is not None:
        held = read_examples(dev, labelled=True)
    else:
        examples, held = split_by_question(examples, dev_share, seed)
    with told_progress(quiet=as_json) as progress:
        record = fine_tune(
            examples,
            held,
            out,
            options,
            keep_checkpoints=keep_checkpoints,
            max_checkpoints=max_checkpoints,
            progress=progress,
        )
    if not Ranks.first_here():
        return
    if as_json:
        write_result(json_line(record, indent=2))
        return
    _show(record)
    say(f"model: {out / 'model'}")


def _show(record: Mapping[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    from semqa.cli.tables import print_tables

    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in ("epoch", "step", "micro-F1", "macro-F1", "Attr.", "Contra.", "Extra.", "unparsed"):
        table.add_column(name, justify="right")
    best = record["best"]
    for each in record["history"]:
        names = ("micro_f1", "macro_f1", "f1_attributable", "f1_contradictory", "f1_extrapolatory")
        table.add_row(
            f"{each['epoch']:g}",
            str(each["step"]),
            *(f"{100 * each[name]:.1f}" for name in names),
            str(each["unparsed"]),
            style="bold" if best and each["step"] == best["step"] else None,
        )
    print_tables(table)
    for name, told in (
        ("cut", "references cut to fit"),
        ("left_out", "left out, their claims too long"),
    ):
        counts = record[name]
        if counts["train"] or counts["dev"]:
            write_result(f"{told}: {counts['train']} of training, {counts['dev']} of dev")
