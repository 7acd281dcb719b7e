"""Sources and text from the command line or standard input."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semqa.cli.keys import find_owner
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from semqa.quotes import Source
    from semqa.retrieval.passages import Collection as CollectionIndex
    from semqa.retrieval.passages import Found


def gather_sources(files: Sequence[Path], sources: Path | None) -> tuple[Source, ...]:
    """Read the numbered sources of a command: documents first, then JSON lines.

    Without either, read standard input: JSON if it begins like an object or an array of objects,
    otherwise plain text as one source.
    """
    from semqa.data.sources import read_piped_sources, read_sources, read_sources_jsonl

    check_stdin_once(*files, sources)
    if not files and sources is None:
        if sys.stdin is None or sys.stdin.isatty():
            raise InputError("No sources. Give documents or --sources FILE, or pipe them in.")
        return read_piped_sources()
    given = read_sources(files) if files else ()
    return (*given, *(read_sources_jsonl(sources) if sources is not None else ()))


@dataclass(frozen=True)
class Given:
    """A source for a question, and its origin.

    Attributes:
        source: the source.
        path: the file, if the source is a whole file.
        found: the search result, if the source is a passage of a collection.
    """

    source: Source
    path: Path | None = None
    found: Found | None = None


class SourceFinder:
    """Finds the sources for each question: the named documents, and passages of a collection.

    Without documents, JSON lines or a collection, sources are read from standard input.

    Args:
        files: documents.
        sources: JSON lines of sources.
        collection: name of a collection.
        owner: id of the key that owns the collection; None for local collections.
    """

    def __init__(
        self,
        files: Sequence[Path],
        sources: Path | None,
        *,
        collection: str | None,
        data: Path | None,
        passages: int,
        reranker: str | None,
        owner: str | None = None,
        database: str | None = None,
    ) -> None:
        if owner is not None and collection is None:
            raise InputError("needs --collection.", field="owner", value=owner)
        self.given: tuple[Given, ...] = ()
        if collection is None or files or sources is not None:
            read = gather_sources(files, sources)
            paths = [*(None if str(path) == "-" else path for path in files)]
            paths += [None] * (len(read) - len(paths))
            self.given = tuple(Given(*both) for both in zip(read, paths, strict=True))
        self.collection = collection
        self._passages = passages
        self._index = None
        if collection is not None:
            owner_id = find_owner(owner, None, data, database)
            self._index = _open_collection(collection, data, reranker, owner_id)

    def find(self, query: str) -> tuple[Given, ...]:
        """Return the sources for a question, numbered from 1: documents first, then passages.

        Args:
            query: the question, with the earlier questions that it refers to.

        Returns:
            The sources; empty if there is only a collection and none of its passages match.
        """
        found = () if self._index is None else self._index.search(query, self._passages)
        return (*self.given, *(Given(each.source, found=each) for each in found))


def _open_collection(
    name: str, data: Path | None, reranker: str | None, owner: str
) -> CollectionIndex:
    from semqa.data.home import data_folder
    from semqa.retrieval.passages import Library

    where = data_folder(data) / "library"
    if not where.is_dir():
        raise InputError(
            f"Collection {name!r} not found in {where}, which has no collections.",
            hint="Make one with: semqa index DIR",
        )
    return Library(where, reranker=reranker).collection(owner, name)


def check_stdin_once(*paths: Path | None) -> None:
    """Raise if more than one input is ``-``."""
    if [str(path) for path in paths].count("-") > 1:
        raise InputError("Only one input can be standard input (-).")


def check_not_an_input(out: Path | None, *inputs: Path | None) -> None:
    """Raise if the output file is one of the inputs."""
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
