"""The unfinished part of a download: its bytes on disk, and which remote content they belong to."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from semqa.data.atomic import sync_folder, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Part"]


class Part:
    """The bytes received so far (``NAME.part``) beside a note of their origin (``NAME.part.json``).

    The note holds the address and the server's validator (its ETag, else its date of change), so
    that bytes of two different contents are never put together. It is written before the first byte,
    and each block of bytes goes to the system at once: after a kill, all that was received counts.

    Args:
        target: where the finished file will be.
        url: where it comes from.
    """

    def __init__(self, target: Path, url: str) -> None:
        self.path = target.with_name(f"{target.name}.part")
        self._note = target.with_name(f"{target.name}.part.json")
        self._target = target
        self._url = url

    @property
    def size(self) -> int:
        """How many bytes are there."""
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def validator(self) -> str | None:
        """The validator of the content that the bytes belong to; None: they cannot be continued."""
        try:
            note = json.loads(self._note.read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        if not isinstance(note, dict) or note.get("url") != self._url:
            return None
        validator = note.get("validator")
        return validator if isinstance(validator, str) and validator else None

    def begin(self, validator: str | None) -> None:
        """Drop the bytes and note what the coming ones belong to."""
        self.path.open("wb").close()
        note = {"url": self._url, "validator": validator}
        write_atomic(self._note, [json.dumps(note).encode()])

    def append(self, block: bytes) -> None:
        """Add received bytes."""
        # Closed each time, so that nothing received waits in this process's memory.
        with self.path.open("ab") as stream:
            stream.write(block)

    def discard(self) -> None:
        """Remove the bytes and the note."""
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def finish(self) -> None:
        """Give the bytes, all received, the name of the finished file."""
        with self.path.open("rb+") as stream:
            os.fsync(stream.fileno())
        self.path.replace(self._target)
        self._note.unlink(missing_ok=True)
        sync_folder(self._target.parent)
