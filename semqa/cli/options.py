"""Options that several commands share, and the names nearest to a misspelt one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable


def flag(name: str) -> str:
    """Return the flag of an option.

    Example:
        >>> flag("max_words")
        '--max-words'
    """
    return "--" + name.replace("_", "-")


def did_you_mean(given: str, names: Iterable[str]) -> str | None:
    """Return a hint with the names nearest to a misspelt one, spelled as flags are; None without any.

    Example:
        >>> did_you_mean("shot", ["shots", "seed", "top_k"])
        'Did you mean shots?'
    """
    from difflib import get_close_matches

    spelled = [name.replace("_", "-") for name in names]
    found = get_close_matches(given.replace("_", "-"), spelled, n=2, cutoff=0.7)
    return f"Did you mean {' or '.join(found)}?" if found else None


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

CollectionName = Annotated[
    str | None,
    typer.Option(
        "--collection",
        help="Answer from this collection (see semqa index), besides other sources.",
        show_default=False,
        metavar="NAME",
    ),
]

PassageCount = Annotated[
    int,
    typer.Option(
        "--passages",
        min=1,
        max=100,
        help="Passages of the collection to read.",
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
