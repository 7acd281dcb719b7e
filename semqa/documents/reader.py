"""Main program of the process that reads documents; it communicates through pipes.

A request is two lengths, a JSON object and the file; a response is a length and a JSON object.
"""

from __future__ import annotations

import json
import logging
import signal
import struct
import sys
import warnings
from contextlib import suppress
from dataclasses import fields
from importlib import import_module
from typing import Any

from semqa.documents.document import Limits, clean, one_line, stem_of
from semqa.errors import InputError, MissingExtraError

_MODULES = {
    "txt": "plain",
    "md": "markdown",
    "html": "html",
    "pdf": "pdf",
    "docx": "docx",
    "csv": "tables",
    "jsonl": "records",
    "eml": "mail",
}

_TITLED_KINDS = ("md", "html", "docx")
"""Kinds in which the text may begin with the title."""


def read(name: str, kind: str, data: bytes, limits: Limits) -> dict[str, object]:
    """Return the title, text and pages of a file, or an error message."""
    parser: Any = import_module(f"semqa.documents.parsers.{_MODULES[kind]}")
    try:
        title, text, pages = parser.parse(name, data, limits)
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
    return {"title": title or stem_of(name), "text": text, "pages": list(pages)}


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
        limits = Limits(**{field.name: request[field.name] for field in fields(Limits)})
        # The parent kills this process after `limits.seconds`; the alarm is for when it is gone.
        _set_alarm(limits.seconds + 5)
        _limit_memory(limits.memory)
        response = read(request["name"], request["kind"], data, limits)
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
