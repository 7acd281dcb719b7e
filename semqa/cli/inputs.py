"""Sources and text from the command line or standard input."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from semqa.cli.collections import LibraryOptions, find_collection, open_library
from semqa.cli.options import COLLECTIONS, SourceOption, SourcesOption
from semqa.data.sources import read_piped_sources, read_sources, read_sources_jsonl
from semqa.errors import InputError
from semqa.quotes import Source
from semqa.retrieval import DEFAULT_PASSAGES

if TYPE_CHECKING:
    from semqa.retrieval.passages import Collection, Found


def gather_sources(files: Sequence[Path], sources: Path | None) -> tuple[Source, ...]:
    """Read the numbered sources of a command: documents first, then JSON lines.

    Without either, read standard input: JSON if it begins like an object or an array of objects,
    otherwise plain text as one source.
    """
    check_files(None, *files, sources)
    if not files and sources is None:
        if sys.stdin is None or sys.stdin.isatty():
            raise InputError("No sources. Give documents or --sources FILE, or pipe them in.")
        return read_piped_sources()
    given = read_sources(files) if files else ()
    return (*given, *(read_sources_jsonl(sources) if sources is not None else ()))


class Given(NamedTuple):
    """A source for a question, with its file, or its search result if it is a passage."""

    source: Source
    path: Path | None = None
    found: Found | None = None


@dataclass(frozen=True, kw_only=True)
class SourceOptions(LibraryOptions):
    """The options for the sources of questions."""

    source: SourceOption = None
    sources: SourcesOption = None
    collection: Annotated[
        str | None,
        typer.Option(help="Also answer from this collection (see semqa index).", metavar="NAME"),
    ] = None
    passages: Annotated[
        int,
        typer.Option(
            min=1,
            max=100,
            help="Passages to use from the collection.",
            rich_help_panel=COLLECTIONS,
        ),
    ] = DEFAULT_PASSAGES
    reranker: Annotated[
        str | None,
        typer.Option(
            envvar="SEMQA_RERANKER",
            help="Cross-encoder that reranks passages: a folder or a Hub name.",
            show_default="none",
            metavar="MODEL",
            rich_help_panel=COLLECTIONS,
        ),
    ] = None

    def finder(self, files: Sequence[Path]) -> SourceFinder:
        """Read these documents and the JSON lines, and open the collection.

        Without any of them, sources are read from standard input.
        """
        if self.owner is not None and self.collection is None:
            raise InputError("needs --collection.", field="owner", value=self.owner)
        given: tuple[Given, ...] = ()
        if self.collection is None or files or self.sources is not None:
            paths = [None if str(path) == "-" else path for path in files]
            given = tuple(
                Given(each, path)
                for each, path in zip_longest(gather_sources(files, self.sources), paths)
            )
        found = None
        if self.collection is not None:
            owner = self.owner_id()
            library = open_library(self.data, self.collection, reranker=self.reranker)
            found = find_collection(library, owner, self.collection)
        return SourceFinder(given, self.collection, found, self.passages)


@dataclass(frozen=True)
class SourceFinder:
    """Finds the sources for each question: given ones, and passages of a collection."""

    given: tuple[Given, ...]
    collection: str | None
    index: Collection | None
    passages: int

    def find(self, query: str) -> tuple[Given, ...]:
        """Return the sources for a question, numbered from 1: documents first, then passages.

        The query has the question with the earlier questions that it refers to.
        """
        found = () if self.index is None else self.index.search(query, self.passages)
        return (*self.given, *(Given(each.source, found=each) for each in found))


def check_files(out: Path | None, *inputs: Path | None) -> None:
    """Raise if several inputs are standard input, or if the output file is an input."""
    if [str(path) for path in inputs].count("-") > 1:
        raise InputError("Only one input can be standard input (-).")
    for path in inputs:
        if out is None or path is None or not (out.is_file() and path.is_file()):
            continue
        if out.samefile(path):
            raise InputError(
                "The output would overwrite an input. Choose another file.", where=str(out)
            )


def check_text(text: str, name: str) -> None:
    """Raise if an argument is not valid text, which the system does not guarantee."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"has invalid UTF-8 at character {error.start}: {error.object[error.start]!a}.",
            field=name,
            hint="Check the terminal's encoding.",
        ) from error
