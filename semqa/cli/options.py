"""Options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "COLLECTIONS",
    "RERANKER_HELP",
    "AsJson",
    "DataFolder",
    "EngineName",
    "RerankerName",
    "SourceOption",
    "SourcesOption",
]

COLLECTIONS = "Collections"
"""Panel of the options that say where collections are."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        envvar="SEMQA_DATA",
        help="Folder of collections and conversations.",
        show_default="~/.local/share/semqa",
        metavar="DIR",
        rich_help_panel=COLLECTIONS,
    ),
]

EngineName = Annotated[
    str | None,
    typer.Option(
        envvar="SEMQA_ENGINE",
        show_default="see semqa models",
        metavar="ENGINE",
        help="extractive, bm25, nearest, lead-K, tail-K, transformers:MODEL, vllm:MODEL or "
        "openai:MODEL. MODEL is a folder, a name on the Hub, or a name at --base-url.",
    ),
]

RERANKER_HELP = "Cross-encoder that reorders the passages: a folder or a name on the Hub."

RerankerName = Annotated[
    str | None,
    typer.Option(
        "--reranker",
        envvar="SEMQA_RERANKER",
        help=RERANKER_HELP,
        show_default="none",
        metavar="MODEL",
        rich_help_panel=COLLECTIONS,
    ),
]

SourceOption = Annotated[
    list[Path] | None,
    typer.Option(help="A document; repeatable.", show_default=False, metavar="FILE"),
]

SourcesOption = Annotated[
    Path | None,
    typer.Option(
        help='JSON lines {"text", "title"?, "url"?}, one source per line; - for standard input.',
        show_default=False,
        metavar="FILE",
    ),
]
