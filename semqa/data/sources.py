"""A user's own passages: files, or JSON objects, as numbered sources.

One file or one object is one source, whole. Text is taken as it is; documents of other kinds are
read by `semqa.documents`.
"""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from semqa.data.files import (
    BOM,
    STDIN,
    ByteBudget,
    InputFile,
    decode_text,
    display_name,
    open_input,
    setting,
)
from semqa.data.jsonl import Row, as_row, decode_json, decode_row, describe, lines_of
from semqa.documents import SUFFIXES, Limits, extract
from semqa.errors import InputError
from semqa.quotes.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = [
    "MAX_SOURCES",
    "MAX_SOURCES_BYTES",
    "SOURCES_SETTING",
    "read_piped_sources",
    "read_sources",
    "read_sources_jsonl",
    "source_of",
]

SOURCES_SETTING = "SEMQA_MAX_SOURCES"
MAX_SOURCES = 1_000
"""Most sources of one question, unless `SEMQA_MAX_SOURCES` says otherwise."""

_LIKE_JSON = re.compile(rb"\s*(?:\{\s*\"|\[\s*[{\]])")
_EXTRACTED = ("html", "pdf", "docx", "csv")
"""Kinds of files whose bytes are not what a reader sees."""

_SECONDS = 600.0
"""Time to read a document; the user's own are worth the wait."""

MAX_SOURCES_BYTES = 64 * 2**20
"""Most bytes of all sources together, unless `SEMQA_MAX_BYTES` says otherwise."""


def read_sources(paths: Sequence[Path | str]) -> tuple[Source, ...]:
    """Read files, each as one source, numbered in the order given.

    HTML, PDF, Word and CSV files, told by the endings of their names, are read as collections read
    them, with their own titles. All else is plain text: its title is the file's name without folder
    and ending, or empty for standard input (``-``). Its text is the file's content to the character,
    line ends included; only a byte order mark is taken off, so that offsets into the text are
    offsets into the file.

    Raises:
        InputError: no file is given, one is not usable or blank, or there are too many or too large.
        MissingExtraError: the packages that read a document are not installed.
    """
    if not paths:
        raise InputError("sources: none given: got no file, expected at least one; name a file")
    budget = ByteBudget(MAX_SOURCES_BYTES)
    return _collect((_read_file(path, budget) for path in paths), "sources")


def _read_file(path: Path | str, budget: ByteBudget) -> Source:
    name = display_name(path)
    ending = "" if str(path) == STDIN else Path(path).suffix.lower()
    kind = SUFFIXES.get(ending, "txt")
    if kind == "jsonl" or ending == ".json":
        raise InputError(
            f"{name}: not a document: got JSON by its name, expected one such as .txt, .md or .pdf; "
            "give it as a file of sources (--sources)"
        )
    if str(path) != STDIN and Path(path).is_dir():
        raise InputError(
            f"{name}: cannot be read: got a folder, expected a file; name files in it, or bring it "
            "into a collection (semqa index DIR) and ask that"
        )
    with open_input(path, budget) as file:
        raw = file.read_all()
    if kind in _EXTRACTED:
        document = extract(Path(path).name, raw, Limits(seconds=_SECONDS))
        return Source(document.text, document.title)
    return _text_source(raw, name, title="" if str(path) == STDIN else Path(name).stem)


def _text_source(raw: bytes, name: str, title: str) -> Source:
    text = decode_text(raw, name)
    if not text.strip():
        raise InputError(
            f"{name}: empty source: got {'only white space' if text else 'an empty file'}, expected "
            "some text; fill the file or leave it out"
        )
    return Source(text, title)


def read_sources_jsonl(path: Path | str) -> tuple[Source, ...]:
    """Read sources from JSON: one object a line, or one array of objects.

    An object has the field ``text`` and may have ``title`` and ``url`` (a string or null); other
    fields are ignored.

    Args:
        path: the file; ``-`` is standard input.

    Raises:
        InputError: the file or a source is not usable; the message names file, line and field.
    """
    with open_input(path, ByteBudget(MAX_SOURCES_BYTES)) as file:
        raw = file.read_all()
        if _text_by_name(path) and not raw.removeprefix(BOM).lstrip().startswith((b"{", b"[")):
            raise InputError(
                f"{file.name}: not JSON: got plain text by its name, expected objects with 'text', one "
                "a line; give it as a document (--source)"
            )
        return _json_sources(raw, file.name)


def _text_by_name(path: Path | str) -> bool:
    return str(path) != STDIN and Path(path).suffix.lower() in (".txt", ".text", ".md", ".markdown")


def read_piped_sources() -> tuple[Source, ...]:
    """Read sources from standard input, be they JSON or plain text.

    It is JSON where it begins like an object with fields, or an array of them; otherwise it is text
    and one source, which may well begin with a bracket.

    Raises:
        InputError: standard input is not usable, or blank.
    """
    with open_input(STDIN, ByteBudget(MAX_SOURCES_BYTES)) as file:
        raw, name = file.read_all(), file.name
    if _LIKE_JSON.match(raw.removeprefix(BOM)):
        return _json_sources(raw, name)
    return (_text_source(raw, name, title=""),)


def _json_sources(raw: bytes, name: str) -> tuple[Source, ...]:
    if raw.removeprefix(BOM).lstrip().startswith(b"["):
        rows = _array_rows(raw, name)
    else:
        rows = map(decode_row, lines_of(InputFile(name, BytesIO(raw), ByteBudget(len(raw)))))
    return _collect((source_of(row) for row in rows), name)


def _array_rows(raw: bytes, name: str) -> Iterator[Row]:
    items = decode_json(decode_text(raw, name), name)
    if not isinstance(items, list) or not items:
        raise InputError(
            f"{name}: no sources: got an empty array, expected at least one object in it; add one"
        )
    for number, item in enumerate(items, 1):
        yield as_row(item, f"{name}: item {number}")


def source_of(row: Row) -> Source:
    """Return the source that an object describes: ``text``, perhaps ``title`` and ``url``.

    Raises:
        InputError: it describes none.
    """
    text, title, url = row.text("text"), _optional(row, "title") or "", _optional(row, "url")
    if not text.strip() and not title.strip():
        raise InputError(
            f"{row.where}: empty source: got {describe(text)} as 'text' and no title, expected some "
            "text; fill it in or drop the source"
        )
    return Source(text, title, url)


def _optional(row: Row, field: str) -> str | None:
    return None if row.fields.get(field) is None else row.text(field)


def _collect(sources: Iterable[Source], name: str) -> tuple[Source, ...]:
    most = setting(SOURCES_SETTING, MAX_SOURCES)
    kept: list[Source] = []
    for source in sources:
        if len(kept) == most:
            raise InputError(
                f"{name}: too many sources: got more than {most}, expected at most {most}; "
                f"set {SOURCES_SETTING} to read more"
            )
        kept.append(source)
    return tuple(kept)
