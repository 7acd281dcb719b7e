"""Extract a document's text from the bytes of a file; detect the file's kind.

Files are read in separate processes, so that a malicious one can crash only one of them. The parent
(`Readers`) and a process (`main`) communicate through pipes. A request is two lengths, a JSON object
and the file; a response is a length and a JSON object.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, cast

import semqa
from semqa.documents.document import Document, Limits, check_name, clean, one_line, stem_of
from semqa.errors import InputError, MissingExtraError, UnavailableError

if TYPE_CHECKING:
    from typing import IO

SUFFIXES = {
    ".txt": "txt",
    ".text": "txt",
    ".md": "md",
    ".markdown": "md",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".docx": "docx",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".eml": "eml",
}
"""File name extensions, in lower case, and the kind of each."""

KINDS = tuple(dict.fromkeys(SUFFIXES.values()))
"""Supported kinds of documents."""

PLAIN_KINDS = ("txt", "md")
"""Kinds that ``semqa answer`` reads as they are; the text of other kinds must be extracted."""

_BINARY_KINDS = {"pdf": "a PDF", "docx": "a Word document (docx)"}
_ADVICE = f"semqa reads {', '.join(KINDS)}."

_UNSUPPORTED = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file (doc, xls, ppt)", "Save it as docx."),
    (b"{\\rtf", "RTF", "Save it as docx."),
    (b"\x89PNG", "an image", _ADVICE),
    (b"\xff\xd8\xff", "an image", _ADVICE),
    (b"GIF8", "an image", _ADVICE),
    (b"\x7fELF", "a program", _ADVICE),
    (b"MZ\x90", "a program", _ADVICE),
    (b"\x1f\x8b", "a gzip archive", "Unpack it."),
    (b"Rar!", "a RAR archive", "Unpack it."),
    (b"7z\xbc\xaf", "a 7z archive", "Unpack it."),
    (b"SQLite format 3\0", "a database", _ADVICE),
)
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_SAMPLE = 2**16


def kind_of(name: str, data: bytes) -> str:
    """Return the kind of a file.

    The content decides; the file name extension only tells kinds of text apart. A file named as a
    PDF or a Word document must be one.

    Example:
        >>> kind_of("notes.md", b"# Notes"), kind_of("notes.txt", b"%PDF-1.7 ...")
        ('md', 'pdf')
    """
    expected = SUFFIXES.get(PurePosixPath(name).suffix.lower(), "txt")
    before, marked, _ = data[:1024].partition(b"%PDF-")
    # The PDF header may come after other bytes, but a text may also mention it.
    if marked and (expected == "pdf" or not before.strip() or b"\0" in data[:_SAMPLE]):
        return "pdf"
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return "docx"  # the parser rejects other archives
    for magic, what, advice in _UNSUPPORTED:
        if data.startswith(magic):
            raise InputError(f"Unsupported file type: {what}.", where=name, hint=advice)
    if expected in _BINARY_KINDS:
        raise InputError(
            f"The file is not {_BINARY_KINDS[expected]}, although its name says so.", where=name
        )
    if not data.startswith(_BOMS) and b"\0" in data[:_SAMPLE]:
        raise InputError("Unsupported file type: binary data.", where=name, hint=_ADVICE)
    return expected


MAX_PROCESSES = max(2, os.cpu_count() or 1)
"""Maximum number of files read at a time; others wait."""

MAX_READS = 500
"""Files that one process reads before it is replaced: parsers leak memory."""

_PROGRAM = """
import sys
sys.path.append(sys.argv[1])
from semqa.documents.extract import main
main()
"""
"""The program of a process. semqa's folder comes last on the path: it must not shadow packages."""

_SECRET_NAME = re.compile("KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL|DATABASE", re.IGNORECASE)
"""Environment variables to hide from parsers."""


class Readers:
    """A process pool. Processes are started on demand and reused."""

    def __init__(self) -> None:
        self._slots = threading.BoundedSemaphore(MAX_PROCESSES)
        self._lock = threading.Lock()
        self._idle: list[_Reader] = []
        atexit.register(self.close)

    def read(
        self, name: str, kind: str, data: bytes, limits: Limits
    ) -> tuple[str, str, tuple[int, ...]]:
        """Return the title, text and page offsets of a file of a known kind. Thread-safe."""
        with self._slots:
            reader = self._acquire()
            answer = None
            try:
                answer = reader.ask({"name": name, "kind": kind, **asdict(limits)}, data)
            finally:
                # After a failure, a late response would go to the next request.
                if answer is not None and reader.reads < MAX_READS:
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
        return str(answer["title"]), str(answer["text"]), tuple(answer["pages"])

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
                if reader.process.poll() is None:
                    return reader
                reader.end()
        return _Reader()


class _Reader:
    """A process and the pipes to it."""

    def __init__(self) -> None:
        root = str(Path(semqa.__file__).resolve().parents[1])
        try:
            self.process = subprocess.Popen(  # noqa: S603 -- fixed arguments, no user input
                [sys.executable, "-P", "-c", _PROGRAM, root],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={k: v for k, v in os.environ.items() if not _SECRET_NAME.search(k)},
                start_new_session=True,  # so that Ctrl-C does not reach it
            )
        except OSError as error:
            raise UnavailableError(
                f"Cannot start a process to read documents: {error.strerror}. Close other programs and try again."
            ) from error
        self._stdin = cast("IO[bytes]", self.process.stdin)
        self._stdout = cast("IO[bytes]", self.process.stdout)
        self.reads = 0

    def ask(self, request: dict[str, Any], data: bytes) -> dict[str, Any] | None:
        """Return the response, or None if the process died or timed out."""
        self.reads += 1
        timer = threading.Timer(request["seconds"], self.process.kill)
        timer.daemon = True
        timer.start()
        try:
            head = json.dumps(request).encode()
            self._stdin.write(struct.pack("<QQ", len(head), len(data)))
            self._stdin.write(head)
            self._stdin.write(data)
            self._stdin.flush()
            (size,) = struct.unpack("<Q", _read_exactly(self._stdout, 8))
            answer: dict[str, Any] = json.loads(_read_exactly(self._stdout, size))
        except (OSError, EOFError):
            return None
        finally:
            timer.cancel()
        return answer

    def end(self) -> None:
        self.process.kill()
        for pipe in (self._stdin, self._stdout):
            with suppress(OSError):
                pipe.close()
        self.process.wait()


def _read_exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


READERS = Readers()
"""The process pool that `extract` uses."""

_DEFAULT_LIMITS = Limits()


def extract(name: str, data: bytes, limits: Limits = _DEFAULT_LIMITS) -> Document:
    """Return a file's text.

    The parser runs in a separate process with limited time and memory.

    Raises:
        InputError: the file cannot be read, has no text, or exceeds a limit.
        MissingExtraError: the packages for this kind are not installed.
    """
    check_name(name)
    if len(data) > limits.size:
        raise InputError(
            f"The file has {len(data):,} bytes; at most {limits.size:,} are allowed.", where=name
        )
    kind = kind_of(name, data)
    title, text, pages = READERS.read(name, kind, data, limits)
    if not text.strip():
        hint = "Run OCR on it first." if kind == "pdf" else None
        raise InputError("The document has no text.", where=name, hint=hint)
    return Document(name, kind, title, text, pages)


_TITLED_KINDS = ("md", "html", "docx")
"""Kinds in which the text may begin with the title."""


def read(name: str, kind: str, data: bytes, limits: Limits) -> dict[str, object]:
    """Return the title, text and pages of a file, or an error message."""
    from semqa.documents.parsers import PARSERS

    try:
        title, text, pages = PARSERS[kind](name, data, limits)
        if len(text) > limits.characters:
            raise InputError(
                f"The document has {len(text):,} characters; at most {limits.characters:,} are allowed. Split it.",
                where=name,
            )
    except MissingExtraError as error:
        return {"missing": str(error)}
    except InputError as error:
        return {"error": str(error)}
    except MemoryError:
        return {
            "error": f"{name}: Reading the document takes more than {limits.memory // 2**20} MiB "
            "of memory."
        }
    except Exception as error:  # noqa: BLE001 -- parsers fail in many ways on damaged files
        message = one_line(str(error), 120) or type(error).__name__
        return {"error": f"{name}: The file cannot be read as {kind}: {message}."}
    title = one_line(title)
    if not pages:
        text = clean(text)
        if kind in _TITLED_KINDS:
            text = _without_title(title, text)
    return {"title": title or stem_of(name), "text": text, "pages": pages}


def _without_title(title: str, text: str) -> str:
    """Remove the first line if it repeats the title, which is shown and searched separately."""
    first, _, rest = text.partition("\n")
    return rest.lstrip("\n") if rest.strip() and one_line(first.lstrip("# ")) == title else text


def main() -> None:
    """Serve requests until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    requests, responses = sys.stdin.buffer, sys.stdout.buffer
    while len(head := requests.read(16)) == 16:
        size, length = struct.unpack("<QQ", head)
        request = json.loads(requests.read(size))
        data = requests.read(length)
        name, kind, limits = request.pop("name"), request.pop("kind"), Limits(**request)
        # The parent kills this process after `limits.seconds`; the alarm is for when it is gone.
        _set_alarm(limits.seconds + 5)
        _limit_memory(limits.memory)
        response = read(name, kind, data, limits)
        del data
        body = json.dumps(response).encode()
        responses.write(struct.pack("<Q", len(body)))
        responses.write(body)
        responses.flush()
        _set_alarm(0)


def _set_alarm(seconds: float) -> None:
    """Have the system kill this process after some seconds; 0 cancels that."""
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _limit_memory(size: int) -> None:
    """Limit this process's address space in bytes, and disable core dumps, if supported."""
    try:
        import resource
    except ImportError:  # Windows
        return
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = size if hard == resource.RLIM_INFINITY else min(size, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
