"""What tells one folder of files from another: a digest of its content."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder_digest"]

WHOLE = 16 * 2**20
"""Largest file that is read from beginning to end."""

EVERY = 4 * 2**20
SAMPLE = 2**16
"""Of a larger file, so many bytes are read at each multiple of `EVERY`, and at the end."""


def folder_digest(folder: Path) -> str:
    """Return the SHA-256, in hex, of what a folder holds: names, sizes and contents of its files.

    Weights of gigabytes are sampled throughout, so that another training of the same model is told
    apart in seconds. Hidden files and Markdown do not count: they change without the model.

    Args:
        folder: the folder; what is below it counts with its path, links as what they point to.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.name.startswith(".") or path.suffix.lower() == ".md":
            continue
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()}\0{size}\0".encode())
        with path.open("rb") as stream:
            if size <= WHOLE:
                digest.update(stream.read())
                continue
            for start in (*range(0, size - SAMPLE, EVERY), size - SAMPLE):
                stream.seek(start)
                digest.update(stream.read(SAMPLE))
    return digest.hexdigest()
