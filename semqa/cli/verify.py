"""`semqa verify`: check that every quote of an answer is in its source."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from semqa.cli.inputs import check_files, gather_sources
from semqa.cli.options import AsJson, SourceOption, SourcesOption
from semqa.cli.output import json_line, say, terminal_width, use_color, write_result
from semqa.data.files import ByteBudget, decode_text, display_name, open_input
from semqa.data.sources import answers_of, is_record
from semqa.errors import InputError
from semqa.quotes import Quote, QuotedAnswer, Source, Status
from semqa.quotes.locate import Nearest, NearestSearch
from semqa.quotes.render import to_ansi
from semqa.quotes.render.common import verdict_text

MAX_ANSWER_BYTES = 16 * 2**20
"""Size limit of an answer, unless `SEMQA_MAX_BYTES` is set."""

MIN_SIMILARITY = 0.6
"""Minimum similarity at which the nearest passage is shown."""

NO_SOURCES = "No sources. Name the documents that the answer quotes, or use --sources FILE."


def verify(
    answer: Annotated[
        Path,
        typer.Argument(
            help="Marked answer, or JSON from semqa answer or a server, which has the sources; "
            "- for standard input."
        ),
    ] = Path("-"),
    source: SourceOption = None,
    sources: SourcesOption = None,
    as_json: AsJson = False,
) -> None:
    """Check every quote of a marked answer against its sources, character by character.

    The exit code is 0 if all quotes are verified, or if the answer is the
    abstention sentence. It is 1 if a quote is not verified or if there are no
    quotes. Claims outside quotes are listed but do not change the exit code.
    """
    check_files(None, answer, *(source or []), sources)
    answers = _read(answer, source or [], sources)
    for key, result, question in answers:
        _show(key if len(answers) > 1 else "", result, question, as_json=as_json)
    if not all(result.verified or result.abstained for _, result, _ in answers):
        raise typer.Exit(1)


def _show(key: str, result: QuotedAnswer, question: str, *, as_json: bool) -> None:
    """Print an answer and its problems; with a key, only the verdict and problems, one per line."""
    search = NearestSearch(result.sources)
    if as_json:
        record = _record(result, question, search)
        write_result(json_line({"id": key} | record) if key else json_line(record, indent=2))
    else:
        if key:
            write_result(f"{key}: {verdict_text(result, question)}")
        else:
            color, width = use_color(), terminal_width()
            write_result(to_ansi(result, question=question, color=color, width=width), raw=True)
        prefix = f"{key}: " if key else ""
        for number, quote in enumerate(result.quotes, start=1):
            if not quote.verified:
                reason = _reason(quote, search, result.sources)
                write_result(f"{prefix}quote {number} ({quote.status.value}): {reason}")
        for mark in result.dropped:
            write_result(f"{prefix}dropped mark: “{_shortened(mark.text)}”: {mark.reason}")
    if search.exhausted:
        say("search for nearest passages stopped: too many quotes, or sources too long")


def _read(
    answer: Path, files: Sequence[Path], listed: Path | None
) -> list[tuple[str, QuotedAnswer, str]]:
    """Return answers with keys and questions; sources are the named ones, else the records'."""
    has_sources = bool(files) or listed is not None
    if not has_sources and str(answer) == "-" and (sys.stdin is None or sys.stdin.isatty()):
        raise InputError(NO_SOURCES)
    given = gather_sources(files, listed) if has_sources else None
    with open_input(answer, ByteBudget(MAX_ANSWER_BYTES)) as file:
        raw = file.read_all()
    text = decode_text(raw, display_name(answer))
    if is_record(text, display_name(answer)):
        records = answers_of(raw, display_name(answer))
        return [(record.key, record.read(given), record.question) for record in records]
    if given is None:
        raise InputError(NO_SOURCES)
    return [("", QuotedAnswer.parse(text.rstrip("\r\n"), given), "")]


def _record(result: QuotedAnswer, question: str, search: NearestSearch) -> dict[str, object]:
    quotes = []
    for quote in result.quotes:
        near = _nearest(quote, search)
        quotes.append({**quote.to_dict(), "nearest": None if near is None else near._asdict()})
    return {**result.to_dict(question), "quotes": quotes}


def _reason(quote: Quote, search: NearestSearch, sources: Sequence[Source]) -> str:
    shown = f"“{_shortened(quote.text)}”: {quote.reason}"
    near = _nearest(quote, search)
    if near is None or near.similarity < MIN_SIMILARITY:
        return shown
    passage = sources[near.source - 1].field(near.field)[near.start : near.end]
    return (
        f"{shown}; nearest is “{_shortened(passage)}” in source {near.source} "
        f"({near.similarity:.0%} similar)"
    )


def _nearest(quote: Quote, search: NearestSearch) -> Nearest | None:
    return search.find(quote.text) if quote.status is Status.FABRICATED else None


def _shortened(text: str, limit: int = 160) -> str:
    words = " ".join(text.split())
    return words if len(words) <= limit else words[: limit - 1] + "…"
