"""Whether a checkpoint is whole: written to its end, and not damaged since."""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import TYPE_CHECKING

from semqa.data.atomic import sync_folder, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["damage", "find", "is_whole", "seal"]

_SEAL = "whole"
"""A file in a checkpoint that is written last: the others' digests."""


def find(folder: Path) -> dict[int, Path]:
    """Return the checkpoints in a folder by their steps, whole or not."""
    found = {}
    for path in folder.iterdir():
        step = re.fullmatch(r"checkpoint-(\d+)", path.name)
        if step and path.is_dir():
            found[int(step[1])] = path
    return found


def seal(checkpoint: Path) -> None:
    """State that a checkpoint is written, once its files have reached the disk."""
    digests = _digests(checkpoint, sync=True)
    sync_folder(checkpoint)
    content = json.dumps(digests, indent=1, sort_keys=True) + "\n"
    write_atomic(checkpoint / _SEAL, [content.encode()])
    sync_folder(checkpoint.parent)


def is_whole(checkpoint: Path) -> bool:
    """Whether it was written to its end."""
    return (checkpoint / _SEAL).is_file()


def damage(checkpoint: Path) -> str | None:
    """Return the name of a file of a whole checkpoint that is not what was written, or None.

    Raises:
        OSError: a file cannot be read.
    """
    try:
        wanted = json.loads((checkpoint / _SEAL).read_bytes())
    except ValueError:
        return _SEAL
    if not isinstance(wanted, dict):
        return _SEAL
    found = _digests(checkpoint, sync=False)
    return next((name for name in sorted(wanted) if found.get(name) != wanted[name]), None)


def _digests(checkpoint: Path, *, sync: bool) -> dict[str, str]:
    found = {}
    for path in sorted(checkpoint.rglob("*")):
        if not path.is_file() or path.name == _SEAL:
            continue
        with path.open("rb") as stream:
            found[path.relative_to(checkpoint).as_posix()] = hashlib.file_digest(
                stream, "sha256"
            ).hexdigest()
            if sync:
                os.fsync(stream.fileno())
    return found
