"""``semqa eval attrscore``: label claims as attributable, extrapolatory or contradictory."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semqa.attribution.attrscore.options import TrainingOptions
from semqa.checks import check_choice
from semqa.cli.command import taking
from semqa.cli.eval.judging import (
    JudgeCommand,
    Limit,
    RecordOut,
    Resamples,
    Seed,
    finish,
    judge_bar,
    judging,
)
from semqa.cli.inputs import check_files
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result
from semqa.cli.tables import make_table, percent, print_tables, span, things_table
from semqa.cli.train import training_progress
from semqa.data.jsonl import encode_row, write_jsonl
from semqa.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from semqa.attribution.attrscore.examples import Example, Label
    from semqa.attribution.attrscore.judging import AttrPrompt

app = typer.Typer(
    help="AttrScore: is a claim attributable to a reference, extrapolatory, or contradictory?",
    no_args_is_help=True,
)

_FAMILIES = "attribution-defined, attribution, fact-checking, nli, summarization"


@app.command("run", cls=JudgeCommand)
def run(
    ctx: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV or JSON lines with query, answer, reference and label; - for standard "
            "input.",
        ),
    ],
    family: Annotated[
        str | None,
        typer.Option(
            help=f"Prompt family: {_FAMILIES}; all: the paper's four and their mean.",
            show_default="attribution-defined",
        ),
    ] = None,
    prompt: Annotated[
        Path | None, typer.Option(help="Your own prompt, instead of the family's.")
    ] = None,
    shots: Annotated[
        int | None,
        typer.Option(
            min=0, max=100, help="Exemplars in a prompt.", show_default="0, or all of --exemplars"
        ),
    ] = None,
    exemplars: Annotated[
        Path | None,
        typer.Option(
            help="File of your own exemplars: claim (or query and answer), reference, label, why."
        ),
    ] = None,
    no_query: Annotated[
        bool, typer.Option("--no-query", help="Judge the answer alone, without the query.")
    ] = False,
    limit: Limit = None,
    max_new_tokens: Annotated[
        int, typer.Option(min=1, max=4096, help="Maximum tokens in a reply.")
    ] = 64,
    out: RecordOut = None,
    resamples: Resamples = 1_000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Label each claim with a judge and score the labels.

    To resume an interrupted run, run the same command again: judgements are
    cached. The record has every row; semqa eval attrscore score reads it.
    """
    from semqa.attribution.attrscore.examples import PAPER_FAMILIES, read_examples
    from semqa.attribution.attrscore.judging import (
        judge_by_entailment,
        judge_by_prompt,
        run_record,
        uses_prompts,
    )
    from semqa.attribution.records import describe_judge, versions, write_record

    check_files(out, file, exemplars, prompt)
    examples = read_examples(file)[:limit]
    families = PAPER_FAMILIES if family == "all" else (family,)
    prompts = [_prompt(each, prompt, shots, exemplars) for each in families]
    records = []
    with judging(ctx) as judge:
        named = any(value is not None for value in (family, prompt, shots, exemplars))
        prompted = uses_prompts(judge, prompted=named)
        for each in prompts:
            asking: Any = {"with_query": not no_query}
            with judge_bar(judge, "attrscore"):
                if prompted:
                    asking["max_new_tokens"] = max_new_tokens
                    judged = judge_by_prompt(judge, examples, each, **asking)
                else:
                    judged = judge_by_entailment(judge, examples, **asking)
            settings = {
                "judge": describe_judge(judge),
                "way": "prompt" if prompted else "entailment",
                "prompt": each.to_dict() if prompted else None,
                "max_new_tokens": max_new_tokens if prompted else None,
                "with_query": not no_query,
                "data": {"file": file.name, "rows": len(examples), "sha256": _digest(examples)},
                "versions": versions(),
            }
            draws: Any = {"resamples": resamples, "seed": seed}
            records.append(run_record(judged, settings, family=each.family.name, **draws))
        if judge.kept and not as_json:
            say(
                f"{judge.asked} of {len(examples) * len(prompts)} claims were sent to the judge; "
                "the others were cached or duplicates"
            )
    if family == "all":
        if out is not None:
            for record in records:
                write_record(out.with_suffix(f".{record['family']}{out.suffix}"), record)
        _show_all(records, as_json=as_json)
        return
    (record,) = records
    hidden = ("rows", "official")
    finish(record, out, lambda: _show(record), as_json=as_json, hidden=hidden)


@app.command("score")
def score(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A record of run (.json), or rows with a label and an output: CSV, TSV, JSON lines, "
            "or a JSON array; - for JSON lines on standard input.",
        ),
    ],
    family: Annotated[
        str | None,
        typer.Option(help=f"Prompt family: {_FAMILIES}.", show_default="attribution-defined"),
    ] = None,
    official: Annotated[
        bool,
        typer.Option(
            "--official", help="Add the results of the released code, including its defects."
        ),
    ] = False,
    resamples: Resamples = 1_000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Parse a model's outputs and score the labels, without a judge."""
    from semqa.attribution.attrscore.examples import DEFAULT_FAMILY, FAMILIES
    from semqa.attribution.attrscore.judging import read_outputs, run_record

    judged, asked = read_outputs(file)
    name = family or asked or DEFAULT_FAMILY
    check_choice("--family", name, tuple(FAMILIES) if asked is None else (asked,))
    record = run_record(judged, {}, family=name, resamples=resamples, seed=seed)
    hidden = ("rows",) if official else ("rows", "official")
    finish(record, None, lambda: _show(record, official), as_json=as_json, hidden=hidden)


def _prompt(
    family: str | None, prompt: Path | None, shots: int | None, exemplars: Path | None
) -> AttrPrompt:
    from semqa.attribution.attrscore.examples import DEFAULT_FAMILY
    from semqa.attribution.attrscore.judging import AttrPrompt, read_shots, shipped_shots

    shown = shipped_shots() if exemplars is None else read_shots(exemplars)
    wanted = shots if shots is not None else (0 if exemplars is None else len(shown))
    if wanted > len(shown):
        raise InputError(
            f"must be at most {len(shown)}, got {wanted}.",
            field="--shots",
            value=wanted,
            hint="Add more with --exemplars FILE.",
        )
    return AttrPrompt.create(family or DEFAULT_FAMILY, prompt=prompt, shots=shown[:wanted])


def _digest(examples: list[Example]) -> str:
    """Return a digest of the examples that does not depend on the file format."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(encode_row(example.to_dict()))
    return digest.hexdigest()


def _show_all(records: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    from semqa.attribution.attrscore.examples import LABELS
    from semqa.attribution.attrscore.scores import mean_scores

    scores = {record["family"]: record["scores"] for record in records}
    mean = mean_scores(list(scores.values()))
    if as_json:
        write_result(json_line({"families": scores, "mean": mean}, indent=2))
        return
    rows = {
        name: [*(each["labels"][label]["f1"] for label in LABELS), each["micro_f1"]]
        for name, each in scores.items()
    }
    rows["mean"] = [*(mean[f"f1 {label}"] for label in LABELS), mean["micro_f1"]]
    cells = [(name, *map(percent, values)) for name, values in rows.items()]
    print_tables(things_table(("F1 by prompt", *LABELS, "overall"), cells))
    for name, each in scores.items():
        if each["unparsed"]:
            total = len(records[0]["rows"])
            write_result(f"unparsed: {each['unparsed']} of {total} outputs with {name}")


def _show(record: Mapping[str, Any], official: bool = False) -> None:
    from semqa.attribution.attrscore.examples import LABELS
    from semqa.attribution.attrscore.scores import f1_rows

    scores = record["scores"]
    released = record.get("official") if official else None
    tables = [_table(scores, released)]
    if scores["domains"]:
        titles = ("F1 by domain", "n", *LABELS, "micro", "macro")
        tables.append(things_table(titles, f1_rows(scores["domains"], "unscored")))
    print_tables(*tables)
    for line in _notes(scores, released):
        write_result(line)
    if "too_long" in record:
        write_result(f"too long for the judge: {record['too_long']} rows, counted as unparsed")
    if official and released is None:
        write_result("released code: unscored, because the record has no model output")


def _table(scores: Mapping[str, Any], released: Mapping[str, Any] | None) -> Table:
    names = ("F1", "95% interval", "precision", "recall", "n", "predicted")
    table = make_table("", *names, *(["released code"] if released else []))
    rows = [
        (label, label, f"f1 {label}", each["f1"], each) for label, each in scores["labels"].items()
    ]
    for name, shown in (("micro_f1", "micro-F1 (overall)"), ("macro_f1", "macro-F1")):
        rows.append((shown, name, name, scores[name], None))
    for shown, name, official, f1, each in rows:
        cells = ["", "", str(scores["n"]), ""]
        if each is not None:
            cells = [percent(each["precision"]), percent(each["recall"])]
            cells += [str(each["n"]), str(each["predicted"])]
        if released:
            cells.append(percent(released[official], "NaN"))
        interval = span(scores["intervals"].get(name), 1, times=100)
        style = "bold" if name == "micro_f1" else None
        table.add_row(shown, percent(f1), interval, *cells, style=style)
    return table


def _notes(scores: Mapping[str, Any], released: Mapping[str, Any] | None) -> Iterator[str]:
    if scores["unparsed"]:
        yield (
            f"unparsed: {scores['unparsed']} of {scores['n']} outputs, counted as wrong; "
            f"micro-F1 of the parsed ones: {percent(scores['parsed_accuracy'])}"
        )
    if scores["unlabelled"]:
        yield f"unlabelled: {scores['unlabelled']} rows, judged but not scored"
    if released and released["unparsed"]:
        yield f"the released code leaves out {released['unparsed']} outputs that it cannot parse"
    reasons: dict[str, list[str]] = {}
    for label, each in scores["labels"].items():
        for name, reason in each["unscored"].items():
            reasons.setdefault(reason, []).append(f"{name} of {label}")
    for name, reason in scores["unscored"].items():
        reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():
        yield f"unscored: {', '.join(names)} ({reason})"


@app.command("map")
def map_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="CSV, TSV, JSON lines or a JSON array.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Output file, as JSON lines.")],
    task: Annotated[
        Literal["fact-checking", "nli", "summarization"],
        typer.Option("--as", help="Task of the dataset."),
    ],
    label_word: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD=LABEL",
            help="Another spelling of a label; WORD=skip skips its rows; repeatable.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Convert a dataset of a related task to AttrScore's labels."""
    from semqa.attribution.attrscore.mapping import map_examples

    check_files(out, file)
    if out.suffix.lower() in (".csv", ".tsv", ".json"):  # would not be read back as JSON lines
        raise InputError(f"must end with .jsonl, got {out.name!r}.", field="--out")
    examples, skipped = map_examples(file, task, _words(label_word or ()))
    if not examples:
        raise InputError(
            f"All {skipped.total()} rows were skipped.",
            hint="Check the columns and --label-word.",
            where=str(file),
        )
    write_jsonl(out, (example.to_dict() for example in examples))
    labels = sorted(Counter(str(example.label) for example in examples).items())
    if as_json:
        record = {
            "out": str(out),
            "examples": len(examples),
            "labels": dict(labels),
            "skipped": dict(sorted(skipped.items())),
            "rows": len(examples) + skipped.total(),
        }
        write_result(json_line(record))
        return
    listed = ", ".join(f"{count} {label}" for label, count in labels)
    write_result(f"{len(examples)} example{'' if len(examples) == 1 else 's'}: {listed}")
    for reason, count in sorted(skipped.items()):
        write_result(f"skipped: {count} ({reason})")
    say(f"examples: {out}")


def _words(given: Sequence[str]) -> dict[str, Label | None]:
    from semqa.attribution.attrscore.examples import LABELS, label_named

    words: dict[str, Label | None] = {}
    for each in given:
        word, sign, name = each.partition("=")
        label = label_named(name)
        if not sign or not word.strip() or (label is None and name.strip().lower() != "skip"):
            raise InputError(
                f"must be WORD=LABEL with one of {', '.join(LABELS)} or skip, got {each!r}.",
                field="--label-word",
                value=each,
            )
        words[word] = label
    return words


@app.command("train", cls=taking(TrainingOptions))
def train(
    ctx: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Training examples with labels, such as from map: CSV, TSV or JSON lines.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Output folder.")],
    dev: Annotated[
        Path | None,
        typer.Option(help="Examples to select the best model.", show_default="a share of FILE"),
    ] = None,
    dev_share: Annotated[
        float,
        typer.Option(
            min=0.001, max=0.9, help="Share of examples for dev, split by question (without --dev)."
        ),
    ] = 0.1,
    as_json: AsJson = False,
) -> None:
    """Fine-tune a classifier or a seq2seq model on labelled examples.

    The output folder gets the best model (model), checkpoints during training,
    and training.json. To resume an interrupted training, run the same command
    again. Use the model with --judge transformers:nli=OUT/model, or
    engine:transformers:OUT/model for seq2seq.
    """
    from semqa.attribution.attrscore.examples import read_examples
    from semqa.attribution.attrscore.training import split_by_question
    from semqa.attribution.attrscore.training import train as fine_tune
    from semqa.training.folder import Ranks

    options: TrainingOptions = ctx.obj[TrainingOptions]
    check_files(None, *files, dev)
    examples: list[Example] = []
    for file in files:
        examples += read_examples(file, labelled=True)
    if dev is not None:
        dev_examples = read_examples(dev, labelled=True)
    else:
        examples, dev_examples = split_by_question(examples, dev_share, options.seed)
    with training_progress(quiet=as_json) as progress:
        record = fine_tune(examples, dev_examples, out, options, progress=progress)
    if not Ranks.first_here():
        return
    if as_json:
        write_result(json_line(record, indent=2))
        return
    _show_training(record)
    say(f"model: {out / 'model'}")


def _show_training(record: Mapping[str, Any]) -> None:
    titles = ("step", "micro-F1", "macro-F1", "Attr.", "Contra.", "Extra.", "unparsed")
    table = make_table("epoch", *titles, left=0)
    best = record["best"]
    names = ("micro_f1", "macro_f1", "f1_attributable", "f1_contradictory", "f1_extrapolatory")
    for each in record["history"]:
        table.add_row(
            f"{each['epoch']:g}",
            str(each["step"]),
            *(percent(each[name]) for name in names),
            str(each["unparsed"]),
            style="bold" if best and each["step"] == best["step"] else None,
        )
    print_tables(table)
    for name, label in (
        ("cut", "references truncated to fit"),
        ("left_out", "left out because their claims are too long"),
    ):
        counts = record[name]
        if counts["train"] or counts["dev"]:
            write_result(f"{label}: {counts['train']} of training, {counts['dev']} of dev")
