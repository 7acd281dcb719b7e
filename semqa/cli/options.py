"""Options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["AsJson", "Coverage", "EngineName", "MaxWords", "SourceOption", "SourcesOption"]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

EngineName = Annotated[
    str, typer.Option(envvar="SEMQA_ENGINE", help="extractive, lead-K or tail-K.")
]

MaxWords = Annotated[
    int | None,
    typer.Option(min=1, help="Most words of the answer.", show_default="the engine's, 100"),
]

Coverage = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="How readily a source of little relevance is quoted: 0 seldom, 1 always.",
        show_default="the engine's",
    ),
]

SourceOption = Annotated[
    list[Path] | None,
    typer.Option(help="A text file as one source; repeat it for more.", show_default=False),
]

SourcesOption = Annotated[
    Path | None,
    typer.Option(
        help='JSON lines {"text", "title"?, "url"?}, one source a line; - for standard input.',
        show_default=False,
    ),
]
