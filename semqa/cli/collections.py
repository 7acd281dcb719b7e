"""`semqa collections`: list, show, share and delete collections."""

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

app = typer.Typer(
    help="List, show, share and delete collections of documents.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(help="Name of the collection.", metavar="NAME")]


OtherKey = Annotated[
    str, typer.Option("--with", help="Id of the other key (see semqa keys list).", metavar="ID")
]


@app.command(name="list")
def list_collections(
    data: DataFolder = None,
    owner: OwnerId = None,
    api_key: OwnerKey = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List the collections and their sizes."""
    owner_id = find_owner(owner, api_key, data, database, revoked=True)
    library = _library(data)
    found, damaged = ([], 0) if library is None else _infos(library, owner_id)
    if as_json:
        write_result(json_line([asdict(each) for each in found], indent=2))
    elif not found and not damaged:
        say("No collections. Make one with: semqa index DIR")
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
    owner_id = find_owner(owner, api_key, data, database, revoked=True)
    library = _existing(name, data)
    collection = library.collection(owner_id, name)
    documents = sorted(collection.documents(), key=lambda each: each.name)
    shares = library.shares(owner_id, name) if collection.access == "own" else []
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
        bool, typer.Option("--write", help="Also let the key add and remove documents.")
    ] = False,
    alias: Annotated[
        str | None,
        typer.Option("--as", help="Name for the other key.", show_default="NAME", metavar="NAME"),
    ] = None,
    data: DataFolder = None,
    owner: OwnerId = None,
    api_key: OwnerKey = None,
    database: Database = None,
) -> None:
    """Share a collection with another key of a server.

    Without --owner, it is a local collection, which belongs to no key.
    """
    owner_id = find_owner(owner, api_key, data, database)
    library = _existing(name, data)
    library.share(
        owner_id, name, find_owner(other, None, data, database), alias or name, write=write
    )
    access = "read and write" if write else "read"
    say(f"{name}: {other} can now {access} it as {alias or name}")


@app.command()
def unshare(
    name: Name,
    other: OtherKey,
    data: DataFolder = None,
    owner: OwnerId = None,
    api_key: OwnerKey = None,
    database: Database = None,
) -> None:
    """Stop sharing a collection with a key."""
    owner_id = find_owner(owner, api_key, data, database)
    _existing(name, data).unshare(owner_id, name, other)
    say(f"{name}: no longer shared with {other}")


@app.command()
def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    data: DataFolder = None,
    owner: OwnerId = None,
    api_key: OwnerKey = None,
    database: Database = None,
) -> None:
    """Delete a collection and its documents; the original files stay."""
    owner_id = find_owner(owner, api_key, data, database, revoked=True)
    library = _existing(name, data)
    collection = library.collection(owner_id, name)
    try:
        info = collection.info()
        summary = f"{name}: {size_text(info.documents, info.passages)}"
    except UnavailableError:
        summary = f"{name}: damaged, size unknown"
    if not yes:
        if not sys.stdin.isatty():
            raise InputError(f"{summary}: not deleted. Without a terminal, confirm with --yes.")
        try:
            confirmed = typer.confirm(f"delete {summary}?", err=True)
        except typer.Abort:  # Ctrl-C or end of input
            raise typer.Exit(130) from None
        if not confirmed:
            say(f"{name}: kept")
            raise typer.Exit(1)
    library.delete(owner_id, name)
    say(f"{summary}: deleted")


def _infos(library: Library, owner: str) -> tuple[list[CollectionInfo], int]:
    """Return the sizes of the collections, and report and count the damaged ones."""
    found: list[CollectionInfo] = []
    damaged = 0
    for name in library.names(owner):
        try:
            found.append(library.collection(owner, name).info())
        except NotFoundError:  # deleted in the meantime
            continue
        except UnavailableError as error:
            print_error(str(error))
            damaged += 1
    return found, damaged


def _library(data: Path | None) -> Library | None:
    """Return the library of a data folder, or None if it has no library."""
    from semqa.data.home import data_folder
    from semqa.retrieval.passages import Library

    where = data_folder(data) / "library"
    return Library(where, encoder=None) if where.is_dir() else None


def size_text(documents: int, passages: int) -> str:
    """Return the size of a collection, such as ``3 documents, 41 passages``."""
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
