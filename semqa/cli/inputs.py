"""Sources and texts given on the command line or standard input."""

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
    """Read the sources that a command was given, numbered: documents first, then JSON lines.

    With neither, they come from standard input: JSON where it begins as an object with fields or
    an array of them does, otherwise plain text, which is one source.
    """
    from semqa.data.sources import read_piped_sources, read_sources, read_sources_jsonl

    check_stdin_once(*files, sources)
    if not files and sources is None:
        if sys.stdin is None or sys.stdin.isatty():
            raise InputError("No sources. Name documents or --sources FILE, or pipe them in.")
        return read_piped_sources()
    given = read_sources(files) if files else ()
    return (*given, *(read_sources_jsonl(sources) if sources is not None else ()))


@dataclass(frozen=True)
class Given:
    """A source of a question, and where it is from.

    Attributes:
        source: the source.
        path: the file that it is the whole of, if any.
        found: the passage of a collection that it is, if any.
    """

    source: Source
    path: Path | None = None
    found: Found | None = None


class SourceFinder:
    """Finds the sources of each question: documents that were named, and passages of a collection.

    Args:
        collection: the name of a collection; with neither of these, sources come from standard input.
        owner: the id of the key whose collection it is; by default of nobody in particular.
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
        self._held = None
        if collection is not None:
            whose = find_owner(owner, None, data, database)
            self._held = _open_collection(collection, data, reranker, whose)

    def find(self, query: str) -> tuple[Given, ...]:
        """Return the sources of a question, numbered from 1: documents first, then passages.

        Args:
            query: the question, with what it refers to.

        Returns:
            Nothing if there is only a collection, and no passage of it has to do with the question.
        """
        found = () if self._held is None else self._held.search(query, self._passages)
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
    """See that ``-`` stands for at most one of the inputs."""
    if [str(path) for path in paths].count("-") > 1:
        raise InputError("Standard input (-) can be only one of the inputs.")


def check_not_an_input(out: Path | None, *inputs: Path | None) -> None:
    """See that what is written does not replace what is read."""
    for path in inputs:
        if out is None or path is None or not (out.is_file() and path.is_file()):
            continue
        if out.samefile(path):
            raise InputError(
                "The output would overwrite an input. Choose another file.", where=str(out)
            )


def check_text(text: str, name: str) -> None:
    """See that an argument is text, which the system does not promise."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"holds invalid UTF-8 at character {error.start}: {error.object[error.start]!a}.",
            field=name,
            hint="Check the terminal's encoding.",
        ) from error
