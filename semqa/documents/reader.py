"""The process that reads documents, asked through pipes.

A request is two lengths, a JSON object and the file; an answer is a length and a JSON object.
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
}

_HEADED = ("md", "html", "docx")
"""Kinds whose text may begin with their title."""


def read(name: str, kind: str, data: bytes, limits: Limits) -> dict[str, object]:
    """Return title, text and pages of a file, or what is wrong with it."""
    parser: Any = import_module(f"semqa.documents.parsers.{_MODULES[kind]}")
    try:
        title, text, pages = parser.parse(name, data, limits)
        if len(text) > limits.characters:
            raise InputError(
                f"The document has {len(text):,} characters; at most {limits.characters:,} are read. Split it.",
                where=name,
            )
    except MissingExtraError as error:
        return {"missing": str(error)}
    except InputError as error:
        return {"error": str(error)}
    except MemoryError:
        return {
            "error": f"{name}: The document cannot be read within {limits.memory // 2**20} MiB of "
            "memory."
        }
    except Exception as error:  # noqa: BLE001 -- parsers fail in many ways on damaged files
        said = one_line(str(error), 120) or type(error).__name__
        return {"error": f"{name}: The file cannot be read as {kind}: {said}."}
    title = one_line(title)
    if not pages:
        text = clean(text)
        if kind in _HEADED:
            text = _without_title(title, text)
    return {"title": title or stem_of(name), "text": text, "pages": list(pages)}


def _without_title(title: str, text: str) -> str:
    """Return a text without its first line if that is the title, which is shown and searched anyway."""
    first, _, rest = text.partition("\n")
    return rest.lstrip("\n") if rest.strip() and one_line(first.lstrip("# ")) == title else text


def main() -> None:
    """Answer requests until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while len(head := requests.read(16)) == 16:
        size, length = struct.unpack("<QQ", head)
        request = json.loads(requests.read(size))
        data = requests.read(length)
        limits = Limits(**{field.name: request[field.name] for field in fields(Limits)})
        _hold_to(limits)
        answer = read(request["name"], request["kind"], data, limits)
        del data
        body = json.dumps(answer).encode()
        answers.write(struct.pack("<Q", len(body)))
        answers.write(body)
        answers.flush()


def _hold_to(limits: Limits) -> None:
    """Have the system end this process when it goes on too long, even if nobody else is left to."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, limits.seconds + 5)
    with suppress(ImportError, ValueError, OSError):  # not on every system
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
