"""Sources and texts given on the command line or standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import BufferedReader

    from semqa.quotes import Source

__all__ = ["SourceFiles", "SourcesFile", "gather_sources"]

SourceFiles = Annotated[
    list[Path] | None,
    typer.Argument(
        help="More source files, after those of --source.", metavar="FILE", show_default=False
    ),
]

SourcesFile = Annotated[
    Path | None,
    typer.Option(
        help='JSON lines {"text", "title"?, "url"?}, one source a line; - for standard input.',
        show_default=False,
    ),
]


def gather_sources(files: Sequence[Path], sources: Path | None) -> tuple[Source, ...]:
    """Read the sources that a command was given, numbered: text files first, then JSON lines.

    With neither, they come from standard input: JSON where it begins with a brace or bracket,
    otherwise plain text, which is one source.

    Raises:
        InputError: there are none, or one is not usable.
    """
    from semqa.data.files import STDIN
    from semqa.data.sources import read_sources, read_sources_jsonl

    stdin = Path(STDIN)
    if not files and sources is None:
        if sys.stdin.isatty():
            raise InputError(
                "no sources: got neither --source nor --sources, expected passages to quote; "
                "name text files, a JSON lines file, or pipe them in"
            )
        return read_sources_jsonl(stdin) if _stdin_is_json() else read_sources([stdin])
    given = read_sources(files) if files else ()
    return (*given, *(read_sources_jsonl(sources) if sources is not None else ()))


def _stdin_is_json() -> bool:
    """Look at the start of standard input without consuming it."""
    start = cast("BufferedReader", sys.stdin.buffer).peek(1)
    return start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
