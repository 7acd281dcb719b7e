"""Pins: the one content that a downloaded file may have."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Pin"]

_BLOCK = 2**20


@dataclass(frozen=True, slots=True)
class Pin:
    """A digest that a file must have.

    Attributes:
        algorithm: ``sha256`` of the content, or ``git-blob``: the name that git gives the content in
            the commit it was released in (SHA-1 over ``blob <size>``, a NUL byte and the content).
        digest: in lower-case hexadecimal.
        size: in bytes, where known.
    """

    algorithm: Literal["sha256", "git-blob"]
    digest: str
    size: int | None = None

    def digest_of(self, path: Path) -> str:
        """Return the digest of a file by this pin's algorithm, in hexadecimal.

        Raises:
            OSError: the file cannot be read.
        """
        if self.algorithm == "git-blob":
            # Not a choice: git names its files so, and pins every file of a commit by it.
            digest = hashlib.sha1(usedforsecurity=False)
            digest.update(b"blob %d\0" % path.stat().st_size)
        else:
            digest = hashlib.sha256()
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
        return digest.hexdigest()

    def matches(self, path: Path) -> bool:
        """Tell whether a file is there and has this content.

        Raises:
            OSError: the file is there and cannot be read.
        """
        if not path.is_file() or (self.size is not None and path.stat().st_size != self.size):
            return False
        return self.digest_of(path) == self.digest
