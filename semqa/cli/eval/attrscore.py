"""``semqa eval attrscore``: label claims as attributable, extrapolatory or contradictory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semqa.attribution.attrscore.options import TrainingOptions
from semqa.cli.declared import taking
from semqa.cli.eval.judging import (
    JudgeCommand,
    JudgeOptions,
    Limit,
    RecordOut,
    Resamples,
    Seed,
    judge_progress,
)
from semqa.cli.inputs import check_not_an_input, check_stdin_once
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result
from semqa.cli.tables import make_table, print_tables, things_table
from semqa.cli.train import training_progress
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from semqa.attribution.attrscore.judging import AttrPrompt, RunRecord
    from semqa.attribution.attrscore.labels import Example, Label


ALL = "all"
"""Selects the paper's four prompt families."""

_FAMILIES = "attribution-defined, attribution, fact-checking, nli, summarization"


def run(
    ctx: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV or JSON lines with query, answer, reference and label; - for standard "
            "input.",
            show_default=False,
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
        Path | None,
        typer.Option(help="Your own prompt, instead of the family's.", show_default=False),
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
            help="File of your own exemplars: claim (or query and answer), reference, label, why.",
            show_default=False,
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
    from semqa.attribution.attrscore.files import read_examples
    from semqa.attribution.attrscore.judging import (
        RunRecord,
        choose_method,
        judge_by_entailment,
        judge_by_prompt,
    )
    from semqa.attribution.attrscore.labels import PAPER_FAMILIES
    from semqa.attribution.records import describe_judge, versions, write_record

    judge_options: JudgeOptions = ctx.obj[JudgeOptions]
    check_stdin_once(file, exemplars)
    check_not_an_input(out, file, exemplars, prompt)
    examples = read_examples(file)[:limit]
    families = PAPER_FAMILIES if family == ALL else (family,)
    asks = [_prompt(each, prompt, shots, exemplars) for each in families]
    judge = judge_options.open()
    try:
        prompted = any(value is not None for value in (family, prompt, shots, exemplars))
        method = choose_method(judge, prompted=prompted)
        records = []
        for each in asks:
            with judge_progress(judge, "attrscore"):
                if method == "entailment":
                    judged = judge_by_entailment(judge, examples, with_query=not no_query)
                else:
                    judged = judge_by_prompt(
                        judge,
                        examples,
                        each,
                        with_query=not no_query,
                        max_new_tokens=max_new_tokens,
                    )
            settings: dict[str, Any] = {
                "judge": describe_judge(judge),
                "way": method,
                "prompt": each.to_dict() if method == "prompt" else None,
                "max_new_tokens": max_new_tokens if method == "prompt" else None,
                "with_query": not no_query,
                "data": {"file": file.name, "rows": len(examples), "sha256": _digest(examples)},
                "versions": versions(),
            }
            records.append(RunRecord(settings, tuple(judged), each.family.name, resamples, seed))
        if judge.kept and not as_json:
            say(
                f"{judge.asked} of {len(examples) * len(asks)} claims were sent to the judge; the "
                "others were cached or duplicates"
            )
    finally:
        judge.close()
    if family == ALL:
        _show_all(records, out, as_json=as_json)
        return
    if out is not None:
        write_record(out, records[0].to_dict())
    _show(records[0], official=False, as_json=as_json)
    if out is not None and not as_json:
        say(f"record: {out}")


def score(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A record of run (.json), or rows with a label and an output: CSV, TSV, JSON lines, "
            "or a JSON array; - for JSON lines on standard input.",
            show_default=False,
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
    from semqa.attribution.attrscore.judging import RunRecord, read_outputs
    from semqa.attribution.attrscore.labels import DEFAULT_FAMILY, family_named

    judged, asked = read_outputs(file)
    name = family_named(family or asked or DEFAULT_FAMILY).name
    if asked is not None and name != asked:
        raise InputError(
            f"must be {asked!r}, as in the record, got {name!r}.", field="--family", value=name
        )
    record = RunRecord({}, judged, name, resamples, seed)
    _show(record, official=official, as_json=as_json)


def _prompt(
    family: str | None, prompt: Path | None, shots: int | None, exemplars: Path | None
) -> AttrPrompt:
    from semqa.attribution.attrscore.judging import AttrPrompt, read_shots, shipped_shots
    from semqa.attribution.attrscore.labels import DEFAULT_FAMILY

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
    import hashlib

    from semqa.data.jsonl import encode_row

    digest = hashlib.sha256()
    for example in examples:
        digest.update(encode_row(example.to_dict()))
    return digest.hexdigest()


def _show_all(records: Sequence[RunRecord], out: Path | None, *, as_json: bool) -> None:
    """Show the F1 scores of several prompts and their mean; write a record per prompt."""
    from semqa.attribution.attrscore.labels import LABELS
    from semqa.attribution.attrscore.scores import mean_scores
    from semqa.attribution.records import write_record

    if out is not None:
        for record in records:
            write_record(out.with_suffix(f".{record.family}{out.suffix}"), record.to_dict())
    scores = {record.family: record.scores() for record in records}
    mean = mean_scores(list(scores.values()))
    if as_json:
        write_result(json_line({"families": scores, "mean": mean}, indent=2))
        return
    rows = [
        (
            name,
            *(_percent(each["labels"][label]["f1"]) for label in LABELS),
            _percent(each["micro_f1"]),
        )
        for name, each in scores.items()
    ]
    rows.append(
        ("mean", *(_percent(mean[f"f1 {label}"]) for label in LABELS), _percent(mean["micro_f1"]))
    )
    print_tables(things_table(("F1 by prompt", *LABELS, "overall"), rows))
    unparsed = {name: each["unparsed"] for name, each in scores.items() if each["unparsed"]}
    for name, count in unparsed.items():
        write_result(f"unparsed: {count} of {len(records[0].judged)} outputs with {name}")


def _show(record: RunRecord, *, official: bool, as_json: bool) -> None:
    scores = record.scores()
    figures = record.official() if official else None
    if as_json:
        shown = {
            key: value for key, value in record.to_dict().items() if key not in ("rows", "official")
        }
        write_result(
            json_line(shown | ({} if figures is None else {"official": figures}), indent=2)
        )
        return
    from semqa.attribution.attrscore.labels import LABELS
    from semqa.attribution.attrscore.scores import f1_rows

    tables = [_table(scores, figures)]
    if scores["domains"]:
        titles = ("F1 by domain", "n", *LABELS, "micro", "macro")
        tables.append(things_table(titles, f1_rows(scores["domains"], "unscored")))
    print_tables(*tables)
    for line in _notes(scores, figures):
        write_result(line)
    if record.too_long:
        write_result(f"too long for the judge: {record.too_long} rows, counted as unparsed")
    if official and figures is None:
        write_result("released code: unscored, because the record has no model output")


def _table(scores: Mapping[str, Any], figures: Mapping[str, Any] | None) -> Table:
    names = ("F1", "95% interval", "precision", "recall", "n", "predicted")
    table = make_table("", *names, *(["released code"] if figures else []))
    for label, each in scores["labels"].items():
        official = [_percent(figures[f"f1 {label}"], "NaN")] if figures else []
        shares = (_percent(each["precision"]), _percent(each["recall"]))
        counts = (str(each["n"]), str(each["predicted"]))
        interval = _interval(scores, label)
        table.add_row(label, _percent(each["f1"]), interval, *shares, *counts, *official)
    for name, shown in (("micro_f1", "micro-F1 (overall)"), ("macro_f1", "macro-F1")):
        official = [_percent(figures[name], "NaN")] if figures else []
        cells = (_percent(scores[name]), _interval(scores, name), "", "", str(scores["n"]), "")
        table.add_row(shown, *cells, *official, style="bold" if name == "micro_f1" else None)
    return table


def _notes(scores: Mapping[str, Any], figures: Mapping[str, Any] | None) -> list[str]:
    notes = []
    if scores["unparsed"]:
        notes.append(
            f"unparsed: {scores['unparsed']} of {scores['n']} outputs, counted as wrong; "
            f"micro-F1 of the parsed ones: {_percent(scores['parsed_accuracy'])}"
        )
    if scores["unlabelled"]:
        notes.append(f"unlabelled: {scores['unlabelled']} rows, judged but not scored")
    if figures and figures["unparsed"]:
        notes.append(
            f"the released code leaves out {figures['unparsed']} outputs that it cannot parse"
        )
    reasons: dict[str, list[str]] = {}
    for label, each in scores["labels"].items():
        for name, reason in each["unscored"].items():
            reasons.setdefault(reason, []).append(f"{name} of {label}")
    for name, reason in scores["unscored"].items():
        reasons.setdefault(reason, []).append(name)
    notes += [f"unscored: {', '.join(names)} ({reason})" for reason, names in reasons.items()]
    return notes


def _percent(value: float | None, missing: str = "unscored") -> str:
    return missing if value is None else f"{100 * value:.1f}"


def _interval(scores: Mapping[str, Any], name: str) -> str:
    bounds = scores["intervals"].get(name)
    return "" if bounds is None else f"{100 * bounds[0]:.1f} – {100 * bounds[1]:.1f}"


Out = Annotated[
    Path,
    typer.Option("--out", "-o", help="Output file: .csv, or else JSON lines.", show_default=False),
]

PerLabel = Annotated[
    int | None,
    typer.Option(min=1, help="Maximum examples per label.", show_default="all"),
]


def _check_out(out: Path, file: Path) -> None:
    check_not_an_input(out, file)
    if out.suffix.lower() in (".tsv", ".json"):  # would not be read back as JSON lines
        raise InputError(f"must end with .csv or .jsonl, got {out.name!r}.", field="--out")


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
        typer.Option("--as", help="Task of the dataset.", show_default=False),
    ],
    label_word: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD=LABEL",
            help="Another spelling of a label; WORD=skip skips its rows; repeatable.",
        ),
    ] = None,
    balance: Annotated[
        bool, typer.Option("--balance", help="Sample the same number of each label.")
    ] = False,
    per_label: PerLabel = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Convert a dataset of a related task to AttrScore's labels."""
    from semqa.attribution.attrscore.files import write_examples
    from semqa.attribution.attrscore.mapping import balanced, map_examples

    _check_out(out, file)
    mapped = map_examples(file, task, _words(label_word or ()))
    examples = mapped.examples
    if balance or per_label is not None:
        examples = balanced(examples, per_label, seed)
    if not examples:
        raise InputError(
            f"All {mapped.skipped.total()} rows were skipped.",
            hint="Check the columns and --label-word.",
            where=str(file),
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
                f"must be WORD=LABEL with one of {', '.join(LABELS)} or skip, got {each!r}.",
                field="--label-word",
                value=each,
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
    write_result(
        "made: " + ", ".join(f"{count} {method}" for method, count in sorted(made.items()))
    )
    for reason, count in sorted(skipped.items()):
        write_result(f"skipped: {count} ({reason})")
    if counts.get("dropped"):
        write_result(f"left out for balance: {counts['dropped']}")
    say(f"examples: {out}")


def train(
    ctx: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Training examples with labels, such as from map: CSV, TSV or JSON lines.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Output folder.", show_default=False)],
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
    from semqa.attribution.attrscore.files import read_examples
    from semqa.attribution.attrscore.training import split_by_question
    from semqa.attribution.attrscore.training import train as fine_tune
    from semqa.training.folder import Ranks

    options: TrainingOptions = ctx.obj[TrainingOptions]
    if [str(file) for file in files].count("-") > (str(dev) != "-"):
        raise InputError("Only one input can be standard input (-).")
    examples: list[Example] = []
    for file in files:
        examples += read_examples(file, labelled=True)
    if dev is not None:
        dev_examples = read_examples(dev, labelled=True)
    else:
        examples, dev_examples = split_by_question(examples, dev_share, options.seed)
    with training_progress(quiet=as_json) as progress:
        record = fine_tune(
            examples,
            dev_examples,
            out,
            options,
            progress=progress,
        )
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
    for name, label in (
        ("cut", "references truncated to fit"),
        ("left_out", "left out because their claims are too long"),
    ):
        counts = record[name]
        if counts["train"] or counts["dev"]:
            write_result(f"{label}: {counts['train']} of training, {counts['dev']} of dev")


app = typer.Typer(
    name="attrscore",
    help="AttrScore: is a claim attributable to a reference, extrapolatory, or contradictory?",
    no_args_is_help=True,
)
app.command("run", cls=JudgeCommand)(run)
app.command("score")(score)
app.command("map")(map_command)
app.command("train", cls=taking(TrainingOptions))(train)
