"""`semqa answer`: one question over your own passages."""

from __future__ import annotations

import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semqa.cli.inputs import check_not_an_input, check_text, gather_sources
from semqa.cli.options import AsJson, Coverage, EngineName, MaxWords, SourceOption, SourcesOption
from semqa.cli.output import json_line, terminal_width, use_color, write_file, write_result
from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.quotes import QuotedAnswer

__all__ = ["answer"]


class Format(StrEnum):
    """How an answer is shown."""

    TERMINAL = "terminal"
    MARKED = "marked"
    PLAIN = "plain"
    CITATIONS = "citations"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


def answer(
    question: Annotated[
        str, typer.Argument(help="The question, in words.", metavar="QUESTION", show_default=False)
    ],
    more: Annotated[
        list[Path] | None,
        typer.Argument(
            help="More source files, after those of --source.", metavar="FILE", show_default=False
        ),
    ] = None,
    source: SourceOption = None,
    sources: SourcesOption = None,
    engine: EngineName = "extractive",
    max_words: MaxWords = None,
    coverage: Coverage = None,
    output_format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            "-f",
            help="How the answer is shown.",
            show_default="terminal in a terminal, marked in a pipe or file",
        ),
    ] = None,
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write to this file instead.", show_default=False),
    ] = None,
) -> None:
    """Answer QUESTION from the sources, quoting them word for word.

    Sources are numbered in the order given. Without any, they are read from
    standard input: JSON lines {"text", "title"?, "url"?}, or else plain text,
    which is one source.
    """
    output_format = _chosen_format(output_format, as_json, in_terminal=out is None)
    check_text(question, "QUESTION")
    texts = [*(source or []), *(more or [])]
    check_not_an_input(out, *texts, sources)
    given = gather_sources(texts, sources)
    from semqa.engines import create_engine

    chosen = create_engine(engine, {"max_words": max_words, "coverage": coverage})
    started = time.perf_counter()
    result = chosen.answer(question, given)
    seconds = time.perf_counter() - started
    if output_format is Format.JSON:
        record = {
            "question": question,
            **result.to_dict(),
            "engine": chosen.name,
            "seconds": round(seconds, 6),
        }
        shown = json_line(record, indent=2)
    else:
        shown = _show(result, question, output_format, color=out is None and use_color())
    if out is None:
        # The terminal format is made safe piece by piece, and its colours are meant.
        write_result(shown, raw=output_format is Format.TERMINAL)
    else:
        write_file(out, shown)


def _chosen_format(given: Format | None, as_json: bool, *, in_terminal: bool) -> Format:
    if as_json and given not in (None, Format.JSON):
        raise InputError(
            f"--json and --format: got both, the latter with {given.value}, expected one; "
            "leave one out"
        )
    if as_json:
        return Format.JSON
    if given is not None:
        return given
    return Format.TERMINAL if in_terminal and sys.stdout.isatty() else Format.MARKED


def _show(result: QuotedAnswer, question: str, output_format: Format, *, color: bool) -> str:
    if output_format is Format.MARKED:
        return result.marked
    if output_format is Format.PLAIN:
        return result.plain
    if output_format is Format.CITATIONS:
        from semqa.quotes.citations import sentence_citations

        return sentence_citations(result)
    from semqa.quotes import render

    if output_format is Format.MARKDOWN:
        return render.to_markdown(result)
    if output_format is Format.HTML:
        return render.to_html(result, question=question)
    return render.to_ansi(result, color=color, width=terminal_width())
