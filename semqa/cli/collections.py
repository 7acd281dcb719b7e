"""`semqa collections`: what `semqa index` and uploads made: listing, showing, deleting."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semqa.cli.keys import Database, OwnerId, OwnerKey, find_owner
from semqa.cli.options import AsJson, DataFolder
from semqa.cli.output import json_line, print_error, say, write_result
from semqa.errors import InputError, NotFoundError, UnavailableError

if TYPE_CHECKING:
    from semqa.retrieval.passages import CollectionInfo, Library

app = typer.Typer(help="List, show and delete collections of documents.", no_args_is_help=True)

Name = Annotated[
    str, typer.Argument(help="Its name, from the list.", metavar="NAME", show_default=False)
]


OtherKey = Annotated[
    str,
    typer.Option(
        "--with",
        help="Id of the other key, from semqa keys list.",
        metavar="ID",
        show_default=False,
    ),
]


@app.command(name="list")
def list_collections(
    data: DataFolder = None,
    owner: OwnerId = None,
    api_key: OwnerKey = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List the collections, with how much is in them."""
    whose = find_owner(owner, api_key, data, database, revoked=True)
    library = _library(data)
    found, damaged = ([], 0) if library is None else _infos(library, whose)
    if as_json:
        write_result(json_line([asdict(each) for each in found], indent=2))
    elif not found and not damaged:
        say("no collections: make one with semqa index DIR")
    elif found:
        from semqa.cli.tables import print_tables, things_table

        rows = [
            (each.name, each.documents, each.passages, each.created, each.access) for each in found
        ]
        headers = ("collection", "documents", "passages", "created", "access")
        print_tables(things_table(headers, rows))
    if damaged:
        raise typer.Exit(1)


@app.command()
def show(
    name: Name,
    data: DataFolder = None,
    owner: OwnerId = None,
    api_key: OwnerKey = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Show the documents of a collection."""
    whose = find_owner(owner, api_key, data, database, revoked=True)
    library = _existing(name, data)
    collection = library.collection(whose, name)
    documents = sorted(collection.documents(), key=lambda each: each.name)
    shares = library.shares(whose, name) if collection.access == "own" else []
    if as_json:
        record = {
            **asdict(collection.info()),
            "shared": [asdict(each) for each in shares],
            "items": [asdict(each) for each in documents],
        }
        write_result(json_line(record, indent=2))
        return
    for each in shares:
        say(f"shared with {each.owner} to {each.access}, as {each.name}")
    if not documents:
        say(f"{name}: no documents")
    else:
        from semqa.cli.tables import print_tables, things_table

        headers = ("document", "kind", "passages", "characters", "added")
        rows = [(d.name, d.kind, d.passages, d.characters, d.added) for d in documents]
        print_tables(things_table(headers, rows))


@app.command()
def share(
    name: Name,
    other: OtherKey,
    write: Annotated[
        bool, typer.Option("--write", help="Let it put and remove documents, too.")
    ] = False,
    alias: Annotated[
        str | None,
        typer.Option("--as", help="What it is called there.", show_default="NAME", metavar="NAME"),
    ] = None,
    data: DataFolder = None,
    owner: OwnerId = None,
    api_key: OwnerKey = None,
    database: Database = None,
) -> None:
    """Let another key of a server read a collection.

    Without --owner, the collection is one that semqa index made for no key.
    """
    whose = find_owner(owner, api_key, data, database)
    library = _existing(name, data)
    library.share(whose, name, find_owner(other, None, data, database), alias or name, write=write)
    say(f"{name}: {other} may {'read and write' if write else 'read'} it, as {alias or name}")


@app.command()
def unshare(
    name: Name,
    other: OtherKey,
    data: DataFolder = None,
    owner: OwnerId = None,
    api_key: OwnerKey = None,
    database: Database = None,
) -> None:
    """Share a collection with a key no longer."""
    whose = find_owner(owner, api_key, data, database)
    _existing(name, data).unshare(whose, name, other)
    say(f"{name}: not shared with {other} any more")


@app.command()
def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    data: DataFolder = None,
    owner: OwnerId = None,
    api_key: OwnerKey = None,
    database: Database = None,
) -> None:
    """Delete a collection with its documents. The files that they were read from stay."""
    whose = find_owner(owner, api_key, data, database, revoked=True)
    library = _existing(name, data)
    collection = library.collection(whose, name)
    try:
        held = collection.info()
        told = f"{name}: {told_size(held.documents, held.passages)}"
    except UnavailableError:
        told = f"{name}: damaged, nobody knows how many documents"
    if not yes:
        if not sys.stdin.isatty():
            raise InputError(f"{told}: not deleted. Without a terminal, confirm with --yes.")
        try:
            sure = typer.confirm(f"delete {told}?", err=True)
        except typer.Abort:  # Ctrl-C, or no more to read
            raise typer.Exit(130) from None
        if not sure:
            say(f"{name}: kept")
            raise typer.Exit(1)
    library.delete(whose, name)
    say(f"{told}: deleted")


def _infos(library: Library, owner: str) -> tuple[list[CollectionInfo], int]:
    """Return how much is in each collection, and how many cannot be read, which are told."""
    found: list[CollectionInfo] = []
    damaged = 0
    for name in library.names(owner):
        try:
            found.append(library.collection(owner, name).info())
        except NotFoundError:  # removed meanwhile
            continue
        except UnavailableError as error:  # the others are none the worse for it
            print_error(str(error))
            damaged += 1
    return found, damaged


def _library(data: Path | None) -> Library | None:
    """Return the collections of a data folder; None where nothing was ever put there."""
    from semqa.data.home import data_folder
    from semqa.retrieval.passages import Library

    where = data_folder(data) / "library"
    return Library(where, encoder=None) if where.is_dir() else None


def told_size(documents: int, passages: int) -> str:
    """Return how much a collection holds, in words."""
    counts = {"document": documents, "passage": passages}
    return ", ".join(
        f"{count:,} {noun}{'' if count == 1 else 's'}" for noun, count in counts.items()
    )


def _existing(name: str, data: Path | None) -> Library:
    library = _library(data)
    if library is None:
        from semqa.data.home import data_folder

        raise InputError(
            f"Collection {name!r} not found in {data_folder(data)}, which has no collections.",
            hint="Make one with: semqa index DIR",
        )
    return library
