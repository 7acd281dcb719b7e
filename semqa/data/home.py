"""Where collections and conversations are kept, unless someone says otherwise."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["default_data"]


def default_data() -> Path:
    """Return the folder that this system keeps a user's data of semqa in."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "semqa" / "data"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "semqa"
    base = os.environ.get("XDG_DATA_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "share") / "semqa"
