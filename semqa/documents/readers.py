"""Pool of processes that read documents, so that a malicious file can crash only one of them."""

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

MAX_PROCESSES = max(2, os.cpu_count() or 1)
"""Maximum number of files read at a time; others wait."""

MAX_READS = 500
"""Files that one process reads before it is replaced: parsers leak memory."""

_PROGRAM = """
import sys
sys.path.append(sys.argv[1])
from semqa.documents.reader import main
main()
"""
"""The program of a process. semqa's folder comes last on the path: it must not shadow packages."""

_SECRET_NAME = re.compile("KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL|DATABASE", re.IGNORECASE)
"""Environment variables to hide from parsers."""


class Read(NamedTuple):
    """The title, text and page offsets of a file."""

    title: str
    text: str
    pages: tuple[int, ...]


class Readers:
    """A process pool. Processes are started on demand and reused."""

    def __init__(self) -> None:
        self._slots = threading.BoundedSemaphore(MAX_PROCESSES)
        self._lock = threading.Lock()
        self._idle: list[_Reader] = []
        atexit.register(self.close)

    def read(self, name: str, kind: str, data: bytes, limits: Limits) -> Read:
        """Read a file of a known kind. Thread-safe."""
        with self._slots:
            reader = self._acquire()
            succeeded = False
            try:
                answer = reader.ask({"name": name, "kind": kind, **asdict(limits)}, data, limits)
                succeeded = True
            finally:
                if succeeded and reader.reads < MAX_READS:
                    with self._lock:
                        self._idle.append(reader)
                else:
                    reader.end()
        if answer is None:
            raise InputError(
                f"Reading the document takes more than {limits.seconds:g} s or {limits.memory // 2**20} MiB of memory.",
                where=name,
            )
        if "missing" in answer:
            raise MissingExtraError(str(answer["missing"]))
        if "error" in answer:
            raise InputError(str(answer["error"]))
        pages = cast("list[int]", answer["pages"])
        return Read(str(answer["title"]), str(answer["text"]), tuple(pages))

    def close(self) -> None:
        """Stop the idle processes. The next file starts a new one."""
        with self._lock:
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.end()

    def _acquire(self) -> _Reader:
        with self._lock:
            while self._idle:
                reader = self._idle.pop()
                if reader.alive():
                    return reader
                reader.end()
        return _Reader()


class _Reader:
    """A process and the pipes to it."""

    def __init__(self) -> None:
        root = str(Path(semqa.__file__).resolve().parents[1])
        try:
            self._process = subprocess.Popen(  # noqa: S603 -- fixed arguments, no user input
                [sys.executable, "-P", "-c", _PROGRAM, root],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={
                    name: value
                    for name, value in os.environ.items()
                    if not _SECRET_NAME.search(name)
                },
                start_new_session=True,  # so that Ctrl-C does not reach it
            )
        except OSError as error:
            raise UnavailableError(
                f"Cannot start a process to read documents: {error.strerror}. Close other programs and try again."
            ) from error
        self.reads = 0

    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(
        self, request: dict[str, object], data: bytes, limits: Limits
    ) -> dict[str, object] | None:
        """Return the response, or None if the process died or timed out."""
        self.reads += 1
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            return None
        timer = threading.Timer(limits.seconds, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            head = json.dumps(request).encode()
            stdin.write(struct.pack("<QQ", len(head), len(data)))
            stdin.write(head)
            stdin.write(data)
            stdin.flush()
            size = _read_exactly(stdout, 8)
            body = _read_exactly(stdout, struct.unpack("<Q", size)[0]) if size else None
        except OSError:
            body = None
        finally:
            timer.cancel()
        if body is None:
            self._process.kill()
            self.reads = MAX_READS  # do not reuse it: a late response would go to the next request
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


def _read_exactly(stream: IO[bytes], size: int) -> bytes | None:
    data = stream.read(size)
    return data if len(data) == size else None


READERS = Readers()
"""The process pool that `extract` uses."""
