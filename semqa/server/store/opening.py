"""Opening the store that a server's settings speak of, without the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.errors import InputError
from semqa.server.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from semqa.server.settings import ServerSettings

__all__ = ["make_folder", "open_store"]


def open_store(settings: ServerSettings) -> Store:
    """Open the database of keys and conversations, and bring its tables up to date.

    Raises:
        InputError: the data folder or the database cannot be used.
        UnavailableError: a package is missing, or the database does not answer.
    """
    make_folder(settings.data)
    store = Store(settings.store)
    store.migrate()
    return store


def make_folder(folder: Path) -> None:
    """Make a folder to keep data in.

    Raises:
        InputError: it cannot be made.
    """
    try:
        # Conversations are nobody else's business on a shared machine.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be made: got {error.strerror or error}, expected a folder to keep data "
            "in; choose another --data"
        ) from error
