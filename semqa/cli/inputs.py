"""Sources and texts given on the command line or standard input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from semqa.quotes import Source

__all__ = [
    "check_not_an_input",
    "check_stdin_once",
    "check_text",
    "found_sources",
    "gather_sources",
]


def gather_sources(files: Sequence[Path], sources: Path | None) -> tuple[Source, ...]:
    """Read the sources that a command was given, numbered: documents first, then JSON lines.

    With neither, they come from standard input: JSON where it begins as an object with fields or
    an array of them does, otherwise plain text, which is one source.

    Raises:
        InputError: there are none, or one is not usable.
    """
    from semqa.data.sources import read_piped_sources, read_sources, read_sources_jsonl

    check_stdin_once(*files, sources)
    if not files and sources is None:
        if sys.stdin is None or sys.stdin.isatty():
            raise InputError("No sources. Name documents or --sources FILE, or pipe them in.")
        return read_piped_sources()
    given = read_sources(files) if files else ()
    return (*given, *(read_sources_jsonl(sources) if sources is not None else ()))


def found_sources(
    question: str,
    collection: str,
    data: Path | None,
    passages: int,
    reranker: str | None,
    owner: str = "",
) -> tuple[Source, ...]:
    """Return the passages of a collection that speak to a question best.

    Raises:
        InputError: there is no such collection, or nothing in it speaks to the question.
    """
    from semqa.data.home import data_folder
    from semqa.retrieval.passages import Library

    where = data_folder(data) / "library"
    if not where.is_dir():
        raise InputError(
            f"Collection {collection!r} not found: there are none in {where}.",
            hint="Make one with: semqa index DIR",
        )
    library = Library(where, reranker=reranker)
    found = library.collection(owner, collection).search(question, passages)
    if not found:
        raise InputError(
            f"No passage of {collection!r} has anything to do with the question.",
            hint="Use words of the documents, or add documents with: semqa index DIR",
        )
    return tuple(each.source for each in found)


def check_stdin_once(*paths: Path | None) -> None:
    """See that ``-`` stands for at most one of the inputs.

    Raises:
        InputError: it stands for two.
    """
    if [str(path) for path in paths].count("-") > 1:
        raise InputError("Standard input (-) can be only one of the inputs.")


def check_not_an_input(out: Path | None, *inputs: Path | None) -> None:
    """See that what is written does not replace what is read.

    Raises:
        InputError: the output is one of the inputs.
    """
    for path in inputs:
        if out is None or path is None or not (out.is_file() and path.is_file()):
            continue
        if out.samefile(path):
            raise InputError(
                "The output would overwrite an input. Choose another file.", where=str(out)
            )


def check_text(text: str, name: str) -> None:
    """See that an argument is text, which the system does not promise.

    Raises:
        InputError: it holds bytes that are no UTF-8.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"holds invalid UTF-8 at character {error.start}: {error.object[error.start]!a}.",
            field=name,
            hint="Check the terminal's encoding.",
        ) from error
