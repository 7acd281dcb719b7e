"""semqa's folders for data, settings and cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import platformdirs

from semqa.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def own_folder(kind: Literal["data", "config", "cache"]) -> Path:
    """Return the folder of a kind, such as ``~/.local/share/semqa`` for data.

    Raises:
        InputError: there is no home folder.
    """
    find = getattr(platformdirs, f"user_{kind}_path")
    folder: Path = find("semqa", appauthor=False)
    if not folder.is_absolute():
        raise InputError(f"No home folder for {folder}. Set XDG_{kind.upper()}_HOME.")
    return folder


def data_folder(named: Path | None = None) -> Path:
    """Return the given data folder with ``~`` expanded, or the default one."""
    try:
        return own_folder("data") if named is None else named.expanduser()
    except RuntimeError as error:  # what pathlib raises
        raise InputError(
            f"No home folder for {str(named)!r}.", hint="Give another folder with --data."
        ) from error
