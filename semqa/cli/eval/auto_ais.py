"""`semqa eval auto-ais`: a judge of entailment over the sentences of answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semqa.attribution.judges.base import able
from semqa.cli.eval.judge_options import JudgeOptions, takes_judge_options
from semqa.cli.eval.judging import count_note, judge_progress
from semqa.cli.eval.options import RecordOut, Rescore, Seed, check_rescore
from semqa.cli.inputs import check_not_an_input, check_stdin_once
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.ais.auto import CheckedRun
    from semqa.attribution.judges import CachedJudge
    from semqa.data.answers import GivenAnswer

__all__ = ["Margin", "auto_ais", "read_given"]

Margin = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=0.5,
        help="How near to one half a probability of entailment is called unclear.",
        show_default="0.1",
    ),
]


@takes_judge_options
def auto_ais(
    asking: JudgeOptions,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Answers with their sources, as semqa answer --json writes them, or with "
            '--references JSON lines {"qid", "prediction"}; - for standard input.',
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    references: Annotated[
        Path | None,
        typer.Option(
            "--references",
            "-r",
            help="QuoteSum JSON lines, for questions and sources.",
            show_default=False,
        ),
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(
            help="A template of your own for engine:SPEC, with {{ premise }} and {{ hypothesis }}; the "
            "reply names entailment, neutral or contradiction.",
            metavar="NAME|PATH",
            show_default="engine-entailment",
        ),
    ] = None,
    margin: Margin = None,
    question: Annotated[
        bool, typer.Option(help="Put the question before each sentence that is judged.")
    ] = True,
    allow_missing: Annotated[
        bool,
        typer.Option("--allow-missing", help="Pass over questions that have no prediction."),
    ] = False,
    rescore: Rescore = None,
    out: RecordOut = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Judge each sentence of answers against the sources that it quotes or cites.

    A sentence is supported where these sources entail it, as the judge says;
    one that names no source is not. This is a judgement, and no verification
    of quotes: that is semqa verify. Judgements are kept: a run that ended
    early, given again, asks only what was not asked before.
    """
    from semqa.attribution.ais.auto import MARGIN, read_run

    check_rescore(rescore, (file,), references)
    check_stdin_once(file, references, rescore)
    check_not_an_input(out, file, references, rescore)
    if rescore is not None:
        run = read_run(rescore, margin)
    else:
        given = read_given(file or Path("-"), references, allow_missing=allow_missing)
        run = _judge(
            given, asking.open(prompt), MARGIN if margin is None else margin, question, seed
        )
    record = run.to_dict()
    if out is not None:
        from semqa.attribution.records import write_record

        write_record(out, record)
    if as_json:
        write_result(json_line(record, indent=2))
        return
    _show(record["results"])
    say(f"judge: {run.judge.get('name')}")
    unparsed = run.judge.get("unparsed")
    for note in count_note(unparsed if isinstance(unparsed, int) else 0):
        say(note)


def _judge(
    given: Sequence[GivenAnswer], judge: CachedJudge, margin: float, question: bool, seed: int
) -> CheckedRun:
    from semqa.attribution.ais.auto import CheckedExample, CheckedRun, ToCheck, check_answers
    from semqa.attribution.records import describe_judge

    answers = []
    for one in given:
        try:
            answers.append(ToCheck(one.question, one.read()))
        except InputError as error:  # too many marks to be checked
            raise InputError(f"answer {one.key}: {error}") from error
    try:
        with judge_progress(judge, "judging"):
            checks = check_answers(
                answers, able(judge, "entailment"), margin=margin, with_question=question
            )
    finally:
        judge.close()
    return CheckedRun(
        describe_judge(judge),
        margin,
        question,
        seed,
        [
            CheckedExample(
                one.key,
                one.question,
                read.answer.marked,
                read.answer.verdict(one.question).value,
                check,
            )
            for one, read, check in zip(given, answers, checks, strict=True)
        ],
    )


def read_given(file: Path, references: Path | None, *, allow_missing: bool) -> list[GivenAnswer]:
    """Read answers with their sources, from one file or from predictions and references.

    Raises:
        InputError: a file is not usable.
    """
    from semqa.data.answers import GivenAnswer, read_answers

    if references is None:
        try:
            return read_answers(file)
        except InputError as error:
            from semqa.attribution.records import kind_of

            if (kind := kind_of(file)) is None:
                raise
            raise InputError(
                f"{file}: a record: got one of the kind {kind!r}, expected answers with their "
                "sources; give a record with --rescore"
            ) from error
    from semqa.data.files import display_name
    from semqa.data.predictions import match_predictions, read_predictions
    from semqa.data.quotesum import read_quotesum

    questions = read_quotesum(references)
    predictions = read_predictions(file)
    texts = match_predictions(
        questions, predictions, allow_missing=allow_missing, name=display_name(file)
    )
    return [
        GivenAnswer(question.qid, question.question, text, question.sources)
        for question, text in zip(questions, texts, strict=True)
        if question.qid in predictions
    ]


def _show(results: Mapping[str, Any]) -> None:
    from semqa.cli.tables import figures_table, print_tables

    n = results["n"]
    rows = [
        (
            "sentences supported",
            results["sentences"],
            results["sentences_interval"],
            n["sentences"],
        ),
        ("answers wholly supported", results["answers"], results["answers_interval"], n["answers"]),
    ]
    print_tables(figures_table("AutoAIS", rows))
    counted = ", ".join(f"{count} {name}" for name, count in results["counts"].items())
    write_result(f"sentences: {counted}")
    if results["too_long"]:
        write_result(f"too long for the judge: {results['too_long']} of them, which are unclear")
    if n["empty"]:
        write_result(f"without a sentence: {n['empty']} answers, which count nowhere")
