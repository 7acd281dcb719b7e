"""Options that several commands share, and suggestions for misspelt names."""

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
    """Return a hint with the names closest to a misspelt one, or None if none are close.

    Example:
        >>> did_you_mean("shot", ["shots", "seed", "top_k"])
        'Did you mean shots?'
    """
    from difflib import get_close_matches

    spelled = [name.replace("_", "-") for name in names]
    found = get_close_matches(given.replace("_", "-"), spelled, n=2, cutoff=0.7)
    return f"Did you mean {' or '.join(found)}?" if found else None


COLLECTIONS = "Collections"
"""Help panel of the options for collections."""

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
        "--collection", help="Also answer from this collection (see semqa index).", metavar="NAME"
    ),
]

PassageCount = Annotated[
    int,
    typer.Option(
        "--passages",
        min=1,
        max=100,
        help="Passages to use from the collection.",
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
        "openai:MODEL. MODEL is a folder, a Hub name, or a model at --base-url.",
    ),
]

RerankerName = Annotated[
    str | None,
    typer.Option(
        "--reranker",
        envvar="SEMQA_RERANKER",
        help="Cross-encoder that reranks passages: a folder or a Hub name.",
        show_default="none",
        metavar="MODEL",
        rich_help_panel=COLLECTIONS,
    ),
]

SourceOption = Annotated[
    list[Path] | None, typer.Option(help="A document; repeatable.", metavar="FILE")
]

SourcesOption = Annotated[
    Path | None,
    typer.Option(
        help='Sources as JSON lines {"text", "title"?, "url"?}; - for standard input.',
        metavar="FILE",
    ),
]
