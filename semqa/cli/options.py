"""Options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["AsJson", "EngineName", "SourceOption", "SourcesOption"]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

EngineName = Annotated[
    str,
    typer.Option(
        envvar="SEMQA_ENGINE",
        help="extractive, lead-K, tail-K, transformers:MODEL or vllm:MODEL, a folder or a name on "
        "the Hub, or openai:MODEL, a name at the endpoint --base-url.",
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
