"""Where collections and conversations are kept, unless someone says otherwise."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from semqa.errors import InputError


def default_data() -> Path:
    """Return the folder that this system keeps a user's data of semqa in."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "semqa" / "data"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "semqa"
    base = os.environ.get("XDG_DATA_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "share") / "semqa"


def data_folder(named: Path | None = None) -> Path:
    """Return the folder that is named, or the system's.

    Args:
        named: a folder, in which ``~`` and ``~user`` stand for a home.
    """
    try:
        return default_data() if named is None else named.expanduser()
    except RuntimeError as error:  # what pathlib raises
        raise InputError(
            f"There is no home folder for {str(named or '~')!r}.", hint="Name a folder with --data."
        ) from error
