"""`semqa keys`: create, list and revoke API keys."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from semqa.cli.options import COLLECTIONS, AsJson, DataFolder
from semqa.cli.output import json_line, say, write_result
from semqa.data.files import data_folder
from semqa.extras import require
from semqa.server.settings import ServerSettings

app = typer.Typer(help="Create, list and revoke API keys of a server.", no_args_is_help=True)

Database = Annotated[
    str | None,
    typer.Option(
        envvar="SEMQA_DATABASE",
        help="Database URL.",
        show_default="SQLite in the data folder",
        metavar="URL",
        rich_help_panel=COLLECTIONS,
    ),
]


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name shown in the list.", metavar="NAME")],
    data: DataFolder = None,
    database: Database = None,
) -> None:
    """Create a key and print it once; only its hash is stored.

    Once a key exists, the server requires one.
    """
    with closing(key_store(data, database)) as store:
        key, secret = store.create_key(name)
    say(f"key {key} for {name}; save it, because it is not shown again")
    write_result(secret)


@app.command(name="list")
def list_keys(data: DataFolder = None, database: Database = None, as_json: AsJson = False) -> None:
    """List the keys, without their secrets."""
    with closing(key_store(data, database)) as store:
        keys = store.keys()
    rows = [
        {
            **asdict(key),
            "created": key.created.isoformat(),
            "revoked": key.revoked and key.revoked.isoformat(),
        }
        for key in keys
    ]
    if as_json:
        write_result(json_line(rows, indent=2))
    elif not rows:
        say("No keys. Anyone who can reach the server may use it.")
    else:
        write_result(
            "\n".join(
                f"{key.id}  {key.created:%Y-%m-%d}  {key.name}"
                + (f"  (revoked {key.revoked:%Y-%m-%d})" if key.revoked else "")
                for key in keys
            )
        )


@app.command()
def revoke(
    key: Annotated[str, typer.Argument(help="Id of the key (see semqa keys list).", metavar="ID")],
    data: DataFolder = None,
    database: Database = None,
) -> None:
    """Revoke a key; a running server refuses it at once."""
    with closing(key_store(data, database)) as store:
        store.revoke(key)
    say(f"key {key} is revoked")


def key_store(data: Path | None, database: str | None, purpose: str = "semqa keys") -> Any:
    """Open the server's database of keys."""
    require("sqlalchemy", extra="serve", purpose=purpose)
    from semqa.server.store import open_store

    return open_store(ServerSettings(data=data_folder(data), database=database))
