"""Reads users' own sources, and answers with their sources.

Each file or JSON object is one source. Plain text is used unchanged; other documents are read by
`semqa.documents`. Answers have the format of ``semqa answer --json``. Invalid input raises an
InputError with file, line and field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Annotated, NamedTuple

from annotated_types import Interval

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
from semqa.data.jsonl import Row, as_row, decode_json, decode_row, describe, lines_of, read_as
from semqa.documents import SUFFIXES, Limits, extract
from semqa.documents.document import distinct_titles, one_line, stem_of
from semqa.documents.extract import PLAIN_KINDS, kind_of
from semqa.documents.structure import plain
from semqa.errors import InputError
from semqa.quotes import QuotedAnswer, Source
from semqa.quotes.quote import Dropped

SOURCES_SETTING = "SEMQA_MAX_SOURCES"
MAX_SOURCES = 1_000
"""Maximum number of sources per question; `SEMQA_MAX_SOURCES` overrides it."""

_LIKE_JSON = re.compile(rb"\s*(?:\{\s*\"|\[\s*[{\]])")

_SECONDS = 600.0
"""Timeout for reading a document, longer than for uploads."""

MAX_SOURCES_BYTES = 64 * 2**20
"""Maximum total size of the sources in bytes; `SEMQA_MAX_BYTES` overrides it."""


def read_sources(paths: Sequence[Path | str]) -> tuple[Source, ...]:
    """Read each file as one source, numbered in the order given.

    HTML, PDF, Word, CSV and e-mail files are read as in collections, with their own titles. Other
    files are plain text: the unchanged content without a byte order mark. The title of a Markdown
    file is its first line if that is the only heading ``# ...``. Otherwise titles are file names without
    folder and extension, or empty for standard input (``-``). Equal titles get the name of the file.
    """
    if not paths:
        raise InputError("No sources. Give at least one file.")
    budget = ByteBudget(MAX_SOURCES_BYTES)
    sources = _collect((_read_file(path, budget) for path in paths), "sources")
    named = [(str(path), source.title) for path, source in zip(paths, sources, strict=True)]
    titles = distinct_titles(named)
    return tuple(replace(each, title=title) for each, title in zip(sources, titles, strict=True))


def _read_file(path: Path | str, budget: ByteBudget) -> Source:
    name = display_name(path)
    ending = "" if str(path) == STDIN else Path(path).suffix.lower()
    if SUFFIXES.get(ending) == "jsonl" or ending == ".json":
        raise InputError("This file is JSON. Give it with --sources.", where=name)
    if str(path) != STDIN and Path(path).is_dir():
        raise InputError(
            "This is a folder. Give files in it, or index it with semqa index.",
            where=name,
        )
    with open_input(path, budget) as file:
        raw = file.read_all()
    if str(path) == STDIN:
        return _text_source(raw, name, title="")
    if kind_of(Path(path).name, raw) not in PLAIN_KINDS:
        document = extract(Path(path).name, raw, Limits(seconds=_SECONDS))
        return Source(document.text, document.title)
    source = _text_source(raw, name, title=stem_of(name))
    headings = (
        _HEADING.findall(_FENCED.sub("", source.text)) if SUFFIXES.get(ending) == "md" else []
    )
    is_first = source.text.lstrip().startswith("# ")
    title = one_line(plain(headings[0])) if len(headings) == 1 and is_first else ""
    return Source(source.text, title) if title else source


_HEADING = re.compile(r"^# +(\S.*)", re.MULTILINE)
_FENCED = re.compile(r"^(`{3,}|~{3,}).*?(?:^\1|\Z)", re.MULTILINE | re.DOTALL)


def _text_source(raw: bytes, name: str, title: str) -> Source:
    text = decode_text(raw, name)
    if not text.strip():
        raise InputError("This source has no text.", where=name)
    return Source(text, title)


def read_sources_jsonl(path: Path | str) -> tuple[Source, ...]:
    """Read sources from JSON: one object per line, or an array of objects.

    An object has the field ``text``, and optionally ``title`` and ``url`` (a string or null). Other
    fields are ignored.
    """
    with open_input(path, ByteBudget(MAX_SOURCES_BYTES)) as file:
        raw = file.read_all()
        by_name = SUFFIXES.get(Path(path).suffix.lower(), "jsonl") != "jsonl"
        if by_name and not raw.removeprefix(BOM).lstrip().startswith((b"{", b"[")):
            raise InputError(
                "This file is a document, not JSON. Give it with --source.", where=file.name
            )
        return _json_sources(raw, file.name)


def read_piped_sources() -> tuple[Source, ...]:
    """Read sources from standard input, as JSON or plain text.

    Input that begins like an object with fields, or like an array of objects, is JSON. Other input
    is one source of plain text, which may begin with a bracket.
    """
    with open_input(STDIN, ByteBudget(MAX_SOURCES_BYTES)) as file:
        raw, name = file.read_all(), file.name
    if not raw.strip():
        raise InputError("No sources: standard input is empty. Give documents or --sources FILE.")
    if _LIKE_JSON.match(raw.removeprefix(BOM)):
        return _json_sources(raw, name)
    return (_text_source(raw, name, title=""),)


def _json_sources(raw: bytes, name: str) -> tuple[Source, ...]:
    return _collect((source_of(row) for row in _json_rows(raw, name)), name)


def _json_rows(raw: bytes, name: str) -> Iterator[Row]:
    """Yield the objects of a JSON array, of one object on several lines, or of JSON lines."""
    begin = raw.removeprefix(BOM).lstrip()
    if begin.startswith(b"["):
        items = decode_json(raw, name)
        if not isinstance(items, list) or not items:
            raise InputError("The array is empty.", where=name)
        for number, item in enumerate(items, 1):
            yield as_row(item, f"{name}: item {number}")
    elif begin.startswith(b"{") and not begin.partition(b"\n")[0].rstrip().endswith(b"}"):
        yield as_row(decode_json(raw, name), name)
    else:
        yield from map(decode_row, lines_of(InputFile(name, BytesIO(raw), ByteBudget(len(raw)))))


def source_of(row: Row) -> Source:
    """Return a source from an object with ``text`` and optionally ``title`` and ``url``."""
    text, title, url = row.text("text"), _optional(row, "title") or "", _optional(row, "url")
    if not text.strip() and not title.strip():
        raise InputError("This source has no text and no title.", where=row.where)
    return Source(text, title, url)


def _optional(row: Row, field: str) -> str | None:
    return None if row.fields.get(field) is None else row.text(field)


def _collect(sources: Iterable[Source], name: str) -> tuple[Source, ...]:
    most = setting(SOURCES_SETTING, MAX_SOURCES)
    kept: list[Source] = []
    for source in sources:
        if len(kept) == most:
            raise InputError(
                f"Too many sources; at most {most:,} are allowed.",
                where=name,
                hint=f"Set {SOURCES_SETTING} to read more.",
            )
        kept.append(source)
    return tuple(kept)


MAX_ANSWER_BYTES = 256 * 2**20
MAX_ANSWER_SOURCES = 10_000
"""Maximum number of sources per answer."""


class GivenAnswer(NamedTuple):
    """An answer from a file, with its sources.

    Attributes:
        key: the ``qid`` or ``id``, or the number in the file.
        sources: the sources, in the order of their numbers.
    """

    key: str
    question: str
    text: str
    sources: tuple[Source, ...]
    dropped: tuple[Dropped, ...] = ()
    relevance: tuple[tuple[str, float | None], ...] = ()
    unanswered: tuple[str, ...] = ()
    answerable: float | None = None

    def read(self, sources: Sequence[Source] | None = None) -> QuotedAnswer:
        """Return the answer, verified against its own sources or others.

        Relevance scores are kept if the quotes have not changed.
        """
        answer = QuotedAnswer.parse(self.text, self.sources if sources is None else sources)
        if [quote.text for quote in answer.quotes] == [text for text, _ in self.relevance]:
            figures = (figure for _, figure in self.relevance)
            answer = answer.with_relevance(figures, self.unanswered, self.answerable)
        return answer.with_dropped(self.dropped) if self.dropped else answer


def read_answers(path: Path | str) -> list[GivenAnswer]:
    """Read answers with their sources, also whole replies of a server's chat APIs.

    An object has ``answer`` (or ``prediction``) and ``sources``, and optionally ``question`` or
    ``understood``, and ``qid`` or ``id``. Each source has ``text``, and optionally ``title``, ``url`` and ``number``.
    Without numbers, sources are numbered in order.
    """
    with open_input(path, ByteBudget(MAX_ANSWER_BYTES)) as file:
        return answers_of(file.read_all(), file.name)


def answers_of(raw: bytes, name: str) -> list[GivenAnswer]:
    """Like `read_answers`, for the content of a file."""
    found: list[GivenAnswer] = []
    places: dict[str, str] = {}
    for number, row in enumerate(_json_rows(raw, name), 1):
        one = answer_of(row, number)
        if one.key in places:
            raise InputError(
                f"The key {one.key!r} is already used at {places[one.key]}.", where=row.where
            )
        places[one.key] = row.where
        found.append(one)
    return found


def is_record(text: str, name: str) -> bool:
    """Return whether a text, or its first line, is the record of an answer with its sources.

    Raises:
        InputError: it is a record without sources, such as a prediction.
    """
    if not text.lstrip().startswith("{"):
        return False
    for record in (text, text.lstrip().partition("\n")[0]):
        with suppress(InputError):
            fields = _unwrapped(as_row(decode_json(record, name), name)).fields.keys()
            break
    else:
        return False
    if fields & {"answer", "prediction"} and "sources" not in fields:
        raise InputError(
            'This is a JSON record of an answer, but it has no "sources".',
            where=name,
            hint="Add the question's sources to each record, or give only the marked answer.",
        )
    return "sources" in fields and bool(fields & {"answer", "prediction"})


def answer_of(row: Row, number: int = 1) -> GivenAnswer:
    """Return the answer in a record; its number is its key if it has none."""
    key = next((row.text(name) for name in ("qid", "id") if name in row.fields), str(number))
    row = _unwrapped(row)
    text = row.text("prediction") if "answer" not in row.fields else row.text("answer")
    sources = row.fields.get("sources")
    if not isinstance(sources, list) or len(sources) > MAX_ANSWER_SOURCES:
        got = f"{len(sources):,}" if isinstance(sources, list) else describe(sources)
        raise InputError(
            f"must be an array of at most {MAX_ANSWER_SOURCES:,} objects, got {got}.",
            field="sources",
            where=row.where,
            hint="Add it, or give --references.",
        )
    numbered, more = _numbered(row, sources), read_as(_Findings, row)
    return GivenAnswer(
        key,
        row.text("understood", row.text("question", "")),
        text,
        numbered,
        more.dropped or (),
        _relevance(row),
        more.unanswered or (),
        more.answerable,
    )


def _unwrapped(row: Row) -> Row:
    """Return the record in a reply of a server's chat APIs, or the row itself."""
    inner = row.fields.get("semqa")
    is_reply = isinstance(inner, dict) and not row.fields.keys() & {"answer", "prediction"}
    return as_row(inner, row.where) if is_reply else row


_Share = Annotated[float, Interval(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class _Quote:
    text: str = ""
    relevance: _Share | None = None


@dataclass(frozen=True, slots=True)
class _Quoted:
    quotes: tuple[_Quote, ...]


@dataclass(frozen=True, slots=True)
class _Findings:
    dropped: tuple[Dropped, ...] | None = None
    unanswered: tuple[str, ...] | None = None
    answerable: _Share | None = None


def _relevance(row: Row) -> tuple[tuple[str, float | None], ...]:
    """Return the text and relevance of each quote in a record; empty without relevance scores."""
    listed = row.fields.get("quotes")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        return ()  # quotes in another format
    found = read_as(_Quoted, row).quotes
    scored = any(each.relevance is not None for each in found)
    return tuple((each.text, each.relevance) for each in found) if scored else ()


def _numbered(row: Row, sources: list[object]) -> tuple[Source, ...]:
    """Return the sources in the order of their numbers; a missing number is an empty source."""
    placed: dict[int, Source] = {}
    for place, each in enumerate(sources, 1):
        one = as_row(each, f"{row.where}: source {place}")
        number = one.fields.get("number", place)
        if (
            isinstance(number, bool)
            or not isinstance(number, int)
            or not 1 <= number <= MAX_ANSWER_SOURCES
            or number in placed
        ):
            raise InputError(
                f"must be a unique whole number from 1 to {MAX_ANSWER_SOURCES:,}, got "
                f"{describe(number)}.",
                field="number",
                where=one.where,
            )
        placed[number] = source_of(one)
    return tuple(placed.get(number, Source("")) for number in range(1, max(placed, default=0) + 1))
