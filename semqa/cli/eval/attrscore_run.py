"""``semqa eval attrscore run`` and ``score``: ask a judge, and score what it said."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semqa.attribution.attrscore import RunRecord
from semqa.attribution.attrscore.labels import DEFAULT_FAMILY
from semqa.attribution.records import describe_judge, versions
from semqa.cli.eval.judge_options import JudgeOptions, takes_judge_options
from semqa.cli.eval.judging import judge_progress
from semqa.cli.eval.options import RecordOut, Resamples, Seed
from semqa.cli.inputs import check_not_an_input, check_stdin_once
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.attrscore import AttrPrompt, Example, Judged
    from semqa.attribution.judges import CachedJudge

__all__ = ["run", "score"]

ALL = "all"
"""The paper's four prompt families."""

Family = Annotated[
    str | None,
    typer.Option(
        help="Prompt family: attribution-defined, attribution, fact-checking, nli, summarization.",
        show_default="attribution-defined",
    ),
]


@takes_judge_options
def run(
    asking: JudgeOptions,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV or JSON lines with query, answer, reference and label; - for standard "
            "input.",
            show_default=False,
        ),
    ],
    by: Annotated[
        Literal["prompt", "entailment"] | None,
        typer.Option(
            help="How the judge is asked.",
            show_default="prompt for language models and where a prompt is chosen, else entailment",
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            help="Prompt family: attribution-defined, attribution, fact-checking, nli, "
            "summarization; all for the paper's four and their mean.",
            show_default="attribution-defined",
        ),
    ] = None,
    prompt: Annotated[
        Path | None,
        typer.Option(help="A prompt of your own, in place of the family's.", show_default=False),
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
            help="Exemplars of your own: claim (or query and answer), reference, label, why.",
            show_default=False,
        ),
    ] = None,
    no_query: Annotated[
        bool, typer.Option("--no-query", help="Judge the answer alone, without the query.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many rows.")] = None,
    max_new_tokens: Annotated[
        int, typer.Option(min=1, max=4096, help="Room for what the judge writes.")
    ] = 64,
    out: RecordOut = None,
    resamples: Resamples = 1_000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Ask a judge for the label of each claim, and score the labels.

    What was judged is kept: a run that was interrupted or killed goes on
    where it stopped when the same command is given again. The record holds
    every row; semqa eval attrscore score reads it.
    """
    from semqa.attribution.attrscore import read_examples, way_of, write_record
    from semqa.attribution.attrscore.labels import PAPER_FAMILIES

    check_stdin_once(file, exemplars)
    check_not_an_input(out, file, exemplars, prompt)
    examples = read_examples(file)[:limit]
    families = PAPER_FAMILIES if family == ALL else (family,)
    asks = [_prompt(each, prompt, shots, exemplars) for each in families]
    asked = asking.open()
    try:
        prompted = any(value is not None for value in (family, prompt, shots, exemplars))
        way = way_of(asked, by, prompted=prompted)
        if way == "entailment" and prompted:
            raise InputError(
                "entailment has no prompt.",
                field="--by",
                hint="Leave out --by, or --family, --prompt, --shots and --exemplars.",
            )
        records = []
        for each in asks:
            judged = _ask(asked, way, examples, each, not no_query, max_new_tokens)
            settings: dict[str, Any] = {
                "judge": describe_judge(asked),
                "way": way,
                "prompt": each.to_dict() if way == "prompt" else None,
                "max_new_tokens": max_new_tokens if way == "prompt" else None,
                "with_query": not no_query,
                "data": {"file": file.name, "rows": len(examples), "sha256": _digest(examples)},
                "versions": versions(),
            }
            records.append(RunRecord(settings, tuple(judged), each.family.name, resamples, seed))
        if asked.kept and not as_json:
            say(
                f"{asked.asked} of {len(examples) * len(asks)} claims were put to the judge; the "
                "others were judged before, or are doubles"
            )
    finally:
        asked.close()
    if family == ALL:
        _show_all(records, out, as_json=as_json)
        return
    if out is not None:
        write_record(out, records[0])
    _show(records[0], official=False, as_json=as_json)
    if out is not None and not as_json:
        say(f"record: {out}")


def score(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A record of run (.json), or rows of a label and an output: CSV, TSV, JSON lines, "
            "or a JSON array; - for standard input, as JSON lines.",
            show_default=False,
        ),
    ],
    family: Family = None,
    official: Annotated[
        bool,
        typer.Option(
            "--official", help="Add what the released code parses and prints, defects and all."
        ),
    ] = False,
    per_example: Annotated[
        Path | None,
        typer.Option(help="Write each row's label here, as JSON lines.", show_default=False),
    ] = None,
    resamples: Resamples = 1_000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Parse a model's outputs and score the labels, without asking a judge again."""
    from semqa.attribution.attrscore import family_named, read_outputs, read_record

    check_not_an_input(per_example, file)
    if _is_record(file):
        found = read_record(file)
        name = found.family if family is None else family_named(family).name
        if name != found.family:
            raise InputError(
                f"--family: got {name!r}, expected {found.family!r}, in which the record's judge "
                "was asked; leave it out"
            )
        record = RunRecord(found.settings, found.judged, name, resamples, seed)
    else:
        name = family_named(family or DEFAULT_FAMILY).name
        record = RunRecord({}, read_outputs(file), name, resamples, seed)
    if per_example is not None:
        from semqa.data.jsonl import write_jsonl

        write_jsonl(per_example, record.to_dict()["rows"])
    _show(record, official=official, as_json=as_json)


def _is_record(file: Path) -> bool:
    """Whether a file is a JSON object that states a format, and not rows."""
    from semqa.data.files import open_input

    if file.suffix.lower() != ".json":
        return False
    with open_input(file) as opened:
        return b'"format"' in opened.read_line(1) + opened.read_line(2)


def _prompt(
    family: str | None, prompt: Path | None, shots: int | None, exemplars: Path | None
) -> AttrPrompt:
    from semqa.attribution.attrscore import AttrPrompt, read_shots, shipped_shots

    shown = shipped_shots() if exemplars is None else read_shots(exemplars)
    wanted = shots if shots is not None else (0 if exemplars is None else len(shown))
    if wanted > len(shown):
        raise InputError(
            f"--shots: got {wanted}, expected at most {len(shown)}, as many exemplars as there are; "
            "choose fewer, or name a file of more with --exemplars"
        )
    return AttrPrompt.create(family or DEFAULT_FAMILY, prompt=prompt, shots=shown[:wanted])


def _ask(
    judge: CachedJudge,
    way: str,
    examples: list[Example],
    prompt: AttrPrompt,
    with_query: bool,
    max_new_tokens: int,
) -> list[Judged]:
    from semqa.attribution.attrscore import judge_by_entailment, judge_by_prompt

    with judge_progress(judge, "attrscore"):
        if way == "entailment":
            return judge_by_entailment(judge, examples, with_query=with_query)
        return judge_by_prompt(
            judge, examples, prompt, with_query=with_query, max_new_tokens=max_new_tokens
        )


def _digest(examples: list[Example]) -> str:
    """Return a digest of what was judged, whatever file it came from."""
    import hashlib

    from semqa.data.jsonl import encode_row

    digest = hashlib.sha256()
    for example in examples:
        digest.update(encode_row(example.to_dict()))
    return digest.hexdigest()


def _show_all(records: Sequence[RunRecord], out: Path | None, *, as_json: bool) -> None:
    """Show the F1 scores of several prompts and their mean; write a record per prompt."""
    from semqa.attribution.attrscore import write_record
    from semqa.attribution.attrscore.scores import mean_scores

    if out is not None:
        for record in records:
            write_record(out.with_suffix(f".{record.family}{out.suffix}"), record)
    scores = {record.family: record.scores() for record in records}
    mean = mean_scores(list(scores.values()))
    if as_json:
        write_result(json_line({"families": scores, "mean": mean}, indent=2))
        return
    from semqa.attribution.attrscore import LABELS
    from semqa.cli.tables import print_tables, things_table

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
    from semqa.cli.tables import print_tables

    print_tables(*_tables(scores, figures))
    for line in _notes(scores, figures):
        write_result(line)
    if record.too_long:
        write_result(f"too long for the judge: {record.too_long} rows, which count as unparsed")
    if official and figures is None:
        write_result("released code: unscored, for nothing that a model wrote is in the record")


def _tables(scores: Mapping[str, Any], figures: Mapping[str, Any] | None) -> list[Any]:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("")
    names = ("F1", "95% interval", "precision", "recall", "n", "predicted")
    for name in (*names, "released code") if figures else names:
        table.add_column(name, justify="right")
    for label, each in scores["labels"].items():
        official = [_percent(figures[f"f1 {label}"], "NaN")] if figures else []
        table.add_row(
            label,
            _percent(each["f1"]),
            _interval(scores, label),
            _percent(each["precision"]),
            _percent(each["recall"]),
            str(each["n"]),
            str(each["predicted"]),
            *official,
        )
    for name, shown in (("micro_f1", "micro-F1 (overall)"), ("macro_f1", "macro-F1")):
        official = [_percent(figures[name], "NaN")] if figures else []
        cells = (
            shown,
            _percent(scores[name]),
            _interval(scores, name),
            "",
            "",
            str(scores["n"]),
            "",
        )
        table.add_row(*cells, *official, style="bold" if name == "micro_f1" else None)
    return [table]


def _notes(scores: Mapping[str, Any], figures: Mapping[str, Any] | None) -> list[str]:
    notes = []
    if scores["unparsed"]:
        notes.append(
            f"unparsed: {scores['unparsed']} of {scores['n']} outputs, which count as wrong; "
            f"micro-F1 of the parsed ones alone: {_percent(scores['parsed_accuracy'])}"
        )
    if scores["unlabelled"]:
        notes.append(f"unlabelled: {scores['unlabelled']} rows, which are judged and not scored")
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
