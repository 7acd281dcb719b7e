"""Files and folders: bounded reading, atomic writing, locks, digests, and semqa's own folders."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

import platformdirs

from semqa.errors import InputError, UnavailableError

if TYPE_CHECKING:
    import sqlite3

STDIN = "-"
"""The path that means standard input."""

BYTES_SETTING = "SEMQA_MAX_BYTES"
MAX_BYTES = 256 * 2**20
"""Maximum size of a data file; `SEMQA_MAX_BYTES` overrides it."""

LINE_BYTES_SETTING = "SEMQA_MAX_LINE_BYTES"
MAX_LINE_BYTES = 16 * 2**20
"""Maximum length of a line, which is held in memory; `SEMQA_MAX_LINE_BYTES` overrides it."""

BOM = b"\xef\xbb\xbf"
_BLOCK = 2**20


def setting(name: str, default: int) -> int:
    """Return a limit from the environment variable `name`, or `default` if it is not set."""
    value = os.environ.get(name, "").strip()
    if not value:
        return default
    if not (value.isascii() and value.isdigit() and len(value) <= 18 and int(value) > 0):
        raise InputError(
            f"must be a whole number of at least 1, got {value!r}.", field=name, value=value
        )
    return int(value)


def display_name(path: Path | str) -> str:
    """Return a path for messages, printable and on one line.

    Example:
        >>> display_name("-")
        '<stdin>'
    """
    if str(path) == STDIN:
        return "<stdin>"
    shown = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(path)
    )
    return shown.encode("utf-8", "backslashreplace").decode("utf-8")


def own_folder(kind: Literal["data", "config", "cache"]) -> Path:
    """Return semqa's folder of a kind, such as ``~/.local/share/semqa`` for data."""
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


CACHE_SETTING = "SEMQA_CACHE"
"""The environment variable that names the cache folder."""


def cache_folder() -> Path:
    """Return the cache folder: ``$SEMQA_CACHE``, or the system's, such as ``~/.cache/semqa``."""
    named = os.environ.get(CACHE_SETTING, "")
    try:
        return Path(named).expanduser() if named else own_folder("cache")
    except RuntimeError as err:
        raise InputError(f"No home folder for the cache: {err}. Set {CACHE_SETTING}.") from err


def make_folder(folder: Path, *, private: bool = False) -> None:
    """Create a folder if it does not exist; private: other users of the machine cannot read it."""
    try:
        folder.mkdir(0o700 if private else 0o777, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"Cannot create the folder {folder}: {error.strerror or error}."
        ) from error


class ByteBudget:
    """A limit for the bytes read from one or several files; `SEMQA_MAX_BYTES` overrides it."""

    def __init__(self, default: int = MAX_BYTES) -> None:
        self.limit = setting(BYTES_SETTING, default)
        self.used = 0

    def check(self, size: int, name: str) -> None:
        """Raise if `size` more bytes of the file `name` would exceed the limit."""
        if self.used + size > self.limit:
            raise InputError(
                f"too large: at least {self.used + size:,} bytes; at most {self.limit:,} are allowed.",
                where=name,
                hint=f"Set {BYTES_SETTING} to read more.",
            )

    def spend(self, size: int, name: str) -> None:
        """Count `size` bytes of the file `name`."""
        self.check(size, name)
        self.used += size


class InputFile:
    """An open file with a byte budget. I/O errors are raised as semqa's errors."""

    def __init__(self, name: str, stream: BinaryIO, budget: ByteBudget) -> None:
        self.name = name
        self._stream = stream
        self._budget = budget

    def read_line(self, line: int) -> bytes:
        """Return the next line with its line ending; empty at the end of the file."""
        longest = setting(LINE_BYTES_SETTING, MAX_LINE_BYTES)
        try:
            raw = self._stream.readline(longest + 1)
        except OSError as err:
            raise _unreadable(self.name, err) from err
        check_binary(raw, f"{self.name}:{line}", self._budget.used)
        if len(raw) > longest:
            raise InputError(
                f"line too long: more than {longest:,} bytes.",
                where=f"{self.name}:{line}",
                hint=f"Set {LINE_BYTES_SETTING} to read longer lines.",
            )
        self._budget.spend(len(raw), self.name)
        return raw

    def read_all(self) -> bytes:
        """Return the rest of the file."""
        blocks: list[bytes] = []
        while True:
            try:
                block = self._stream.read(_BLOCK)
            except OSError as err:
                raise _unreadable(self.name, err) from err
            if not block:
                return b"".join(blocks)
            self._budget.spend(len(block), self.name)
            blocks.append(block)


def _unreadable(name: str, err: OSError) -> InputError:
    reason = "no such file" if isinstance(err, FileNotFoundError) else err.strerror or str(err)
    return InputError(f"cannot be read: {reason}.", where=name)


@contextmanager
def open_input(path: Path | str, budget: ByteBudget | None = None) -> Iterator[InputFile]:
    """Open a file, or standard input for the path ``-``, for bounded reading."""
    name = display_name(path)
    budget = budget or ByteBudget()
    if str(path) == STDIN:
        if sys.stdin is None:
            raise InputError("cannot be read: there is no standard input.", where=name)
        yield InputFile(name, sys.stdin.buffer, budget)
        return
    try:
        if Path(path).is_dir():
            raise InputError("cannot be read: it is a folder.", where=name)
        stream = Path(path).open("rb")  # noqa: SIM115 -- closed below
    except OSError as err:
        raise _unreadable(name, err) from err
    except ValueError as err:  # a NUL character in the path
        raise InputError("cannot be read: the path has a NUL character.", where=name) from err
    with stream:
        budget.check(os.fstat(stream.fileno()).st_size, name)
        yield InputFile(name, stream, budget)


def check_binary(raw: bytes, where: str, offset: int) -> None:
    """Raise if bytes contain a NUL byte, so that they are not text."""
    at = raw.find(b"\0")
    if at < 0:
        return
    # UTF-16 is the one common case that users can easily fix.
    utf16 = offset == 0 and raw[:2] in (b"\xff\xfe", b"\xfe\xff")
    raise InputError(
        f"not text: NUL byte at offset {offset + at}.",
        where=where,
        hint="Save the file as UTF-8, not UTF-16." if utf16 else None,
    )


def decode_text(raw: bytes, where: str, offset: int = 0) -> str:
    r"""Decode UTF-8 and drop a byte order mark at the beginning of the file.

    `where` is the location for errors, and `offset` that of `raw` in the file, in bytes.

    Example:
        >>> decode_text(b"caf\xc3\xa9", "menu.txt")
        'café'
    """
    check_binary(raw, where, offset)
    body = raw.removeprefix(BOM) if offset == 0 else raw
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as err:
        at = offset + len(raw) - len(body) + err.start
        raise InputError(
            f"invalid UTF-8: byte 0x{body[err.start]:02x} at offset {at}.", where=where
        ) from err


def write_atomic(path: Path | str, chunks: Iterable[bytes]) -> None:
    """Write a file atomically: readers see the old content or the new content.

    The content is written to a temporary file, synced to the disk and renamed. Symbolic links are
    followed. Files that are not regular (a pipe, ``/dev/null``) are written directly.
    """
    name = display_name(path)
    if "\0" in str(path):
        raise InputError("cannot be written: the path has a NUL character.", where=name)
    try:
        target = Path(path)
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.exists() and not target.is_file():
            # Use the path as given: the resolved path of a pipe cannot be opened.
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
        raise InputError(f"cannot be written: {err.strerror}.", where=name) from err
    except OSError as err:
        raise UnavailableError(
            f"{name}: could not be written: {err.strerror or repr(err)}. Free some space and try again."
        ) from err


def sync_folder(folder: Path) -> None:
    """Sync a folder to the disk, so that a rename in it survives a power failure."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


WAIT_SECONDS = 600.0
"""Timeout for a lock."""


@contextmanager
def locked(path: Path, wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock on the file `path`; wait while another process or thread holds it.

    The file is created if it is missing.
    """
    from filelock import FileLock, Timeout

    try:
        with FileLock(path, timeout=wait_seconds, poll_interval=0.05):
            yield
    except Timeout as err:
        raise UnavailableError(
            f"{path} is locked by another semqa process. Wait for it or stop it."
        ) from err


_PAUSE = 0.01


def use_write_ahead_log(connection: sqlite3.Connection, seconds: float) -> None:
    """Switch an SQLite database to write-ahead logging, so that readers never wait.

    SQLite's timeout does not apply to this lock: it fails at once while another process switches
    the same database. So retry for up to `seconds`.
    """
    from sqlite3 import SQLITE_BUSY, OperationalError

    until = time.monotonic() + seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except OperationalError as error:
            if error.sqlite_errorcode & 0xFF != SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
        else:
            return


WHOLE = 16 * 2**20
"""Files up to this size are read completely."""

EVERY = 4 * 2**20
SAMPLE = 2**16
"""Number of bytes read from a larger file at each multiple of `EVERY`, and at its end."""


def folder_digest(folder: Path) -> str:
    """Return the SHA-256, in hex, of the names, sizes and contents of a folder's files.

    Large files are sampled, so that a model of several gigabytes takes seconds. Hidden files and
    Markdown are ignored, because they change without the model.
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
