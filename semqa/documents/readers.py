"""Processes that read documents for this one: a hostile file costs at most one of them."""

from __future__ import annotations

import atexit
import json
import os
import re
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import semqa
from semqa.errors import InputError, MissingExtraError, UnavailableError

if TYPE_CHECKING:
    from typing import IO

    from semqa.documents.document import Limits

MOST = max(2, os.cpu_count() or 1)
"""Files that are read at a time; others wait."""

READS = 500
"""Files that one process reads before another takes its place: parsers keep what they should not."""


_START = """
import sys
sys.path.append(sys.argv[1])
from semqa.documents.reader import main
main()
"""
"""What a process runs; where semqa stands comes last, so that nothing beside it gets in the way."""

_SECRET = re.compile("KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL|DATABASE", re.IGNORECASE)
"""Names of variables that are none of a parser's business."""


class Read(NamedTuple):
    """What a process found in a file."""

    title: str
    text: str
    pages: tuple[int, ...]


class Readers:
    """A few processes, started when they are needed and kept for the next file."""

    def __init__(self) -> None:
        self._turns = threading.BoundedSemaphore(MOST)
        self._lock = threading.Lock()
        self._idle: list[_Reader] = []
        atexit.register(self.close)

    def read(self, name: str, kind: str, data: bytes, limits: Limits) -> Read:
        """Read a file of a known kind; safe from several threads."""
        with self._turns:
            reader = self._take()
            kept = False
            try:
                answer = reader.ask({"name": name, "kind": kind, **asdict(limits)}, data, limits)
                kept = True
            finally:
                if kept and reader.reads < READS:
                    with self._lock:
                        self._idle.append(reader)
                else:
                    reader.end()
        if answer is None:
            raise InputError(
                f"The document cannot be read within {limits.seconds:g} s and {limits.memory // 2**20} MiB of memory.",
                where=name,
            )
        if "missing" in answer:
            raise MissingExtraError(str(answer["missing"]))
        if "error" in answer:
            raise InputError(str(answer["error"]))
        pages = cast("list[int]", answer["pages"])
        return Read(str(answer["title"]), str(answer["text"]), tuple(pages))

    def close(self) -> None:
        """End the processes; the next file starts new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.end()

    def _take(self) -> _Reader:
        with self._lock:
            while self._idle:
                reader = self._idle.pop()
                if reader.alive():
                    return reader
                reader.end()
        return _Reader()


class _Reader:
    """One process, and the pipes to it."""

    def __init__(self) -> None:
        root = str(Path(semqa.__file__).resolve().parents[1])
        try:
            self._process = subprocess.Popen(  # noqa: S603 -- this Python, and nothing of a user's
                [sys.executable, "-P", "-c", _START, root],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: value for name, value in os.environ.items() if not _SECRET.search(name)},
                start_new_session=True,  # Ctrl-C is for who asked
            )
        except OSError as error:
            raise UnavailableError(
                f"No process could be started to read documents: {error.strerror}. End other programs and try again."
            ) from error
        self.reads = 0

    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(
        self, request: dict[str, object], data: bytes, limits: Limits
    ) -> dict[str, object] | None:
        """Return the answer; None where the process died or was ended for taking too long."""
        self.reads += 1
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            return None
        clock = threading.Timer(limits.seconds, self._process.kill)
        clock.daemon = True
        clock.start()
        try:
            head = json.dumps(request).encode()
            stdin.write(struct.pack("<QQ", len(head), len(data)))
            stdin.write(head)
            stdin.write(data)
            stdin.flush()
            size = _exactly(stdout, 8)
            body = _exactly(stdout, struct.unpack("<Q", size)[0]) if size else None
        except OSError:
            body = None
        finally:
            clock.cancel()
        if body is None:
            self._process.kill()
            # The next one must not be given to who asks next.
            self.reads = READS
            return None
        answer: dict[str, object] = json.loads(body)
        return answer

    def end(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process.wait()


def _exactly(stream: IO[bytes], size: int) -> bytes | None:
    data = stream.read(size)
    return data if len(data) == size else None


READERS = Readers()
"""The processes of this one."""
