"""`semqa eval auto-ais`: a judge of entailment over the sentences of answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semqa.cli.eval.judging import (
    JudgeBatch,
    JudgeCache,
    JudgeDevice,
    JudgeDtype,
    JudgeName,
    JudgeUrl,
    NoJudgeCache,
    entailment_judge,
    judge_progress,
    open_judge,
    unparsed_note,
)
from semqa.cli.inputs import check_not_an_input, check_stdin_once
from semqa.cli.options import AsJson
from semqa.cli.output import json_line, say, write_result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from semqa.attribution.ais.auto import AnswerCheck, ToCheck
    from semqa.data.answers import GivenAnswer

__all__ = ["Margin", "auto_ais", "read_given"]

Margin = Annotated[
    float,
    typer.Option(
        min=0.0,
        max=0.5,
        help="How near to one half a probability of entailment is called unclear.",
    ),
]


def auto_ais(
    file: Annotated[
        Path,
        typer.Argument(
            help="Answers with their sources, as semqa answer --json writes them, or with "
            '--references JSON lines {"qid", "prediction"}; - for standard input.',
            metavar="FILE",
            show_default=False,
        ),
    ],
    references: Annotated[
        Path | None,
        typer.Option(
            "--references",
            "-r",
            help="QuoteSum JSON lines, for questions and sources.",
            show_default=False,
        ),
    ] = None,
    judge: JudgeName = "lexical",
    judge_cache: JudgeCache = None,
    no_judge_cache: NoJudgeCache = False,
    judge_device: JudgeDevice = None,
    judge_dtype: JudgeDtype = None,
    judge_batch_size: JudgeBatch = None,
    judge_url: JudgeUrl = None,
    margin: Margin = 0.1,
    question: Annotated[
        bool, typer.Option(help="Put the question before each sentence that is judged.")
    ] = True,
    allow_missing: Annotated[
        bool,
        typer.Option("--allow-missing", help="Pass over questions that have no prediction."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write the whole record to this file, as JSON.", show_default=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, envvar="SEMQA_SEED", help="Of the bootstrap.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Judge each sentence of answers against the sources that it quotes or cites.

    A sentence is supported where these sources entail it, as the judge says;
    one that names no source is not. This is a judgement, and no verification
    of quotes: that is semqa verify. Judgements are kept: a run that ended
    early, given again, asks only what was not asked before.
    """
    from semqa.attribution.ais.auto import ToCheck, check_answers
    from semqa.attribution.ais.auto_report import summarise_checks
    from semqa.quotes import QuotedAnswer

    check_stdin_once(file, references)
    check_not_an_input(out, file, references)
    given = read_given(file, references, allow_missing=allow_missing)
    answers = [ToCheck(one.question, QuotedAnswer.parse(one.text, one.sources)) for one in given]
    asked = open_judge(
        judge,
        judge_cache,
        no_cache=no_judge_cache,
        device=judge_device,
        dtype=judge_dtype,
        batch_size=judge_batch_size,
        base_url=judge_url,
    )
    try:
        with judge_progress(asked, "judging"):
            checks = check_answers(
                answers, entailment_judge(asked), margin=margin, with_question=question
            )
    finally:
        asked.close()
    results = summarise_checks(checks, seed=seed)
    record = {
        "results": results,
        "judge": {"name": asked.name, "identity": asked.identity, "unparsed": asked.unparsed},
        "margin": margin,
        "with_question": question,
        "seed": seed,
        "examples": _examples(given, answers, checks),
    }
    if out is not None:
        from semqa.cli.output import write_file

        write_file(out, json_line(record, indent=2))
    if as_json:
        write_result(json_line(record, indent=2))
        return
    _show(results)
    for note in (f"judge: {asked.name}", *unparsed_note(asked)):
        say(note)


def read_given(file: Path, references: Path | None, *, allow_missing: bool) -> list[GivenAnswer]:
    """Read answers with their sources, from one file or from predictions and references.

    Raises:
        InputError: a file is not usable.
    """
    from semqa.data.answers import GivenAnswer, read_answers

    if references is None:
        return read_answers(file)
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


def _examples(
    given: Sequence[GivenAnswer], answers: Sequence[ToCheck], checks: Sequence[AnswerCheck]
) -> list[dict[str, object]]:
    return [
        {
            "id": one.key,
            "question": one.question,
            "answer": read.answer.marked,
            "verified": read.answer.verified,
            "checks": check.to_dict(),
        }
        for one, read, check in zip(given, answers, checks, strict=True)
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
    if n["empty"]:
        write_result(f"without a sentence: {n['empty']} answers, which count nowhere")
