"""`semqa answer --questions`: answer the questions of a file; resumable.

Each answer is appended to the output as a JSON line once it is finished. The line has a key derived
from the question, its sources, and the engine with its options. Later runs skip keys that are
already in the output.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from semqa.cli.choice import Choice
from semqa.cli.inputs import SourceFinder
from semqa.cli.output import (
    json_line,
    print_error,
    progress_bar,
    resumable,
    say,
    use_color,
    write_result,
)
from semqa.cli.running import (
    AnswerTask,
    Format,
    Run,
    check_answer,
    run_engine,
    say_if_words_only,
)
from semqa.data.files import BOM, decode_text
from semqa.data.jsonl import AppendFile, as_row, decode_row, describe, read_lines
from semqa.data.sources import source_of
from semqa.engines import Engine, GeneratingEngine, Request
from semqa.engines.outcome import Outcome, abstention, outcome_of
from semqa.errors import InputError
from semqa.quotes import Source

if TYPE_CHECKING:
    from semqa.attribution.judges import CachedJudge

_BEGINNING = b'{"key": "'
"""Start of each line of the output."""


class AskedQuestion(NamedTuple):
    """A question from a file."""

    question: str
    where: str
    id: str | None = None
    sources: tuple[Source, ...] = ()


def read_questions(path: Path) -> list[AskedQuestion]:
    """Read questions: one per line, or JSON lines ``{"question", "id"?, "sources"?}``.

    The file is JSON lines if its first non-blank line begins with a brace. Other fields are ignored.
    """
    found: list[AskedQuestion] = []
    as_json = False
    for line in read_lines(path):
        if not found:
            as_json = line.raw.removeprefix(BOM).lstrip().startswith(b"{")
        if as_json:
            row = decode_row(line)
            named = row.text("id") if "id" in row.fields else None
            asked = AskedQuestion(row.text("question"), line.where, named, _own_sources(row))
        else:
            asked = AskedQuestion(
                decode_text(line.raw, line.where, line.offset).strip(), line.where
            )
        if not any(map(str.isalnum, asked.question)):
            raise InputError("The question is blank.", where=line.where)
        found.append(asked)
    return found


def _own_sources(row: Any) -> tuple[Source, ...]:
    given = row.fields.get("sources") or []
    if not isinstance(given, list):
        raise InputError(
            f"must be a list, got {describe(given)}.", field="sources", where=row.where
        )
    return tuple(
        source_of(as_row(each, f"{row.where}: source {number}"))
        for number, each in enumerate(given, 1)
    )


def answer_questions(
    asked: Sequence[AskedQuestion],
    finder: SourceFinder | None,
    choice: Choice,
    form: Format,
    out: Path | None,
    *,
    judging: CachedJudge | None,
    with_prompt: bool,
) -> None:
    """Answer questions and write each answer once it is finished."""
    keys = _keys(asked, finder, choice)
    stream, done = (None, set[str]()) if out is None else _open(out, keys)
    pending = [pair for pair in zip(asked, keys, strict=True) if pair[1] not in done]
    if done:
        say(f"{len(done)} of {len(asked)} questions are already answered")
    failed = []
    closed = nullcontext() if stream is None else closing(stream)
    with closed, resumable(saved=stream is not None):
        for (question, key), request, run in _runs(pending, finder, choice):
            if isinstance(run, InputError):
                failed.append(f"{question.where}: {run}")
                continue
            if judging is not None:
                run = run._replace(check=check_answer(request.question, run.result, judging))  # noqa: PLW2901
            task = AnswerTask(request, form, with_prompt)
            if stream is None and form is not Format.JSON:
                _print(run, task)
                continue
            record = _record(question, key, run, task)
            if stream is None:
                write_result(json_line(record))
            else:
                stream.append(record)  # on disk when this returns
    for message in failed:
        print_error(message)
    if failed:
        say(f"{len(failed)} of {len(asked)} questions have no answer")
        raise typer.Exit(1)


def _print(run: Run, task: AnswerTask) -> None:
    shown = run.page(task, color=use_color()).rstrip("\n")
    title = f"> {' '.join(task.request.question.split())}"
    write_result(f"{title}\n{shown}\n\n", raw=task.output_format is Format.TERMINAL)


def _record(asked: AskedQuestion, key: str, run: Run, task: AnswerTask) -> dict[str, Any]:
    """Return the line of an answer.

    It has only the quoted sources, because whole documents in each line would fill the disk.
    """
    from semqa.quotes.renumber import named_sources

    named = {} if asked.id is None else {"id": asked.id}
    record: dict[str, Any] = {"key": key, **named, **run.record(task)}
    used = {*named_sources(run.result), *(quote.source for quote in run.nearest)}
    record["sources"] = [each for each in record["sources"] if each["number"] in used]
    return record


_Keyed = tuple[AskedQuestion, str]


def _runs(
    pending: Sequence[_Keyed], finder: SourceFinder | None, choice: Choice
) -> Iterator[tuple[_Keyed, Request, Run | InputError]]:
    """Load the engine and answer questions, in batches if possible."""
    if not pending:
        return
    with choice.opened([asked.question for asked, _ in pending]) as engine:
        size = engine.batch_size if isinstance(engine, GeneratingEngine) else 1
        if finder is not None and finder.given:
            say_if_words_only(engine, [each.source for each in finder.given])
        with progress_bar("answering", "examples") as update:
            for start in range(0, len(pending), size):
                batch = pending[start : start + size]
                requests = []
                for asked, _ in batch:
                    found = () if finder is None else finder.find(asked.question)
                    sources = (*(each.source for each in found), *asked.sources)
                    requests.append(Request(asked.question, sources))
                yield from zip(batch, requests, _answers(choice, engine, requests), strict=True)
                update(min(start + size, len(pending)), len(pending))


def _answers(
    choice: Choice, engine: Engine, requests: Sequence[Request]
) -> Iterator[Run | InputError]:
    """Answer a batch; a failed question does not affect the rest."""
    together = [request for request in requests if request.sources]
    generations = None
    started = time.perf_counter()
    if isinstance(engine, GeneratingEngine) and len(together) > 1:
        with suppress(InputError):  # raised again below, for the question that caused it
            generations = iter(engine.generate(together))
    seconds = (time.perf_counter() - started) / max(1, len(together))
    for request in requests:
        if not request.sources:  # no passage matches
            yield Run.of(choice, engine, Outcome(abstention()), 0.0, None)
        elif generations is not None:
            made = next(generations)
            got = outcome_of(engine, request, made.read(request.sources), made)
            yield Run.of(choice, engine, got, seconds, made.prompt)
        else:
            try:
                yield run_engine(choice, engine, AnswerTask(request, Format.JSON))
            except InputError as error:
                yield error


def _keys(asked: Sequence[AskedQuestion], finder: SourceFinder | None, choice: Choice) -> list[str]:
    """Return a key for each question: a digest of the inputs that determine its answer."""
    shared = hashlib.sha256()
    shared.update(json.dumps(asdict(choice), sort_keys=True, default=str).encode())
    if finder is not None:
        shared.update(json.dumps(finder.collection).encode())
        for given in finder.given:
            _add(shared, given.source)
    seen = Counter[tuple[str | None, str]]()
    keys = []
    for each in asked:
        digest = shared.copy()
        named = (each.id, each.question)
        digest.update(json.dumps([*named, seen[named]]).encode())
        seen[named] += 1
        for source in each.sources:
            _add(digest, source)
        keys.append(digest.hexdigest()[:16])
    return keys


def _add(digest: Any, source: Source) -> None:
    digest.update(json.dumps([source.title, source.text, source.url]).encode())


def _open(path: Path, keys: Sequence[str]) -> tuple[AppendFile | None, set[str]]:
    """Open a file to append to and return the keys it has; the file is None for standard output."""
    if str(path) == "-":
        return None, set()
    opened = AppendFile(path, _BEGINNING)
    done = {row.text("key") for row in opened.rows}
    if not done <= set(keys):
        raise InputError(
            "The file has answers to other questions, or from other sources or options.",
            where=str(path),
            hint="Choose another file.",
        )
    return opened, done
