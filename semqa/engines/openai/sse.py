"""Server-sent events: the data of each event, from bytes that come in any pieces.

Source: the WHATWG HTML standard, section 9.2.6 ("Interpreting an event stream").
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["EventReader"]

MAX_EVENT = 1 << 20
"""Characters of one event; more is no piece of an answer."""


class EventReader:
    r"""Reads a stream of events.

    Example:
        >>> reader = EventReader()
        >>> [list(reader.add(piece)) for piece in (b"data: {", b"}\r", b"\n\r\n: x\n\ndata: 1\n")]
        [[], [], ['{}']]
        >>> list(reader.end())
        ['1']
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("strict")
        self._line = ""
        self._data: list[str] = []
        self._size = 0

    def add(self, piece: bytes) -> Iterator[str]:
        """Take more bytes, and give the data of the events that are whole now.

        Raises:
            ValueError: the bytes are no UTF-8, or an event does not end.
        """
        yield from self._take(self._decoder.decode(piece))

    def end(self) -> Iterator[str]:
        """Give the data of an event that the stream ended with.

        Raises:
            ValueError: as `add`.
        """
        yield from self._take(self._decoder.decode(b"", final=True) + "\n\n")

    def _take(self, text: str) -> Iterator[str]:
        # A carriage return may be half of a line's end.
        lines = (self._line + text).replace("\r\n", "\n")
        last = "\r" if lines.endswith("\r") else ""
        *whole, rest = lines.removesuffix("\r").replace("\r", "\n").split("\n")
        self._line = rest + last
        if len(self._line) + self._size > MAX_EVENT:
            raise ValueError(f"an event of more than {MAX_EVENT:,} characters")
        for line in whole:
            if line:
                self._read(line)
            elif self._data:
                data, self._data, self._size = self._data, [], 0
                yield "\n".join(data)

    def _read(self, line: str) -> None:
        name, _, value = line.partition(":")
        if name == "data":
            self._data.append(value.removeprefix(" "))
            self._size += len(value)
