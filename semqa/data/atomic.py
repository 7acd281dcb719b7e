"""Files written atomically: whole, or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from semqa.data.files import display_name
from semqa.errors import InputError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["sync_folder", "write_atomic"]


def write_atomic(path: Path | str, chunks: Iterable[bytes]) -> None:
    """Write a file so that readers find the old content or the new, never a part.

    The new content goes to a temporary file beside it, reaches the disk, and takes the name. A
    symbolic link keeps pointing where it does; what is no regular file (a pipe, ``/dev/null``) is
    written straight.

    Raises:
        InputError: the folder does not exist or may not be written.
        UnavailableError: the disk failed or is full; the old content is still there.
    """
    name = display_name(path)
    if "\0" in str(path):
        raise InputError(
            f"{name!r}: cannot be written: got a path with a NUL character, expected a path; "
            "choose another path"
        )
    try:
        target = Path(path)
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.exists() and not target.is_file():
            # Under its own name: what a pipe's link resolves to cannot be opened.
            with target.open("wb") as stream:
                stream.writelines(chunks)
            return
        target = Path(os.path.realpath(path))
        temporary = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
        try:
            with temporary.open("xb") as stream:
                stream.writelines(chunks)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(target.parent)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as err:
        raise InputError(
            f"{name}: cannot be written: got {err.strerror!r}, expected a file in an existing "
            "folder with write permission; choose another path"
        ) from err
    except OSError as err:
        raise UnavailableError(
            f"{name}: could not be written: got {err.strerror or err!r}, expected room on a "
            "working disk; free some space and try again"
        ) from err


def sync_folder(folder: Path) -> None:
    """Make a renaming in `folder` survive a power cut, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
