"""``semqa eval citations`` and ``semqa eval disambig``: ALCE's scores, and ASQA's."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semqa.attribution.judges.base import able
from semqa.cli.eval.auto_ais import read_given
from semqa.cli.eval.judge_options import JudgeOptions, takes_judge_options
from semqa.cli.eval.judging import judge_progress, too_long_note, unparsed_note
from semqa.cli.eval.options import RecordOut, Resamples, Rescore, Seed, check_rescore
from semqa.cli.inputs import check_not_an_input, check_stdin_once
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.citations.examples import AnswerExample

__all__ = ["citations", "disambig"]

SHOWN = {
    "recall": "citation recall",
    "precision": "citation precision",
    "disambig_f1": "Disambig-F1",
    "disambig_em": "answered exactly",
    "disambig_hit": "all answered exactly",
    "str_em": "short answers found",
    "str_hit": "all short answers found",
    "rouge_l": "ROUGE-L",
    "length": "words",
}

References = Annotated[
    Path | None,
    typer.Option(
        "--references",
        "-r",
        help='QuoteSum JSON lines, for questions and sources; FILE then has {"qid", "prediction"}.',
        show_default=False,
    ),
]
Official = Annotated[
    bool,
    typer.Option("--official", help="Read and count as the released scripts do, defects and all."),
]


@takes_judge_options
def citations(
    asking: JudgeOptions,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A run of ALCE (JSON); answers with their sources, as semqa answer --json writes "
            "them; or predictions, with --references; - for standard input.",
            show_default=False,
        ),
    ] = None,
    references: References = None,
    at_most: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Count so many citations a sentence, the first ones.",
            show_default="all; 3 with --official",
        ),
    ] = None,
    official: Official = False,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Pass over questions that have no prediction.")
    ] = False,
    resamples: Resamples = 1_000,
    seed: Seed = 0,
    out: RecordOut = None,
    rescore: Rescore = None,
    as_json: AsJson = False,
) -> None:
    """Score citations: does what a sentence cites support it, and is each citation needed?

    The sentences of a quoted answer cite what they quote. A run of ALCE is
    also scored for the short answers that it holds and by ROUGE-L. What was
    judged is kept: the same command, given again, asks only for the rest.
    """
    from semqa.attribution.citations.report import (
        CITATIONS,
        Settings,
        citation_rows,
        rows_again,
        summarise_citations,
    )
    from semqa.attribution.judges import PatientJudge
    from semqa.attribution.records import describe_judge, read_record, versions

    check_rescore(rescore, (file,), references)
    check_stdin_once(file, references, rescore)
    check_not_an_input(out, file, references, rescore)
    if rescore is not None:
        record = read_record(rescore, CITATIONS)
        head, rows = dict(record.fields), rows_again(record)
        notes = _note_again(head, "neutral")
    else:
        examples = _examples(file or Path("-"), references, allow_missing=allow_missing)
        settings = Settings(at_most, official)
        asked = asking.open()
        patient = PatientJudge(asked)
        try:
            with judge_progress(asked, "judging"):
                rows = citation_rows(examples, able(patient, "entailment"), settings)
        finally:
            asked.close()
        notes = [f"judge: {asked.name}", *unparsed_note(asked), *too_long_note(patient.too_long)]
        config = {
            "judge": describe_judge(asked),
            **dataclasses.asdict(settings),
            "too_long": patient.too_long,
        }
        head = {"kind": CITATIONS, "config": config, "versions": versions("numpy", "rapidfuzz")}
    head["results"] = summarise_citations(rows, resamples=resamples, seed=seed)
    _finish(head, rows, out, notes, as_json=as_json)


@takes_judge_options
def disambig(
    asking: JudgeOptions,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A run of ALCE on ASQA (JSON); or ASQA.json, with --predictions; - for standard "
            "input.",
            show_default=False,
        ),
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            "--predictions",
            "-p",
            help="Answers by ASQA's keys, as a JSON object or as JSON lines with qid and prediction.",
            show_default=False,
        ),
    ] = None,
    split: Annotated[str, typer.Option(help="Of ASQA.json.")] = "dev",
    official: Official = False,
    resamples: Resamples = 1_000,
    seed: Seed = 0,
    out: RecordOut = None,
    rescore: Rescore = None,
    as_json: AsJson = False,
) -> None:
    """Score answers to ambiguous questions: Disambig-F1, and DR, as ASQA does.

    The judge reads the answer to each reading of the question off the long
    answer; the papers take RoBERTa-large trained on SQuAD 2.0.
    """
    from semqa.attribution.citations.examples import read_alce, read_asqa
    from semqa.attribution.citations.report import (
        DISAMBIG,
        Settings,
        disambig_rows,
        rows_again,
        summarise_disambig,
    )
    from semqa.attribution.citations.scores import disambig_scores
    from semqa.attribution.judges import PatientJudge
    from semqa.attribution.records import describe_judge, read_record, versions

    check_rescore(rescore, (file,), predictions)
    check_stdin_once(file, predictions, rescore)
    check_not_an_input(out, file, predictions, rescore)
    given = file or Path("-")
    if rescore is not None:
        record = read_record(rescore, DISAMBIG)
        head, rows = dict(record.fields), rows_again(record)
        notes = _note_again(head, "no answer")
    else:
        examples = read_alce(given) if predictions is None else read_asqa(given, predictions, split)
        asked = asking.open()
        patient = PatientJudge(asked)
        reader = able(patient, "answer")
        settings = Settings(official=official)
        try:
            with judge_progress(asked, "reading"):
                rows = disambig_rows(
                    examples, disambig_scores(examples, reader, official=official), settings
                )
        finally:
            asked.close()
        notes = [
            f"judge: {asked.name}",
            *unparsed_note(asked, "no answer"),
            *too_long_note(patient.too_long, "no answer"),
        ]
        config = {
            "judge": describe_judge(asked),
            "official": official,
            "too_long": patient.too_long,
        }
        head = {"kind": DISAMBIG, "config": config, "versions": versions("numpy", "rapidfuzz")}
    head["results"] = summarise_disambig(rows, resamples=resamples, seed=seed)
    _finish(head, rows, out, notes, as_json=as_json)


def _note_again(head: Mapping[str, Any], taken_for: str) -> list[str]:
    """Return the remark of a record's run on what was too long for its judge."""
    config = head.get("config")
    count = config.get("too_long") if isinstance(config, dict) else None
    return too_long_note(count, taken_for) if isinstance(count, int) else []


def _examples(file: Path, references: Path | None, *, allow_missing: bool) -> list[AnswerExample]:
    from semqa.attribution.citations.examples import AnswerExample, looks_like_alce, read_alce
    from semqa.quotes import QuotedAnswer

    if references is None and looks_like_alce(file):
        return read_alce(file)
    wanted: dict[str, tuple[str, ...]] = {}
    if references is not None:
        from semqa.data.quotesum import read_quotesum
        from semqa.metrics.marks import strip_marks

        wanted = {
            question.qid: tuple(map(strip_marks, question.texts))
            for question in read_quotesum(references)
        }
    return [
        AnswerExample.of_quoted(
            one.key,
            one.question,
            QuotedAnswer.parse(one.text, one.sources),
            wanted.get(one.key, ()),
        )
        for one in read_given(file, references, allow_missing=allow_missing)
    ]


def _finish(
    head: dict[str, Any],
    rows: Sequence[Mapping[str, Any]],
    out: Path | None,
    notes: Sequence[str],
    *,
    as_json: bool,
) -> None:
    record = {**head, "rows": list(rows)}
    if out is not None:
        from semqa.attribution.records import write_record

        write_record(out, record)
    if as_json:
        write_result(json_line(record, indent=2))
        return
    from semqa.cli.tables import figures_table, print_tables

    results = head["results"]
    shown = [(name, results[key]) for key, name in SHOWN.items() if key in results]
    print_tables(
        figures_table(
            head["kind"],
            [(name, each["value"], each["interval"], each["n"]) for name, each in shown],
        )
    )
    if results.get("dr") is not None:
        write_result(f"DR: {results['dr']:.2f}")
    if "sentences" in results:
        write_result(
            f"{results['sentences']} sentences, {results['sentences_uncited']} without a citation; "
            f"{results['citations']} citations, {results['citations_precise']} precise"
        )
    reasons: dict[tuple[str, int], list[str]] = {}
    for name, each in shown:
        for reason, count in each.get("unscored", {}).items():
            reasons.setdefault((reason, count), []).append(name)
    for (reason, count), names in reasons.items():
        write_result(f"unscored: {count} of {results['answers']} ({reason}) in {', '.join(names)}")
    for note in notes:
        say(note)
