"""Options that several commands share, and suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from semqa.cli.output import say
from semqa.distributed.cluster import RaySettings
from semqa.errors import InputError

if TYPE_CHECKING:
    from semqa.distributed.workers import RayWorkers


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
    spelled = [name.replace("_", "-") for name in names]
    found = get_close_matches(given.replace("_", "-"), spelled, n=2, cutoff=0.7)
    return f"Did you mean {' or '.join(found)}?" if found else None


COLLECTIONS = "Collections"
"""Help panel of the options for collections."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def data_option(panel: str | None = None) -> Any:
    """Return the option for the data folder."""
    return typer.Option(
        envvar="SEMQA_DATA",
        help="Folder of collections and conversations.",
        show_default="~/.local/share/semqa",
        metavar="DIR",
        rich_help_panel=panel,
    )


DataFolder = Annotated[Path | None, data_option(COLLECTIONS)]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RayOptions(RaySettings):
    """The settings of Ray, and whether to use it."""

    distributed: Annotated[
        Literal["ray"] | None,
        typer.Option(
            help="Run on Ray: on all CPUs of this machine, or on a cluster.",
            rich_help_panel="Distributed work (Ray)",
            envvar="SEMQA_DISTRIBUTED",
        ),
    ] = None

    @contextmanager
    def opened(self) -> Iterator[RayWorkers | None]:
        """Start Ray or connect to it while the block runs, if --distributed is given."""
        if self.distributed is None:  # not checked before, because a grid may add it
            for name in RaySettings.__slots__:
                if getattr(self, name) is not None:
                    raise InputError("needs --distributed ray.", field=name)
            yield None
            return
        from semqa.distributed.workers import open_ray

        with open_ray(self, say) as workers:
            yield workers
