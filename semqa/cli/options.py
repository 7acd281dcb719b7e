"""Options that several commands share, and names close to a misspelt one."""

from __future__ import annotations

import math
import re
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


SHOWN = 3


def nearest_names(given: str, names: Iterable[str]) -> list[str]:
    """Return the names that are nearest to a word, the best first, in the spelling of flags.

    Near is what needs few letters changed, or goes on where the word ends.

    Example:
        >>> nearest_names("shot", ["shots", "seed", "top_k"])
        ['shots']
    """
    from rapidfuzz.distance import OSA

    word = given.lower().replace("_", "-")
    most = max(1, len(word) // 3)
    found = []
    for name in dict.fromkeys(each.replace("_", "-") for each in names):
        # Letters that are missing at the end are not wrong letters.
        rest = len(name) - len(word)
        away = OSA.distance(word, name[: len(word)]) if rest > 0 and len(word) >= 3 else most + 1
        distance = min(OSA.distance(word, name), away + 0.5)
        if distance <= most + 0.5:
            found.append((distance, name))
    return [name for _, name in sorted(found)[:SHOWN]]


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


_RULE = "a whole number from 1, or a share between 0 and 1 such as 0.1"


def read_limit(text: str) -> int | float:
    """Read a number of questions, or a share of them, which is below 1.

    Raises:
        ValueError: it is neither; what is expected is the message.

    Example:
        >>> read_limit("20"), read_limit("0.1")
        (20, 0.1)
    """
    if re.fullmatch(r"[0-9]{1,18}", text) and int(text):
        return int(text)
    if re.fullmatch(r"[0-9]*\.[0-9]{1,18}", text) and 0 < (share := float(text)) < 1:
        return share
    raise ValueError(_RULE)


def resolve_limit(limit: float | None, data: Path) -> int | None:
    """Return a limit as a number of questions; a share of them is rounded up."""
    if not isinstance(limit, float):
        return limit
    from semqa.bench.plan import Plan

    return math.ceil(len(Plan(data, "").questions()) * limit)
