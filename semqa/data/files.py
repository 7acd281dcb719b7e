"""Input files as bytes and text: opened, bounded and decoded with errors that name the place.

Knows nothing of what the text means; `jsonl.py` and `sources.py` do.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

__all__ = [
    "BYTES_SETTING",
    "LINE_BYTES_SETTING",
    "MAX_BYTES",
    "MAX_LINE_BYTES",
    "STDIN",
    "ByteBudget",
    "InputFile",
    "decode_text",
    "display_name",
    "open_input",
    "setting",
]

STDIN = "-"
"""The path that means standard input, as on every command line."""

BYTES_SETTING = "SEMQA_MAX_BYTES"
MAX_BYTES = 256 * 2**20
"""At most this many bytes are read from one data file, unless `SEMQA_MAX_BYTES` says otherwise."""

LINE_BYTES_SETTING = "SEMQA_MAX_LINE_BYTES"
MAX_LINE_BYTES = 16 * 2**20
"""Longest line, unless `SEMQA_MAX_LINE_BYTES` says otherwise: a line is held in memory whole."""

BOM = b"\xef\xbb\xbf"
_BLOCK = 2**20


def setting(name: str, default: int) -> int:
    """Return a limit: the environment variable `name` where it is set, else `default`.

    Raises:
        InputError: the variable is no whole number above zero.
    """
    value = os.environ.get(name, "").strip()
    if not value:
        return default
    if not (value.isascii() and value.isdigit() and len(value) <= 18 and int(value) > 0):
        raise InputError(
            f"environment variable {name}: not a limit: got {value!r}, expected a whole number "
            "above 0 of at most 18 digits; correct or unset it"
        )
    return int(value)


def display_name(path: Path | str) -> str:
    """Return a path as messages show it: on one line, and printable.

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


class ByteBudget:
    """Counts what is read, over one file or several, and stops at a limit.

    Args:
        default: the limit in bytes where `SEMQA_MAX_BYTES` is not set.
    """

    def __init__(self, default: int = MAX_BYTES) -> None:
        self.limit = setting(BYTES_SETTING, default)
        self.used = 0

    def check(self, size: int, name: str) -> None:
        """Refuse `size` more bytes of the file `name` if they would pass the limit."""
        if self.used + size > self.limit:
            raise InputError(
                f"{name}: too large: got {self.used + size} bytes or more, expected at most "
                f"{self.limit} bytes in all; set {BYTES_SETTING} to read more"
            )

    def spend(self, size: int, name: str) -> None:
        """Count `size` bytes of the file `name`."""
        self.check(size, name)
        self.used += size


class InputFile:
    """An open file whose reads are counted, and whose failures are semqa's own errors.

    Attributes:
        name: the file as messages show it.
    """

    def __init__(self, name: str, stream: BinaryIO, budget: ByteBudget) -> None:
        self.name = name
        self._stream = stream
        self._budget = budget

    def read_line(self, line: int) -> bytes:
        """Return the next line with its line end, or nothing at the end of the file.

        Args:
            line: the line's number, for messages.

        Raises:
            InputError: the line is longer than the limit, or holds a NUL byte.
        """
        longest = setting(LINE_BYTES_SETTING, MAX_LINE_BYTES)
        try:
            raw = self._stream.readline(longest + 1)
        except OSError as err:
            raise _unreadable(self.name, err) from err
        check_binary(raw, f"{self.name}:{line}", self._budget.used)
        if len(raw) > longest:
            raise InputError(
                f"{self.name}:{line}: line too long: got more than {longest} bytes, expected at "
                f"most {longest}; set {LINE_BYTES_SETTING} to read longer lines"
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
    return InputError(
        f"{name}: cannot be read: got {reason!r}, expected a readable file; "
        "check the path and its permissions"
    )


@contextmanager
def open_input(path: Path | str, budget: ByteBudget | None = None) -> Iterator[InputFile]:
    """Open a file, or standard input for the path ``-``, for bounded reading.

    Raises:
        InputError: the path is no readable file, or the file is larger than the budget.
    """
    name = display_name(path)
    budget = budget or ByteBudget()
    if str(path) == STDIN:
        if sys.stdin is None:
            raise InputError(
                "<stdin>: cannot be read: got no standard input, expected one; name a file"
            )
        yield InputFile(name, sys.stdin.buffer, budget)
        return
    try:
        if Path(path).is_dir():
            raise InputError(
                f"{name}: cannot be read: got a folder, expected a file; name a file in it"
            )
        stream = Path(path).open("rb")  # noqa: SIM115 - closed below; only opening is guarded here
    except OSError as err:
        raise _unreadable(name, err) from err
    except ValueError as err:  # a NUL character in the path
        raise InputError(
            f"{name!r}: cannot be read: got a path with a NUL character, expected a path; "
            "check the path"
        ) from err
    with stream:
        budget.check(os.fstat(stream.fileno()).st_size, name)
        yield InputFile(name, stream, budget)


def check_binary(raw: bytes, where: str, offset: int) -> None:
    """Refuse bytes that cannot be text because they hold a NUL byte.

    Args:
        raw: the bytes.
        where: the place that a message names.
        offset: where in the file `raw` begins, in bytes.
    """
    at = raw.find(b"\0")
    if at < 0:
        return
    # UTF-16 text is the one common file full of NUL bytes that a user can easily mend.
    utf16 = offset == 0 and raw[:2] in (b"\xff\xfe", b"\xfe\xff")
    raise InputError(
        f"{where}: not text: got a NUL byte at offset {offset + at}, expected UTF-8 text; "
        + ("save the file as UTF-8, not UTF-16" if utf16 else "check that this is the right file")
    )


def decode_text(raw: bytes, where: str, offset: int = 0) -> str:
    r"""Decode UTF-8, without a byte order mark at the beginning of the file.

    Args:
        raw: the bytes.
        where: the place that a message names, such as ``file:line``.
        offset: where in the file `raw` begins, in bytes.

    Raises:
        InputError: a NUL byte, or bytes that are no UTF-8; the message gives their offset.

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
            f"{where}: invalid UTF-8: got byte 0x{body[err.start]:02x} at offset {at}, expected "
            "UTF-8 text; convert the file to UTF-8"
        ) from err
