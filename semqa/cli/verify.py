"""`semqa verify`: is every quote of an answer really in the source it names?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semqa.cli.inputs import SourcesFile, gather_sources
from semqa.cli.output import json_line, terminal_width, use_color, write_result

if TYPE_CHECKING:
    from semqa.quotes import Quote, QuotedAnswer

__all__ = ["verify"]


def verify(
    answer: Annotated[
        Path,
        typer.Argument(help="File with the marked answer; - for standard input."),
    ] = Path("-"),
    source: Annotated[
        list[Path] | None,
        typer.Option(help="A text file as one source; repeat it for more.", show_default=False),
    ] = None,
    sources: SourcesFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check every quote of a marked answer against its sources, character for character.

    Exits with 0 when every quote is verified, and with 1 when one is not,
    saying which and why. An answer that quotes nothing has nothing to check:
    that is said, and the exit code is 0.
    """
    from semqa.data.files import STDIN, ByteBudget, decode_text, display_name, open_input
    from semqa.errors import InputError
    from semqa.quotes import QuotedAnswer

    if not source and sources is None:
        raise InputError(
            "no sources: got neither --source nor --sources, expected the passages that the "
            "answer quotes; name text files or a JSON lines file"
        )
    if str(answer) == STDIN and STDIN in map(str, [*(source or []), sources]):
        raise InputError(
            "standard input named twice: got - for the answer and for a source, expected one of "
            "them in a file; name a file for the other"
        )
    given = gather_sources(source or [], sources)
    with open_input(answer, ByteBudget(MAX_ANSWER_BYTES)) as file:
        text = decode_text(file.read_all(), display_name(answer))
    result = QuotedAnswer.parse(text.rstrip("\r\n"), given)
    if as_json:
        write_result(json_line(_record(result), indent=2))
    else:
        from semqa.quotes.render import to_ansi

        write_result(to_ansi(result, color=use_color(), width=terminal_width()), raw=True)
        for number, quote in enumerate(result.quotes, start=1):
            if not quote.verified:
                write_result(f"quote {number} ({quote.status}): {_why(quote, result)}")
    if not result.verified:
        raise typer.Exit(1)


MAX_ANSWER_BYTES = 16 * 2**20
"""Longest answer that is read, unless `SEMQA_MAX_BYTES` says otherwise."""


def _record(result: QuotedAnswer) -> dict[str, object]:
    from semqa.quotes.nearest import nearest_passage

    record = result.to_dict()
    quotes = []
    for quote in result.quotes:
        row = quote.to_dict()
        if quote.status == "fabricated":
            near = nearest_passage(quote.text, result.sources)
            row["nearest"] = None if near is None else near._asdict()
        quotes.append(row)
    return {**record, "quotes": quotes}


def _why(quote: Quote, result: QuotedAnswer) -> str:
    from semqa.quotes.nearest import nearest_passage

    shown = f"“{_shortened(quote.text)}”: {quote.reason}"
    near = nearest_passage(quote.text, result.sources) if quote.status == "fabricated" else None
    if near is None or near.similarity < WORTH_SHOWING:
        return shown
    passage = result.sources[near.source - 1].field(near.field)[near.start : near.end]
    return (
        f"{shown}; nearest is “{_shortened(passage)}” in source {near.source} "
        f"({near.similarity:.0%} alike)"
    )


WORTH_SHOWING = 0.6
"""Similarity from which the nearest passage helps a reader; chance resemblance lies below."""


def _shortened(text: str, limit: int = 160) -> str:
    words = " ".join(text.split())
    return words if len(words) <= limit else words[: limit - 1] + "…"
