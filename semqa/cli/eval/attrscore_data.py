"""``semqa eval attrscore simulate`` and ``map``: training data from question answering and related tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from semqa.cli.inputs import check_not_an_input
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result
from semqa.cli.progress import progress_bar
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from semqa.attribution.attrscore import Example, Label

__all__ = ["map_command", "simulate"]

Out = Annotated[
    Path,
    typer.Option(
        "--out", "-o", help="The examples: .csv, .tsv, or JSON lines.", show_default=False
    ),
]

PerLabel = Annotated[
    int | None,
    typer.Option(min=1, help="At most so many examples of each label.", show_default="all"),
]

Seed = Annotated[int, typer.Option(min=0, envvar="SEMQA_SEED", help="Of order and draws.")]


def simulate(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Questions with answers and context: SQuAD's .json, or JSON lines with question, "
            "answers and context (or ctxs); - for standard input.",
            show_default=False,
        ),
    ],
    out: Out,
    per_label: PerLabel = None,
    every_label: Annotated[
        bool,
        typer.Option(
            "--every-label", help="All three labels from every question, not one from each."
        ),
    ] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Make examples of the three labels from questions with answers, as many of each.

    Attributable as it is; contradictory by a wrong answer of the same kind, in
    the answer's place or throughout the context; extrapolatory by the nearest
    passage (BM25) that holds no form of the answer. Each row says how it was made.
    """
    from semqa.attribution.attrscore import write_examples
    from semqa.attribution.attrscore.simulation import read_qa
    from semqa.attribution.attrscore.simulation import simulate as make

    check_not_an_input(out, file)
    qa = read_qa(file)
    with progress_bar("simulate", "examples") as update:
        made = make(
            qa.items, per_label=per_label, every_label=every_label, seed=seed, on_progress=update
        )
    write_examples(out, made.examples)
    counts = {"questions": len(qa.items), "dropped": made.dropped, "seed": seed}
    _tell(out, made.examples, counts, qa.skipped + made.failed, as_json)


def map_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="CSV, TSV, JSON lines or a JSON array.", show_default=False
        ),
    ],
    out: Out,
    task: Annotated[
        Literal["fact-checking", "nli", "summarization"],
        typer.Option("--as", help="What the data set is of.", show_default=False),
    ],
    claim_column: Annotated[str | None, typer.Option(help="Where it has another name.")] = None,
    reference_column: Annotated[str | None, typer.Option(help="Where it has another name.")] = None,
    label_column: Annotated[str | None, typer.Option(help="Where it has another name.")] = None,
    query_column: Annotated[
        str | None, typer.Option(help="A question that goes with the claim.", show_default="none")
    ] = None,
    label_word: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD=LABEL",
            help="A further spelling of a label; WORD=skip leaves its rows out. Repeat it for more.",
        ),
    ] = None,
    balance: Annotated[
        bool, typer.Option("--balance", help="As many of each label, drawn by the seed.")
    ] = False,
    per_label: PerLabel = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Put the labels of a data set of a related task in AttrScore's terms."""
    from semqa.attribution.attrscore import write_examples
    from semqa.attribution.attrscore.mapping import TASKS, balanced, map_examples

    check_not_an_input(out, file)
    mapped = map_examples(
        file,
        TASKS[task],
        claim=claim_column,
        reference=reference_column,
        label=label_column,
        query=query_column,
        words=_words(label_word or ()),
    )
    examples = mapped.examples
    if balance or per_label is not None:
        examples = balanced(examples, per_label, seed)
    if not examples:
        raise InputError(
            f"{file}: no examples: got {mapped.skipped.total()} rows, all of them skipped, expected "
            "some with a label of the three; check the columns and --label-word"
        )
    write_examples(out, examples)
    counts = {"rows": len(mapped.examples) + mapped.skipped.total(), "seed": seed}
    _tell(out, examples, counts, mapped.skipped, as_json)


def _words(given: Sequence[str]) -> dict[str, Label | None]:
    from semqa.attribution.attrscore.labels import LABELS, label_named

    words: dict[str, Label | None] = {}
    for each in given:
        word, sign, name = each.partition("=")
        label = label_named(name)
        if not sign or not word.strip() or (label is None and name.strip().lower() != "skip"):
            raise InputError(
                f"--label-word: got {each!r}, expected WORD=LABEL with one of {', '.join(LABELS)} "
                "or skip; correct it"
            )
        words[word] = label
    return words


def _tell(
    out: Path,
    examples: Sequence[Example],
    counts: dict[str, int],
    skipped: Counter[str],
    as_json: bool,
) -> None:
    from collections import Counter

    labels = Counter(str(example.label) for example in examples)
    made = Counter(str(example.how.get("made")) for example in examples)
    if as_json:
        record = {
            "out": str(out),
            "examples": len(examples),
            "labels": dict(sorted(labels.items())),
            "made": dict(sorted(made.items())),
            "skipped": dict(sorted(skipped.items())),
            **counts,
        }
        write_result(json_line(record))
        return
    listed = ", ".join(f"{count} {label}" for label, count in sorted(labels.items()))
    write_result(f"{len(examples)} example{'' if len(examples) == 1 else 's'}: {listed}")
    write_result("made: " + ", ".join(f"{count} {way}" for way, count in sorted(made.items())))
    for reason, count in sorted(skipped.items()):
        write_result(f"skipped: {count} ({reason})")
    if counts.get("dropped"):
        write_result(f"left out for balance: {counts['dropped']}")
    say(f"examples: {out}")
