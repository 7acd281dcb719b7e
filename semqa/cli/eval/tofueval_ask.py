"""``semqa eval tofueval topics``, ``summarise``, ``judge`` and ``classify``: what asks a judge of documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semqa.cli.eval.judge_options import JudgeOptions, takes_judge_options
from semqa.cli.eval.judging import count_note, judge_progress, too_long_note
from semqa.cli.eval.options import RecordOut, Rescore, check_rescore
from semqa.cli.inputs import check_not_an_input, check_stdin_once
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.judges import CachedJudge, PatientJudge
    from semqa.attribution.prompts import JudgePrompt
    from semqa.attribution.tofueval.judging import Judgement

__all__ = [
    "Documents",
    "PromptFile",
    "Summaries",
    "classify",
    "finish",
    "judge",
    "load_prompt",
    "summarise",
    "tell_too_long",
    "topics",
]

JUDGED = "tofueval judgements"
RUNS_TEMPERATURE = 0.7
"""Of repeated runs, as in the paper."""

Documents = Annotated[
    list[Path] | None,
    typer.Option(
        "--documents",
        "-d",
        help="The dialogues: CSV or JSON lines with doc_id (or meeting_id) and source; repeat it.",
        show_default=False,
    ),
]
Summaries = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE...",
        help="Annotated sentences, CSV as released; or JSON lines with doc_id, topic, model_name "
        "and summary.",
        show_default=False,
    ),
]
PromptFile = Annotated[
    Path | None,
    typer.Option(help="A prompt of your own, a Jinja template.", show_default=False),
]


@takes_judge_options
def topics(
    asking: JudgeOptions,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="The dialogues: CSV or JSON lines with doc_id and source.",
            show_default=False,
        ),
    ] = None,
    count: Annotated[int, typer.Option(min=1, max=20, help="Topics of a document.")] = 3,
    prompt: PromptFile = None,
    out: RecordOut = None,
    as_json: AsJson = False,
) -> None:
    """Ask a language model for the topics of dialogues."""
    from semqa.attribution.judges import PatientJudge
    from semqa.attribution.tofueval.judging import find_topics

    check_not_an_input(out, *(files or ()))
    documents = _documents(files)
    template = load_prompt(prompt, "tofueval-topics")
    asked = asking.open()
    with judge_progress(asked, "topics"):
        patient = PatientJudge(asked)
        found = find_topics(list(documents.values()), patient, count=count, prompt=template)
    rows = [{"doc_id": f.doc_id, "topics": list(f.topics), "reply": f.reply} for f in found]
    record = _record("tofueval topics", asked, template, {"count": count}, rows)
    shown = [f"{f.doc_id}: {'; '.join(f.topics) or 'no topic in the reply'}" for f in found]
    tell_too_long(record, patient, "a reply without a topic")
    finish(record, out, shown, as_json=as_json)


@takes_judge_options
def summarise(
    asking: JudgeOptions,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="The dialogues: CSV or JSON lines with doc_id and source.",
            show_default=False,
        ),
    ] = None,
    wanted: Annotated[
        Path | None,
        typer.Option(
            "--topics",
            help="A record of topics, or JSON lines with doc_id and topic.",
            show_default=False,
        ),
    ] = None,
    words: Annotated[int, typer.Option(min=1, max=1000, help="That a summary has fewer of.")] = 50,
    model_name: Annotated[
        str | None, typer.Option(help="What the summaries are by.", show_default="the judge")
    ] = None,
    prompt: PromptFile = None,
    out: RecordOut = None,
    as_json: AsJson = False,
) -> None:
    """Ask a language model for summaries of dialogues, each on one topic."""
    from semqa.attribution.judges import PatientJudge
    from semqa.attribution.tofueval.judging import read_wanted
    from semqa.attribution.tofueval.judging import summarise as ask

    check_stdin_once(*(files or ()), wanted)
    check_not_an_input(out, *(files or ()), wanted)
    if wanted is None:
        raise InputError(
            "--topics: got none, expected a file; make one with: semqa eval tofueval topics"
        )
    documents = _documents(files)
    pairs = read_wanted(wanted)
    unknown = [doc_id for doc_id, _ in pairs if doc_id not in documents]
    if unknown:
        raise InputError(
            f"{wanted}: unknown document: got {unknown[0]!r}, expected one of the {len(documents)} "
            "that were given; name its file too"
        )
    template = load_prompt(prompt, "tofueval-summary")
    asked = asking.open()
    with judge_progress(asked, "summaries"):
        patient = PatientJudge(asked)
        found = ask(
            [(documents[doc_id], topic) for doc_id, topic in pairs],
            patient,
            words=words,
            model=model_name or "",
            prompt=template,
        )
    asked_for = len(found)
    found = [summary for summary in found if summary.text]
    rows = [each.to_dict() for each in found]
    record = _record("tofueval summaries", asked, template, {"words": words}, rows)
    tell_too_long(record, patient, "no summary")
    for note in count_note(asked_for - len(found) - patient.too_long, "no summary"):
        say(note)
    finish(record, out, [f"{s.doc_id}, {s.topic}: {s.text}" for s in found], as_json=as_json)


@takes_judge_options
def judge(
    asking: JudgeOptions,
    files: Summaries = None,
    documents: Documents = None,
    method: Annotated[
        Literal["direct", "explained", "entailment"],
        typer.Option(
            help="Ask for a verdict; for an explanation, then a verdict; or take the probability "
            "that the document entails the text."
        ),
    ] = "entailment",
    level: Annotated[
        Literal["sentence", "summary"], typer.Option(help="What is judged.")
    ] = "sentence",
    runs: Annotated[int, typer.Option(min=1, max=100, help="Sampled runs; the paper has 3.")] = 1,
    temperature: Annotated[
        float | None,
        typer.Option(min=0.0, max=2.0, help="Of sampling.", show_default="0.7 for several runs"),
    ] = None,
    extra: Annotated[
        bool, typer.Option("--extra", help="Judge Model-Extra too, which the paper does not have.")
    ] = False,
    prompt: PromptFile = None,
    out: RecordOut = None,
    rescore: Rescore = None,
    as_json: AsJson = False,
) -> None:
    """Judge whether summaries are consistent with their documents.

    What was judged is kept: a run that was interrupted or killed goes on
    where it stopped when the same command is given again. The record is
    what semqa eval tofueval score takes as --predictions.
    """
    from semqa.attribution.tofueval.data import EXTRA_MODEL
    from semqa.attribution.tofueval.judging import PROMPTS, judge_texts, read_texts

    check_rescore(rescore, files, *(documents or ()))
    check_stdin_once(*(files or ()), *(documents or ()), rescore)
    check_not_an_input(out, *(files or ()), *(documents or ()), rescore)
    if rescore is not None:
        record, found = _read_again(rescore)
        finish(record, out, None, as_json=as_json, table=found)
        return
    texts = read_texts(files or (), level, frozenset() if extra else frozenset({EXTRA_MODEL}))
    known = _documents(documents)
    if method == "entailment" and prompt is not None:
        raise InputError("--prompt: got one with --method entailment, expected none; leave it out")
    template = None if method == "entailment" else load_prompt(prompt, PROMPTS[method])
    if method == "entailment" and (runs > 1 or temperature):
        raise InputError(
            "samples replies; choose --method direct or explained.",
            field="--runs" if runs > 1 else "--temperature",
        )
    if runs > 1 and temperature == 0:
        raise InputError(
            "must be above 0 for several runs.", field="--temperature", value=temperature
        )
    if runs > 1 and temperature is None:
        temperature = RUNS_TEMPERATURE
    found, rows = [], []
    for number in range(1, runs + 1):
        asked = asking.open(temperature=temperature, seed=number if temperature else None)
        with judge_progress(asked, "judging" if runs == 1 else f"run {number}"):
            judged = judge_texts(texts, known, asked, method, template)
        found += judged
        rows += [each.to_dict() | ({"run": str(number)} if runs > 1 else {}) for each in judged]
        if number < runs:
            asked.close()
    settings = {"method": method, "level": level, "runs": runs, "temperature": temperature or 0.0}
    record = _record(JUDGED, asked, template, settings, rows)
    finish(record, out, None, as_json=as_json, table=found)


@takes_judge_options
def classify(
    asking: JudgeOptions,
    files: Summaries = None,
    documents: Documents = None,
    extra: Annotated[
        bool, typer.Option("--extra", help="Take Model-Extra too, which the paper does not have.")
    ] = False,
    prompt: PromptFile = None,
    out: RecordOut = None,
    as_json: AsJson = False,
) -> None:
    """Ask a language model which errors sentences make.

    Of annotated sentences those that err are asked about; of a record of
    judge, those that were found inconsistent.
    """
    from collections import Counter

    from semqa.attribution.judges import PatientJudge
    from semqa.attribution.tofueval.judging import classify_errors

    check_stdin_once(*(files or ()), *(documents or ()))
    check_not_an_input(out, *(files or ()), *(documents or ()))
    wrong = _wrong_sentences(files, extra=extra)
    known = _documents(documents)
    template = load_prompt(prompt, "tofueval-error-types")
    asked = asking.open()
    with judge_progress(asked, "errors"):
        patient = PatientJudge(asked)
        found = classify_errors(wrong, known, patient, template)
    counts = Counter(name for each in found for name in each.errors)
    unread = sum(not each.errors for each in found)
    record = _record("tofueval errors", asked, template, {}, [each.to_dict() for each in found])
    record["results"] = {"sentences": len(found), "types": dict(counts), "unread": unread}
    tell_too_long(record, patient, "a reply without a type")
    shown = [f"{name}: {count}" for name, count in counts.most_common()]
    finish(
        record, out, [*shown, f"no type in the reply: {unread} of {len(found)}"], as_json=as_json
    )


def load_prompt(path: Path | None, name: str) -> JudgePrompt:
    """Return the user's prompt, or ours."""
    from semqa.attribution.prompts import JudgePrompt

    return JudgePrompt.load(name if path is None else path)


def finish(
    record: dict[str, Any],
    out: Path | None,
    shown: Sequence[str] | None,
    *,
    as_json: bool,
    table: Sequence[Judgement] | None = None,
) -> None:
    """Write the record where it is wanted, and print it, or what is shown to a person."""
    from semqa.attribution.records import write_record

    if out is not None:
        write_record(out, record)
    if as_json:
        write_result(json_line(record, indent=2))
        return
    if table is not None:
        from semqa.cli.eval.tofueval_tables import judged_table
        from semqa.cli.tables import print_tables

        print_tables(judged_table(table))
    for line in shown or ():
        write_result(line)


def tell_too_long(record: dict[str, Any], judge: PatientJudge, taken_for: str) -> None:
    """Put into a record how much was too long for the judge, and tell a person."""
    record["config"]["too_long"] = judge.too_long
    for note in too_long_note(judge.too_long, taken_for):
        say(note)


def _record(
    kind: str,
    asked: CachedJudge,
    prompt: JudgePrompt | None,
    settings: Mapping[str, object],
    rows: list[dict[str, Any]],
) -> dict[str, Any]:
    from semqa.attribution.records import describe_judge, versions

    config: dict[str, Any] = {"judge": describe_judge(asked), **settings}
    if prompt is not None:
        config["prompt"] = {"name": prompt.name, "sha256": prompt.sha256}
    asked.close()
    return {"kind": kind, "config": config, "versions": versions(), "rows": rows}


def _documents(files: Sequence[Path] | None) -> dict[str, Any]:
    from semqa.attribution.tofueval.data import read_documents

    if not files:
        raise InputError(
            "documents: got no file, expected at least one; name CSV or JSON lines with doc_id and "
            "source (the release of TofuEval has ids alone: see docs/attribution/tofueval.md)"
        )
    return dict(read_documents(files))


def _wrong_sentences(files: Sequence[Path] | None, *, extra: bool) -> list[Any]:
    from semqa.attribution.records import read_record_rows
    from semqa.attribution.tofueval.data import EXTRA_MODEL, read_annotations
    from semqa.attribution.tofueval.judging import Judged, judgement_of

    wrong: list[Judged] = []
    for path in files or ():
        if path.suffix.lower() == ".csv":
            read = read_annotations([path])
            wrong += [Judged(s.key, s.index, s.text) for s in read if s.inconsistent]
        else:
            said = [judgement_of(row) for row in read_record_rows(path)]
            wrong += [each.judged for each in said if each.inconsistent]
    kept = [each for each in wrong if extra or each.key.model != EXTRA_MODEL]
    if not kept:
        raise InputError("sentences: got none that err, expected at least one; name other files")
    return list(dict.fromkeys(kept))


def _read_again(path: Path) -> tuple[dict[str, Any], list[Judgement]]:
    from semqa.attribution.records import read_record
    from semqa.attribution.tofueval.judging import judgement_of

    record = read_record(path, JUDGED)
    found = [judgement_of(row) for row in record.rows]
    rows = [
        each.to_dict() | ({"run": row.fields["run"]} if "run" in row.fields else {})
        for each, row in zip(found, record.rows, strict=True)
    ]
    return {**record.fields, "rows": rows}, found
