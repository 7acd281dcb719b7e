"""Whose collections a command works on: options, and the owner that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semqa.cli.keys import key_store
from semqa.cli.options import COLLECTIONS
from semqa.errors import InputError

__all__ = ["OwnerId", "OwnerKey", "find_owner"]

OwnerId = Annotated[
    str | None,
    typer.Option(
        "--owner",
        help="Owner of the collection: the id of a key (see semqa keys list).",
        show_default=False,
        metavar="ID",
        rich_help_panel=COLLECTIONS,
    ),
]

OwnerKey = Annotated[
    str | None,
    typer.Option(
        "--api-key",
        envvar="SEMQA_INDEX_API_KEY",
        help="Owner of the collection, by the key itself.",
        show_default=False,
        metavar="KEY",
        rich_help_panel=COLLECTIONS,
    ),
]


def find_owner(
    owner: str | None,
    api_key: str | None,
    data: Path | None,
    database: str | None,
    *,
    revoked: bool = False,
) -> str:
    """Return whose collections are meant; those of who needs no key unless a key is named.

    Args:
        owner: the id of a key.
        api_key: a key.
        data: the data folder.
        database: URL of the database of keys; None for SQLite in the folder.
        revoked: whether the id may be that of a key that was taken back.

    Raises:
        InputError: there is no such key.
    """
    if owner is None and not api_key:
        return ""
    store = key_store(data, database, "a key's collections")
    try:
        if owner is None:
            from semqa.server.middleware import given_owner

            return store.owner_of(api_key) or given_owner(api_key or "")
        keys = store.keys()
    finally:
        store.close()
    if owner not in [key.id for key in keys if revoked or key.revoked is None]:
        kind = "a key" if revoked else "a key that opens"
        raise InputError(
            f"must be the id of {kind}, got {owner!a}.",
            field="owner",
            value=owner,
            hint="See semqa keys list.",
        )
    return owner
