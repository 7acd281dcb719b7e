"""A lock between processes, held through the operating system and freed when its holder dies."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from semqa.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["WAIT_SECONDS", "locked"]

WAIT_SECONDS = 600.0
"""How long one process waits for another that holds the lock."""


@contextmanager
def locked(path: Path, wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock of the file `path`, waiting while another process or thread holds it.

    The file is made where it is missing.

    Raises:
        UnavailableError: another holds it for longer than `wait_seconds`.
        OSError: the file cannot be made.
    """
    from filelock import FileLock, Timeout

    try:
        with FileLock(path, timeout=wait_seconds, poll_interval=0.05):
            yield
    except Timeout as err:
        raise UnavailableError(
            f"{path}: locked: got no turn in {wait_seconds:g} s, expected another semqa to finish "
            "its work there; wait for it or end it, and try again"
        ) from err
