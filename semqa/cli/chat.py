"""`semqa chat`: a conversation about documents in the terminal.

Questions are answered as by `semqa answer`, with the earlier exchanges as history. Lines that begin
with a slash are commands.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple
from urllib import parse

import typer

from semqa.cli.choice import Choice, EngineOptions, choose, with_default
from semqa.cli.inputs import Given, SourceFinder, SourceOptions, check_files, check_text
from semqa.cli.options import EngineName
from semqa.cli.output import print_error, say, terminal_width, waiting, write_file
from semqa.cli.running import AnswerTask, Format, Run, run_engine, say_if_words_only, show_live
from semqa.data.files import data_folder
from semqa.engines import Engine, Request, StreamingEngine
from semqa.engines.outcome import Outcome, abstention
from semqa.errors import InputError, SemqaError
from semqa.history import Exchange, in_context, is_courtesy
from semqa.quotes import Quote
from semqa.quotes.answer import NO_QUESTION
from semqa.quotes.render import to_markdown
from semqa.quotes.render.common import percent, quoted_pieces, safe_text
from semqa.quotes.render.markdown import conversation_to_markdown
from semqa.quotes.render.terminal import answer_text, source_colour, summary_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_COMMANDS = {
    "/sources": "list the quotes of the last answer by source",
    "/open N": "show source N of the last answer with its quotes",
    "/new": "start a new conversation",
    "/save FILE": "save the conversation as Markdown",
    "/help": "list these commands",
    "/quit": "quit (or press Ctrl-D)",
}
_HISTORY_LINES = 1_000
_MAX_LINE = 100_000


def chat(
    ctx: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Documents: text, Markdown, HTML, PDF, Word, CSV, e-mail.", metavar="FILE"
        ),
    ] = None,
    engine: EngineName = None,
) -> None:
    """Chat about documents, with follow-up questions.

    Ctrl-C stops an answer; Ctrl-D quits. In a pipe, each line of standard input is a question.

    \b
    semqa chat contract.pdf handbook.docx
    semqa chat --collection papers --engine openai:gpt-4o-mini
    """  # noqa: D301 -- click reads the backspace
    sources: SourceOptions = ctx.obj[SourceOptions]
    texts = [*(sources.source or []), *(files or [])]
    if not texts and sources.sources is None and sources.collection is None:
        raise InputError("No sources. Give documents, --sources FILE or --collection NAME.")
    if "-" in map(str, [*texts, sources.sources]):
        raise InputError("Sources cannot be standard input (-), which has the questions.")
    named, given = with_default(engine, ctx.obj[EngineOptions])
    finder = sources.finder(texts)
    choice = choose(named, given)
    history = data_folder(sources.data) / "chat-history"
    with choice.opened() as opened, _line_editor(history):
        talk = _Chat(choice, opened, finder, [*texts, sources.sources])
        talk.run()
    if talk.failed and not sys.stdin.isatty():
        raise typer.Exit(1)


class _Turn(NamedTuple):
    """A question, its answer and its sources."""

    question: str
    understood: str
    run: Run
    given: Sequence[Given]


class _Chat:
    """A conversation; ``/save`` does not overwrite the `inputs`."""

    def __init__(
        self, choice: Choice, engine: Engine, finder: SourceFinder, inputs: Sequence[Path | None]
    ) -> None:
        self._choice, self._engine, self._finder, self._inputs = choice, engine, finder, inputs
        self._turns: list[_Turn] = []
        self._history: list[Exchange] = []
        self._interactive = sys.stdin.isatty()
        self._links = sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "linux")
        self.failed = False

    @property
    def _console(self) -> Console:
        """A console at the current width of the terminal."""
        from rich.console import Console

        return Console(width=terminal_width(), highlight=False, markup=False, emoji=False)

    def run(self) -> None:
        say_if_words_only(self._engine, [each.source for each in self._finder.given])
        if self._interactive:
            self._print(f"{self._about()}. /help lists commands; Ctrl-D quits.", "dim")
        while True:
            try:
                line = self._read()
            except EOFError:
                return
            except KeyboardInterrupt:
                sys.stdout.write("\n")
                continue
            if not line:
                continue
            try:
                if line.startswith("/"):
                    if self._command(line):
                        return
                else:
                    self._ask(line)
            except KeyboardInterrupt:
                if not self._interactive:
                    raise
                self._print("stopped", "dim")
            except SemqaError as error:
                self.failed = True
                print_error(str(error))

    def _about(self) -> str:
        count = len(self._finder.given)
        parts = [f"{count} source{'s' if count > 1 else ''}"] if count else []
        if self._finder.collection is not None:
            parts.append(f"collection {self._finder.collection}")
        return f"{' and '.join(parts)}, engine {self._choice.engine}"

    def _read(self) -> str:
        if self._interactive:
            try:
                return input("> ").strip()
            except EOFError:
                sys.stdout.write("\n")
                raise
        raw = sys.stdin.buffer.readline(_MAX_LINE)
        if not raw:
            raise EOFError
        line = raw.decode("utf-8", "replace").strip()
        if line:
            self._print(f"> {line}", "bold")
        return line

    def _ask(self, question: str) -> None:
        check_text(question, "The question")
        if is_courtesy(question):
            self._print(f"{NO_QUESTION}\n")
            return
        history = tuple(self._history)
        # Kept even if stopped: a follow-up may refer to it.
        self._history.append(Exchange(question))
        try:
            turn = self._answer(question, history)
        except SemqaError:
            self._history.pop()
            raise
        self._history[-1] = Exchange(question, turn.run.result.plain)
        self._turns.append(turn)
        self._show(turn)

    def _answer(self, question: str, history: tuple[Exchange, ...]) -> _Turn:
        understood = in_context(question, history)
        engine = self._engine
        streams = isinstance(engine, StreamingEngine)
        with waiting("searching") if self._finder.collection is not None else nullcontext():
            given = self._finder.find(understood)
        request = Request(question, tuple(each.source for each in given), history)
        task = AnswerTask(request, Format.TERMINAL)
        if not given:
            run = Run.of(self._choice, engine, Outcome(abstention()), 0.0, None)
        else:
            live = streams and sys.stdout.isatty()
            watch = show_live(request, self._console) if live else None
            with waiting("reading") if watch is None and not streams else nullcontext():
                run = run_engine(self._choice, engine, task, watch)
        return _Turn(question, understood, run, given)

    def _show(self, turn: _Turn) -> None:
        console, result = self._console, turn.run.result
        console.print(answer_text(result, turn.understood))
        console.print()
        for number in _quoted(turn):
            console.print(self._source_line(turn, number))
        console.print(summary_text(result, turn.understood))
        for note in turn.run.notes():
            console.print(f"({note})", style="dim")
        for quote in turn.run.nearest:
            named = _name(turn.given[quote.source - 1], quote.source)
            console.print(f"nearest: [{quote.source}] {named}: “{_line(quote.text)}”", style="dim")
        console.print()

    def _source_line(self, turn: _Turn, number: int) -> Text:
        """Return the number, title and page of a source, linked to its address if it has one."""
        from rich.style import Style
        from rich.text import Text

        given = turn.given[number - 1]
        link = _link(given) if self._links else None
        text = Text(f"[{number}] ", style=f"bold {source_colour(number)}")
        text.append(_name(given, number), Style(bold=False, link=link))
        if given.found is not None and given.found.page is not None:
            text.append(f", page {given.found.page}", "not bold")
        figures = [q.relevance for q in _quotes_of(turn, number) if q.relevance is not None]
        if figures:
            text.append(f"  relevance {percent(max(figures))}", "not bold dim")
        return text

    def _command(self, line: str) -> bool:
        """Run a command; return whether to quit."""
        name, _, rest = line.partition(" ")
        rest = rest.strip()
        if name in ("/quit", "/exit"):
            return True
        if name == "/help":
            width = max(map(len, _COMMANDS))
            for command, what in _COMMANDS.items():
                self._print(f"{command:{width}}  {what}")
        elif name == "/new":
            self._history, self._turns = [], []
            self._print("New conversation.", "dim")
        elif name == "/sources":
            self._list_sources()
        elif name == "/open":
            self._open(rest)
        elif name == "/save":
            self._save(rest)
        else:
            raise InputError(f"Unknown command {name}.", hint="/help lists the commands.")
        return False

    def _last(self) -> _Turn:
        if not self._turns:
            raise InputError("There is no answer yet.")
        return self._turns[-1]

    def _list_sources(self) -> None:
        turn = self._last()
        for number in _quoted(turn):
            given = turn.given[number - 1]
            self._console.print(self._source_line(turn, number))
            for quote in _quotes_of(turn, number):
                place = _place(given, quote)
                self._print(f"    {place}: “{_line(quote.text)}”", source_colour(number))
        if not _quoted(turn):
            self._print("The last answer has no quotes.", "dim")

    def _open(self, number: str) -> None:
        from rich.text import Text

        turn = self._last()
        count = len(turn.given)
        if not (number.isascii() and number.isdigit() and 1 <= int(number) <= count):
            raise InputError(f"/open needs a source number from 1 to {count}, got {number!r}.")
        at = int(number)
        text = Text()
        for piece in quoted_pieces(turn.run.result, at, "body"):
            text.append(safe_text(piece.text), f"bold {source_colour(at)}" if piece.quotes else "")
        console = self._console
        console.print(self._source_line(turn, at))
        if (link := _link(turn.given[at - 1])) is not None:
            console.print(safe_text(link), style="dim")
        console.print()
        console.print(text)

    def _save(self, name: str) -> None:
        if not name:
            raise InputError("/save needs a file name.")
        path = Path(name).expanduser()
        check_files(path, *self._inputs)
        self._last()  # raises if there is nothing to save
        exchanges = [
            (turn.question, to_markdown(turn.run.result, question=turn.understood))
            for turn in self._turns
        ]
        write_file(path, conversation_to_markdown(exchanges[0][0], exchanges))
        say(f"saved {len(exchanges)} answer{'s' if len(exchanges) > 1 else ''} to {path}")

    def _print(self, text: str, style: str | None = None) -> None:
        self._console.print(safe_text(text), style=style)


def _quoted(turn: _Turn) -> list[int]:
    return sorted({quote.source for quote in turn.run.result.quotes if quote.verified})


def _quotes_of(turn: _Turn, number: int) -> list[Quote]:
    return [q for q in turn.run.result.quotes if q.verified and q.source == number]


def _line(text: str) -> str:
    line = safe_text(" ".join(text.split()))
    return line if len(line) <= 100 else line[:99] + "…"


def _name(given: Given, number: int) -> str:
    name = given.source.title or (given.found.name if given.found else "")
    return safe_text(" ".join(name.split())) or f"source {number}"


def _link(given: Given) -> str | None:
    """Return the address of a source, in ASCII so that it cannot contain control characters."""
    url = given.source.url or ""
    if url.startswith(("https://", "http://")):
        return parse.quote(url, safe=":/?#[]@!$&'()*+,;=%~")
    return None if given.path is None else given.path.resolve().as_uri()


def _place(given: Given, quote: Quote) -> str:
    """Return the location of a quote in its document."""
    start, end = quote.source_start or 0, quote.source_end or 0
    if quote.field == "title":
        return "title"
    if given.found is not None:
        first = given.found.start
        return f"characters {first + start:,}–{first + end:,} of {given.found.name}"
    return f"line {given.source.text.count(chr(10), 0, start) + 1:,}"


@contextmanager
def _line_editor(path: Path) -> Iterator[None]:
    """Turn on line editing, command completion and a saved history, if readline is available."""
    try:
        import readline
    except ImportError:
        yield
        return
    if not sys.stdin.isatty():
        yield
        return
    names = [command.partition(" ")[0] for command in _COMMANDS]

    def complete(text: str, at: int) -> str | None:
        found = [name for name in names if name.startswith(text)] if text.startswith("/") else []
        return found[at] if at < len(found) else None

    readline.set_completer_delims(" ")
    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
    readline.set_history_length(_HISTORY_LINES)
    with suppress(OSError):
        readline.read_history_file(path)
    try:
        yield
    finally:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(0o600)  # private
            readline.write_history_file(path)
