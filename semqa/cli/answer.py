"""`semqa answer`: answer questions from documents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from semqa.cli.answer_file import answer_questions, read_questions
from semqa.cli.choice import EngineOptions, choose, with_default
from semqa.cli.eval.judging import JudgeOptions
from semqa.cli.inputs import SourceOptions, check_files, check_text
from semqa.cli.options import AsJson, EngineName
from semqa.cli.output import json_line, say, terminal_width, use_color, write_file, write_result
from semqa.cli.running import (
    AnswerTask,
    Format,
    judge_answer,
    named_judge,
    run_engine,
    say_if_words_only,
    show_live,
    show_verdict,
)
from semqa.engines import Request
from semqa.errors import InputError
from semqa.retrieval.settings import PROMPT_PANEL


def answer(
    ctx: typer.Context,
    question: Annotated[
        str | None,
        typer.Argument(help="The question, unless --questions is given.", metavar="QUESTION"),
    ] = None,
    more: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Documents: text, Markdown, HTML, PDF, Word, CSV, e-mail.", metavar="FILE"
        ),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            help='Questions: one per line, or JSON lines {"question", "id"?, "sources"?}; '
            "- for standard input.",
            metavar="FILE",
        ),
    ] = None,
    engine: EngineName = None,
    output_format: Annotated[
        Format | None,
        typer.Option(
            "--format", "-f", help="Output format.", show_default="terminal, or marked in a pipe"
        ),
    ] = None,
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write to this file; with --questions, resume from it.",
            metavar="FILE",
        ),
    ] = None,
    with_prompt: Annotated[
        bool,
        typer.Option(
            "--show-prompt",
            help="Show the prompt on standard error, or in the JSON.",
            rich_help_panel=PROMPT_PANEL,
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Let a judge check whether the quoted sources support each sentence."
        ),
    ] = False,
) -> None:
    """Answer a question from documents with verbatim quotes.

    Sources are numbered in the order given. Without any, they are read from standard input.

    \b
    semqa answer "What is the notice period?" contract.pdf handbook.docx
    semqa answer "Who crossed Antarctica alone?" --sources passages.jsonl --json
    semqa answer "What changed in May?" --collection minutes --format html -o answer.html
    semqa answer "Who sang it?" --sources passages.jsonl --engine openai:gpt-4o-mini
    semqa answer --questions questions.txt handbook.pdf -o answers.jsonl
    """  # noqa: D301 -- click reads the backspace
    options: EngineOptions = ctx.obj[EngineOptions]
    given: SourceOptions = ctx.obj[SourceOptions]
    sources, collection = given.sources, given.collection
    many = questions is not None
    train = options.given().get("train")
    texts = [*(given.source or []), *([Path(question)] if many and question else []), *(more or [])]
    if many:
        output_format = _format_of_many(output_format, as_json, out)
    else:
        output_format = _chosen_format(output_format, as_json, in_terminal=out is None)
    choice = choose(*with_default(engine, options))
    if with_prompt and choice.prompts is None:
        choice.create()  # an unknown engine should raise first
        raise InputError(
            f"needs a language model, such as transformers:MODEL; the engine is {choice.engine}.",
            field="show_prompt",
        )
    if question is None and not many:
        raise InputError("No question.", hint="Give QUESTION or --questions FILE.")
    question = question or ""
    check_text(question, "QUESTION")
    # Opened first, so that its errors come before any answer.
    judging = ctx.with_resource(
        named_judge(ctx.obj[JudgeOptions], named=check, needs="--check", typed=options.typed)
    )
    check_files(out, *texts, sources, questions, train)
    asked = []
    if questions is not None:
        asked = read_questions(questions)
    named = bool(texts) or sources is not None or collection is not None
    if str(questions) == "-" and not named and not all(each.sources for each in asked):
        raise InputError("No sources. Give documents, --sources FILE or --collection NAME.")
    finder = None
    if named or not many or not all(each.sources for each in asked):
        finder = given.finder(texts)
    if finder is None or many:
        answer_questions(
            asked, finder, choice, output_format, out, judging=judging, with_prompt=with_prompt
        )
        return
    found = tuple(each.source for each in finder.find(question))
    if not found:
        raise InputError(
            f"No passage of {collection!r} matches the question.",
            hint="Use words from the documents, or add documents with: semqa index DIR",
        )
    task = AnswerTask(Request(question, found), output_format, with_prompt)
    with choice.opened([question], warm=False) as opened:
        say_if_words_only(opened, found)
        watch = None
        if sys.stderr.isatty():
            from rich.console import Console

            watch = show_live(task.request, Console(stderr=True, width=terminal_width()))
        run = run_engine(choice, opened, task, watch)
    if judging is not None:
        run = run._replace(check=judge_answer(question, run.result, judging))
    if output_format is Format.JSON:
        shown = json_line(run.record(task), indent=2)
    else:
        shown = run.page(task, color=out is None and use_color())
    if out is None:
        # The terminal format already escapes control characters, except its own colours.
        write_result(shown, raw=output_format is Format.TERMINAL)
    else:
        write_file(out, shown)
    if run.check is not None and output_format in (
        Format.MARKED, Format.PLAIN, Format.CITATIONS
    ):  # fmt: skip
        say(run.check.shown().headline)
    if output_format not in (Format.JSON, Format.TERMINAL):
        free = choice.prompts is not None and not choice.constrained
        label = "constraint off: " if free else ""
        if line := show_verdict(run.result, question, run.notes(), label):
            say(line)
    if output_format is not Format.JSON:
        for quote in run.nearest:
            title = found[quote.source - 1].title
            shown_title = f" {title}:" if title else ""
            say(f"nearest: [{quote.source}]{shown_title} “{' '.join(quote.text.split())}”")


def _format_of_many(given: Format | None, as_json: bool, out: Path | None) -> Format:
    """Return the format for many answers: JSON lines in a file, otherwise as for one answer."""
    if out is not None and str(out) != "-":
        if given not in (None, Format.JSON):
            raise InputError(
                f"must be json when --questions writes to a file, got {given.value}.",
                field="format",
            )
        return Format.JSON
    if given is Format.HTML:
        raise InputError("cannot be html with --questions.", field="format")
    return _chosen_format(given, as_json, in_terminal=out is None)


def _chosen_format(given: Format | None, as_json: bool, *, in_terminal: bool) -> Format:
    if as_json and given not in (None, Format.JSON):
        raise InputError(f"--json and --format {given.value} cannot be combined.")
    if as_json:
        return Format.JSON
    if given is not None:
        return given
    return Format.TERMINAL if in_terminal and sys.stdout.isatty() else Format.MARKED
