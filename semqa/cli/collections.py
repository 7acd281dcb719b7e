"""`semqa collections`: list, show, share and delete collections."""

# Annotations are not postponed, because other modules inherit from the options.

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semqa.cli.command import taking
from semqa.cli.keys import Database, key_store
from semqa.cli.options import COLLECTIONS, AsJson, DataFolder
from semqa.cli.output import json_line, print_error, say, write_result
from semqa.cli.tables import print_tables, things_table
from semqa.data.files import data_folder
from semqa.errors import InputError, NotFoundError, UnavailableError

if TYPE_CHECKING:
    from semqa.retrieval.passages import Collection, CollectionInfo, Library

app = typer.Typer(
    help="List, show, share and delete collections of documents.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(help="Name of the collection.", metavar="NAME")]

OtherKey = Annotated[
    str, typer.Option("--with", help="Id of the other key (see semqa keys list).", metavar="ID")
]


@dataclass(frozen=True, kw_only=True)
class LibraryOptions:
    """The data folder, and the key that owns the collections; without one, they are local."""

    data: DataFolder = None
    owner: Annotated[
        str | None,
        typer.Option(
            help="Id of the key that owns the collection (see semqa keys list).",
            metavar="ID",
            rich_help_panel=COLLECTIONS,
        ),
    ] = None
    database: Database = None

    def owner_id(self, *, revoked: bool = False) -> str:
        """Return the id of the owner, possibly a revoked one; empty for local collections."""
        return self.key_id(self.owner, revoked=revoked) if self.owner is not None else ""

    def key_id(self, key: str, *, field: str = "owner", revoked: bool = False) -> str:
        """Return the id if there is such a key, which must not be revoked unless `revoked`."""
        with self.key_database() as store:
            keys = store.keys()
        if key not in [each.id for each in keys if revoked or each.revoked is None]:
            raise InputError(
                f"must be the id of {'a key' if revoked else 'a valid key'}, got {key!a}.",
                field=field,
                value=key,
                hint="See semqa keys list.",
            )
        return key

    def key_database(self) -> Any:
        """Open the database of keys for a block."""
        return closing(key_store(self.data, self.database, "a key's collections"))


@dataclass(frozen=True, kw_only=True)
class OwnerOptions(LibraryOptions):
    """`LibraryOptions` that also take the key itself."""

    api_key: Annotated[
        str | None,
        typer.Option(
            envvar="SEMQA_INDEX_API_KEY",
            help="The key that owns the collection.",
            metavar="KEY",
            rich_help_panel=COLLECTIONS,
        ),
    ] = None

    def owner_id(self, *, revoked: bool = False) -> str:
        """Return the id of the owner, which may be that of a key of the server's settings."""
        if self.owner is not None or not self.api_key:
            return super().owner_id(revoked=revoked)
        from semqa.server.middleware import given_owner

        with self.key_database() as store:
            return str(store.owner_of(self.api_key) or given_owner(self.api_key))


def open_library(data: Path | None, name: str, **given: Any) -> "Library":
    """Open the library in a data folder, to look for the collection `name`."""
    from semqa.retrieval.passages import Library

    where = data_folder(data) / "library"
    if not where.is_dir():
        raise InputError(
            f"Collection {name!r} not found in {where}, which has no collections.",
            hint="Make one with: semqa index DIR",
        )
    return Library(where, **given)


def find_collection(library: "Library", owner: str, name: str) -> "Collection":
    """Return a collection; if it is missing, the error says how to see or create collections."""
    try:
        return library.collection(owner, name)
    except NotFoundError as error:
        error.hint = (
            "Run semqa collections list to see what exists, or semqa index DIR to create one."
        )
        raise


@app.command(name="list", cls=taking(OwnerOptions))
def list_collections(
    ctx: typer.Context,
    as_json: AsJson = False,
) -> None:
    """List the collections and their sizes."""
    options: OwnerOptions = ctx.obj[OwnerOptions]
    owner_id = options.owner_id(revoked=True)
    exists = (data_folder(options.data) / "library").is_dir()
    found, damaged = _infos(_library(options, ""), owner_id) if exists else ([], 0)
    if as_json:
        write_result(json_line([asdict(each) for each in found], indent=2))
    elif not found and not damaged:
        say("No collections. Make one with: semqa index DIR")
    elif found:
        rows = [
            (each.name, each.documents, each.passages, each.created[:10], each.access)
            for each in found
        ]
        headers = ("collection", "documents", "passages", "created", "access")
        _print_list(headers, rows)
    if damaged:
        raise typer.Exit(1)


@app.command(cls=taking(OwnerOptions))
def show(
    ctx: typer.Context,
    name: Name,
    as_json: AsJson = False,
) -> None:
    """Show the documents of a collection."""
    options: OwnerOptions = ctx.obj[OwnerOptions]
    owner_id = options.owner_id(revoked=True)
    library = _library(options, name)
    collection = find_collection(library, owner_id, name)
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
        headers = ("document", "kind", "passages", "characters", "added")
        rows = [(d.name, d.kind, d.passages, d.characters, d.added[:10]) for d in documents]
        _print_list(headers, rows)


@app.command(cls=taking(OwnerOptions))
def share(
    ctx: typer.Context,
    name: Name,
    other: OtherKey,
    write: Annotated[
        bool, typer.Option("--write", help="Also let the key add and remove documents.")
    ] = False,
    alias: Annotated[
        str | None,
        typer.Option("--as", help="Name for the other key.", show_default="NAME", metavar="NAME"),
    ] = None,
) -> None:
    """Share a collection with another key of a server.

    Without --owner, it is a local collection, which belongs to no key.
    """
    options: OwnerOptions = ctx.obj[OwnerOptions]
    owner_id, other_id = options.owner_id(), options.key_id(other, field="with")
    library = _library(options, name)
    find_collection(library, owner_id, name)
    library.share(owner_id, name, other_id, alias or name, write=write)
    access = "read and write" if write else "read"
    say(f"{name}: {other} can now {access} it as {alias or name}")


@app.command(cls=taking(OwnerOptions))
def unshare(
    ctx: typer.Context,
    name: Name,
    other: OtherKey,
) -> None:
    """Stop sharing a collection with a key."""
    options: OwnerOptions = ctx.obj[OwnerOptions]
    owner_id, library = options.owner_id(), _library(options, name)
    find_collection(library, owner_id, name)
    library.unshare(owner_id, name, other)
    say(f"{name}: no longer shared with {other}")


@app.command(cls=taking(OwnerOptions))
def delete(
    ctx: typer.Context,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Delete a collection and its documents; the original files stay."""
    options: OwnerOptions = ctx.obj[OwnerOptions]
    owner_id = options.owner_id(revoked=True)
    library = _library(options, name)
    collection = find_collection(library, owner_id, name)
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


def _print_list(headers: Sequence[str], rows: Sequence[Sequence[str | int]]) -> None:
    """Print a table without blank lines around it."""
    table = things_table(headers, rows)
    table.show_edge = False
    print_tables(table)


def _infos(library: "Library", owner: str) -> "tuple[list[CollectionInfo], int]":
    """Return the sizes of the collections, and report and count the damaged ones."""
    found = []
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


def _library(options: OwnerOptions, name: str) -> "Library":
    return open_library(options.data, name, encoder=False)


def size_text(documents: int, passages: int) -> str:
    """Return the size of a collection, such as ``3 documents, 41 passages``."""
    counts = {"document": documents, "passage": passages}
    return ", ".join(
        f"{count:,} {noun}{'' if count == 1 else 's'}" for noun, count in counts.items()
    )
