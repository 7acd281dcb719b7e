"""``semqa eval auto-ais``, ``citations`` and ``disambig``: judge answers by their sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semqa.cli.eval.judging import (
    AllowMissing,
    EntailmentPrompt,
    RecordOut,
    Resamples,
    Seed,
    finish,
    judging,
    too_long_note,
    unparsed_note,
)
from semqa.cli.inputs import check_files
from semqa.cli.options import AsJson
from semqa.cli.output import say, write_result
from semqa.cli.tables import figures_table, print_tables, unscored_notes
from semqa.data.files import display_name
from semqa.data.quotesum import Question, match_predictions, read_predictions, read_quotesum
from semqa.data.sources import GivenAnswer, read_answers
from semqa.errors import InputError
from semqa.quotes import QuotedAnswer

if TYPE_CHECKING:
    from semqa.attribution.citations.examples import AnswerExample
    from semqa.attribution.judges import TolerantJudge
    from semqa.attribution.judges.base import Ability

References = Annotated[
    Path | None,
    typer.Option(
        "--references",
        "-r",
        help='QuoteSum file with questions and sources; FILE then has {"qid", "prediction"}.',
    ),
]


def auto_ais(
    ctx: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            help="Answers with sources, from semqa answer --json, or with --references JSON lines "
            '{"qid", "prediction"}; - for standard input.',
            metavar="FILE",
        ),
    ],
    references: References = None,
    prompt: EntailmentPrompt = None,
    margin: Annotated[
        float,
        typer.Option(
            min=0.0, max=0.5, help="Distance from 0.5 within which a probability is unclear."
        ),
    ] = 0.1,
    question: Annotated[
        bool, typer.Option(help="Put the question before each judged sentence.")
    ] = True,
    allow_missing: AllowMissing = False,
    out: RecordOut = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Judge each sentence of answers against the sources that it quotes or cites.

    A sentence is supported if the judge finds that these sources entail it. A
    sentence without a source is not supported. This is a judgement; to verify
    quotes, use semqa verify. To resume an interrupted run, run the same command
    again: judgements are cached.
    """
    from semqa.attribution.ais.auto import CheckInput, check_answers, summarise_checks
    from semqa.attribution.records import describe_judge, versions

    check_files(out, file, references)
    if references is None:
        given = read_answers(file)
    else:
        questions = read_quotesum(references)
        given = _predictions(file, questions, allow_missing=allow_missing)
    answers = []
    for one in given:
        try:
            answers.append(CheckInput(one.question, one.read()))
        except InputError as error:  # too many marks
            raise InputError(f"answer {one.key}: {error}") from error
    with judging(ctx, "judging", prompt) as judge:
        judge.require("entailment")
        checks = check_answers(answers, judge, margin=margin, with_question=question)
    record: dict[str, Any] = {
        "kind": "auto-ais",
        "results": summarise_checks(checks, seed=seed),
        "judge": describe_judge(judge),
        "margin": margin,
        "with_question": question,
        "seed": seed,
        "versions": versions(),
        "rows": [
            {
                "id": one.key,
                "question": one.question,
                "answer": read.answer.marked,
                "verdict": read.answer.verdict(one.question).value,
                "checks": check.to_dict(),
            }
            for one, read, check in zip(given, answers, checks, strict=True)
        ],
    }

    def show() -> None:
        _show_support(record["results"])
        for note in (f"judge: {judge.name}", *unparsed_note(judge.unparsed)):
            say(note)

    finish(record, out, show, as_json=as_json)


def _predictions(
    file: Path, questions: Sequence[Question], *, allow_missing: bool
) -> list[GivenAnswer]:
    """Read predictions, with the sources of their questions."""
    predictions = read_predictions(file)
    texts = match_predictions(
        questions, predictions, allow_missing=allow_missing, name=display_name(file)
    )
    return [
        GivenAnswer(question.qid, question.question, text, question.sources)
        for question, text in zip(questions, texts, strict=True)
        if question.qid in predictions
    ]


def _show_support(results: Mapping[str, Any]) -> None:
    n = results["n"]
    rows = [
        (name, results[unit], results[f"{unit}_interval"], n[unit])
        for unit, name in (
            ("sentences", "sentences supported"),
            ("answers", "answers fully supported"),
        )
    ]
    print_tables(figures_table("AutoAIS", rows))
    counted = ", ".join(f"{count} {name}" for name, count in results["counts"].items())
    write_result(f"sentences: {counted}")
    if results["too_long"]:
        write_result(f"too long for the judge: {results['too_long']} sentences, counted as unclear")
    if n["empty"]:
        write_result(f"without sentences: {n['empty']} answers, not counted")


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

Official = Annotated[
    bool,
    typer.Option("--official", help="Score as the released scripts do, including their defects."),
]


def citations(
    ctx: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A run of ALCE (JSON); answers with sources, from semqa answer --json; or "
            "predictions, with --references; - for standard input.",
        ),
    ],
    references: References = None,
    at_most: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Maximum citations to count per sentence.",
            show_default="all; 3 with --official",
        ),
    ] = None,
    official: Official = False,
    allow_missing: AllowMissing = False,
    resamples: Resamples = 1_000,
    seed: Seed = 0,
    out: RecordOut = None,
    as_json: AsJson = False,
) -> None:
    """Score citations: do they support their sentence, and is each one needed?

    The sentences of a quoted answer cite the sources that they quote. A run of
    ALCE is also scored by its short answers and by ROUGE-L. To resume an
    interrupted run, run the same command again: judgements are cached.
    """
    from semqa.attribution.citations.scores import citation_rows, summarise_citations

    check_files(out, file, references)
    examples = _examples(file, references, allow_missing=allow_missing)
    settings: dict[str, Any] = {"at_most": at_most, "official": official}
    with _tolerant(ctx, "entailment", settings) as (judge, record):
        record["rows"] = citation_rows(examples, judge, **settings)
    results = summarise_citations(record["rows"], resamples=resamples, seed=seed)
    record = {"kind": "citations", "results": results, **record}

    def show() -> None:
        _show(record, "neutral")
        if references is not None:
            say("short answers of QuoteSum: use semqa score, whose Sem-Rec counts them")

    finish(record, out, show, as_json=as_json)


def disambig(
    ctx: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A run of ALCE on ASQA (JSON); or ASQA.json, with --predictions; - for standard "
            "input.",
        ),
    ],
    predictions: Annotated[
        Path | None,
        typer.Option(
            "--predictions",
            "-p",
            help="Answers by ASQA key: a JSON object, or JSON lines with qid and prediction.",
        ),
    ] = None,
    split: Annotated[str, typer.Option(help="Split of ASQA.json.")] = "dev",
    official: Official = False,
    resamples: Resamples = 1_000,
    seed: Seed = 0,
    out: RecordOut = None,
    as_json: AsJson = False,
) -> None:
    """Score answers to ambiguous questions by ASQA's Disambig-F1 and DR.

    The judge extracts the answer to each interpretation of the question from the
    long answer. The papers use RoBERTa-large trained on SQuAD 2.0.
    """
    from semqa.attribution.citations.examples import read_alce, read_asqa
    from semqa.attribution.citations.scores import disambig_rows, summarise_disambig

    check_files(out, file, predictions)
    examples = read_alce(file) if predictions is None else read_asqa(file, predictions, split)
    with _tolerant(ctx, "answer", {"official": official}) as (judge, record):
        record["rows"] = disambig_rows(examples, judge, official=official)
    results = summarise_disambig(record["rows"], resamples=resamples, seed=seed)
    record = {"kind": "disambig", "results": results, **record}
    finish(record, out, lambda: _show(record, "no answer"), as_json=as_json)


@contextmanager
def _tolerant(
    ctx: typer.Context, ability: Ability, settings: Mapping[str, object]
) -> Iterator[tuple[TolerantJudge, dict[str, Any]]]:
    """Yield the judge while the block runs, and a record that describes it at the end."""
    from semqa.attribution.judges import TolerantJudge
    from semqa.attribution.records import describe_judge, versions

    with judging(ctx, "judging") as judge:
        judge.require(ability)
        tolerant = TolerantJudge(judge)
        record: dict[str, Any] = {"config": {}, "versions": versions("numpy", "rapidfuzz")}
        yield tolerant, record
    described = describe_judge(judge)
    record["config"] |= {"judge": described, **settings, "too_long": tolerant.too_long}


def _examples(file: Path, references: Path | None, *, allow_missing: bool) -> list[AnswerExample]:
    from semqa.attribution.citations.examples import AnswerExample, read_examples

    if references is None:
        return read_examples(file)
    from semqa.metrics.text import strip_marks

    questions = read_quotesum(references)
    wanted = {question.qid: tuple(map(strip_marks, question.texts)) for question in questions}
    return [
        AnswerExample.of_quoted(
            one.key, one.question, QuotedAnswer.parse(one.text, one.sources), wanted[one.key]
        )
        for one in _predictions(file, questions, allow_missing=allow_missing)
    ]


def _show(record: Mapping[str, Any], taken_for: str) -> None:
    results, config = record["results"], record["config"]
    shown = [(name, results[key]) for key, name in SHOWN.items() if key in results]
    rows = [(name, each["value"], each["interval"], each["n"]) for name, each in shown]
    print_tables(figures_table(record["kind"], rows))
    if results.get("dr") is not None:
        write_result(f"DR: {results['dr']:.2f}")
    if "sentences" in results:
        write_result(
            f"{results['sentences']} sentences, {results['sentences_uncited']} without a citation; "
            f"{results['citations']} citations, {results['citations_precise']} precise"
        )
    reasons = ((name, each.get("unscored", {})) for name, each in shown)
    for note in unscored_notes(results["answers"], reasons):
        write_result(note)
    say(f"judge: {config['judge']['name']}")
    unparsed = config["judge"].get("unparsed", 0)
    for note in (
        *unparsed_note(unparsed, taken_for),
        *too_long_note(config["too_long"], taken_for),
    ):
        say(note)
