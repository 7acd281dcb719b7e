"""`semqa questions`: questions with several answers and their passages, to write answers to."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semqa.cli.options import AsJson
from semqa.cli.output import json_line, progress_bar, say, write_result
from semqa.cli.ray_options import (
    DistributedBy,
    NumCpus,
    NumGpus,
    NumWorkers,
    RayAddress,
    opened_ray,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from semqa.questions.collect import Count, Plan, Workers
    from semqa.questions.filters import Rules

__all__ = ["app"]

app = typer.Typer(
    help="Collect questions with several answers, each in a passage of its own.",
    no_args_is_help=True,
)

_RULES = "What passes"

Out = Annotated[
    Path,
    typer.Option(
        "--out", "-o", help="Folder of this collection; run again, it goes on.", show_default=False
    ),
]
Qa = Annotated[
    str,
    typer.Option(
        metavar="JUDGE",
        help="QA model: lexical, transformers:qa=MODEL or engine:SPEC.",
        rich_help_panel=_RULES,
    ),
]
LeastScore = Annotated[
    float, typer.Option(help="Least score of an answer by it.", rich_help_panel=_RULES)
]
LeastWords = Annotated[int, typer.Option(help="Fewest words of a passage.", rich_help_panel=_RULES)]
MostWords = Annotated[int, typer.Option(help="Most words of a passage.", rich_help_panel=_RULES)]
LeastEdits = Annotated[
    float,
    typer.Option(
        help="Answers nearer by edits, as a share of their length, are equal.",
        rich_help_panel=_RULES,
    ),
]
MostOverlap = Annotated[
    float,
    typer.Option(help="Answers that share so many words are equal.", rich_help_panel=_RULES),
]
Equivalence = Annotated[
    str,
    typer.Option(
        metavar="JUDGE",
        help="Tells equal answers: lexical, transformers:nli=MODEL, engine:SPEC or none.",
        rich_help_panel=_RULES,
    ),
]
LeastEquivalence = Annotated[
    float,
    typer.Option(help="Probability from which it counts, both ways.", rich_help_panel=_RULES),
]
Similar = Annotated[
    float,
    typer.Option(help="Questions with this TF-IDF cosine are merged.", rich_help_panel=_RULES),
]
MostSources = Annotated[
    int, typer.Option(help="Most passages of a question.", rich_help_panel=_RULES)
]
Device = Annotated[
    str | None,
    typer.Option(
        help="Device of the models.", show_default="a GPU if there is one", rich_help_panel=_RULES
    ),
]


@app.command()
def paq(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="PAQ.unfiltered_metadata.jsonl or PAQ.metadata.jsonl, perhaps .gz.",
            show_default=False,
        ),
    ],
    passages: Annotated[
        Path, typer.Option(help="psgs_w100.tsv, not compressed.", show_default=False)
    ],
    out: Out,
    qa: Qa = "lexical",
    least_score: LeastScore = 0.5,
    least_words: LeastWords = 80,
    most_words: MostWords = 200,
    least_edits: LeastEdits = 0.3,
    most_overlap: MostOverlap = 0.5,
    equivalence: Equivalence = "lexical",
    least_equivalence: LeastEquivalence = 0.5,
    similar: Similar = 0.9,
    most_sources: MostSources = 8,
    device: Device = None,
    distributed: DistributedBy = None,
    ray_address: RayAddress = None,
    workers: NumWorkers = None,
    num_cpus: NumCpus = None,
    num_gpus: NumGpus = None,
    as_json: AsJson = False,
) -> None:
    """Collect questions from PAQ's released files.

    Streams: the files may be larger than memory. Stop it when you like: the
    same command goes on where it was.
    """
    from semqa.questions.collect import collect_paq
    from semqa.questions.filters import Rules

    rules = Rules(
        qa=qa,
        least_score=least_score,
        least_words=least_words,
        most_words=most_words,
        least_edits=least_edits,
        most_overlap=most_overlap,
        equivalence="" if equivalence == "none" else equivalence,
        least_equivalence=least_equivalence,
        similar=similar,
        most_sources=most_sources,
        device=device,
    )
    given = {
        "distributed": distributed,
        "ray_address": ray_address,
        "workers": workers,
        "num_cpus": num_cpus,
        "num_gpus": num_gpus,
    }
    with opened_ray(given) as ray, _resumable():
        _show(out, collect_paq(_plan(out, rules, ray), files, passages), as_json)


def _plan(out: Path, rules: Rules, workers: Workers | None) -> Plan:
    from semqa.questions.collect import Plan

    return Plan(out, rules, _progress, workers)


@contextmanager
def _progress(title: str) -> Iterator[Callable[[int, int | None], None] | None]:
    with progress_bar(title, "bytes") as update:
        yield update


@contextmanager
def _resumable() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        say("stopped; the same command goes on from here")
        raise typer.Exit(130) from None


def _show(out: Path, counts: Sequence[Count], as_json: bool) -> None:
    from semqa.questions.run import QUESTIONS_FILE

    if as_json:
        steps = [each._asdict() for each in counts]
        write_result(json_line({"out": str(out), "steps": steps}, indent=2))
        return
    from semqa.cli.tables import print_tables, things_table

    print_tables(things_table(("step", "questions", "answers"), counts))
    write_result(f"{counts[-1].questions:,} questions are in {out / QUESTIONS_FILE}")
