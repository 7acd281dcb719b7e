"""Options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "RERANKER_HELP",
    "AsJson",
    "DataFolder",
    "EngineName",
    "RerankerName",
    "SourceOption",
    "SourcesOption",
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        envvar="SEMQA_DATA",
        help="Folder of collections and conversations.",
        show_default="~/.local/share/semqa, or as the system has it",
    ),
]

EngineName = Annotated[
    str | None,
    typer.Option(
        envvar="SEMQA_ENGINE",
        show_default="what semqa models shows, else extractive",
        help="extractive, bm25, nearest, lead-K, tail-K, transformers:MODEL or vllm:MODEL, a folder "
        "or a name on the Hub, or openai:MODEL, a name at the endpoint --base-url.",
    ),
]

RERANKER_HELP = (
    "A cross-encoder of sentence-transformers, a folder or a name on the Hub, that reads the best "
    "passages again, each with the question."
)

RerankerName = Annotated[
    str | None,
    typer.Option(
        "--reranker",
        envvar="SEMQA_RERANKER",
        help=RERANKER_HELP,
        show_default="none",
        metavar="MODEL",
    ),
]

SourceOption = Annotated[
    list[Path] | None,
    typer.Option(help="A document as one source; repeat it for more.", show_default=False),
]

SourcesOption = Annotated[
    Path | None,
    typer.Option(
        help='JSON lines {"text", "title"?, "url"?}, one source a line; - for standard input.',
        show_default=False,
    ),
]
