"""A user's own passages as numbered sources, and answers with their sources.

One file or one JSON object is one source, whole. Text is taken as it is; other documents are read by
`semqa.documents`. Answers are what ``semqa answer --json`` writes. What is not usable raises an InputError
that names file, line and field.
"""

from __future__ import annotations

import re
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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
from semqa.documents.document import stem_of
from semqa.documents.extract import kind_of
from semqa.errors import InputError
from semqa.quotes import QuotedAnswer, Source
from semqa.quotes.quote import Dropped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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

    HTML, PDF, Word and CSV files are told apart and read as collections read them, with their own
    titles. All else is plain text: its title is the file's name without folder
    and ending, or empty for standard input (``-``). Its text is the file's content to the character,
    line ends included; only a byte order mark is taken off, so that offsets into the text are
    offsets into the file.

    Raises:
        InputError: no file is given, one is not usable or blank, or there are too many or too large.
        MissingExtraError: the packages that read a document are not installed.
    """
    if not paths:
        raise InputError("There is no source: name at least one file.")
    budget = ByteBudget(MAX_SOURCES_BYTES)
    return _collect((_read_file(path, budget) for path in paths), "sources")


def _read_file(path: Path | str, budget: ByteBudget) -> Source:
    name = display_name(path)
    ending = "" if str(path) == STDIN else Path(path).suffix.lower()
    if SUFFIXES.get(ending) == "jsonl" or ending == ".json":
        raise InputError("This is JSON, not a document: give it with --sources.", where=name)
    if str(path) != STDIN and Path(path).is_dir():
        raise InputError(
            "This is a folder: name files in it, or make it a collection with semqa index.",
            where=name,
        )
    with open_input(path, budget) as file:
        raw = file.read_all()
    if str(path) == STDIN:
        return _text_source(raw, name, title="")
    if kind_of(Path(path).name, raw) in _EXTRACTED:
        document = extract(Path(path).name, raw, Limits(seconds=_SECONDS))
        return Source(document.text, document.title)
    return _text_source(raw, name, title=stem_of(name))


def _text_source(raw: bytes, name: str, title: str) -> Source:
    text = decode_text(raw, name)
    if not text.strip():
        raise InputError("This source has no text.", where=name)
    return Source(text, title)


def read_sources_jsonl(path: Path | str) -> tuple[Source, ...]:
    """Read sources from JSON: one object a line, or one array of objects.

    An object has the field ``text`` and may have ``title`` and ``url`` (a string or null); other
    fields are ignored.
    """
    with open_input(path, ByteBudget(MAX_SOURCES_BYTES)) as file:
        raw = file.read_all()
        if _document_by_name(path) and not raw.removeprefix(BOM).lstrip().startswith((b"{", b"[")):
            raise InputError(
                "This is a document, not JSON: give it with --source.", where=file.name
            )
        return _json_sources(raw, file.name)


def _document_by_name(path: Path | str) -> bool:
    return SUFFIXES.get(Path(path).suffix.lower(), "jsonl") != "jsonl"


def read_piped_sources() -> tuple[Source, ...]:
    """Read sources from standard input, be they JSON or plain text.

    It is JSON where it begins like an object with fields, or an array of them; otherwise it is text
    and one source, which may well begin with a bracket.
    """
    with open_input(STDIN, ByteBudget(MAX_SOURCES_BYTES)) as file:
        raw, name = file.read_all(), file.name
    if _LIKE_JSON.match(raw.removeprefix(BOM)):
        return _json_sources(raw, name)
    return (_text_source(raw, name, title=""),)


def _json_sources(raw: bytes, name: str) -> tuple[Source, ...]:
    return _collect((source_of(row) for row in _json_rows(raw, name)), name)


def _json_rows(raw: bytes, name: str) -> Iterator[Row]:
    """Yield the objects of JSON: an array, one object over several lines, or one per line."""
    begin = raw.removeprefix(BOM).lstrip()
    if begin.startswith(b"["):
        items = decode_json(decode_text(raw, name), name)
        if not isinstance(items, list) or not items:
            raise InputError("The array is empty.", where=name)
        for number, item in enumerate(items, 1):
            yield as_row(item, f"{name}: item {number}")
    elif begin.startswith(b"{") and not begin.partition(b"\n")[0].rstrip().endswith(b"}"):
        yield as_row(decode_json(decode_text(raw, name), name), name)
    else:
        yield from map(decode_row, lines_of(InputFile(name, BytesIO(raw), ByteBudget(len(raw)))))


def source_of(row: Row) -> Source:
    """Return the source that an object describes: ``text``, perhaps ``title`` and ``url``."""
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
                f"There are more than {most} sources.",
                where=name,
                hint=f"Set {SOURCES_SETTING} to read more.",
            )
        kept.append(source)
    return tuple(kept)


MAX_ANSWER_BYTES = 256 * 2**20
MAX_ANSWER_SOURCES = 10_000
"""Most sources of one answer."""

_NUMBERS = ("source", "answer_start", "answer_end", "plain_start", "plain_end")


class GivenAnswer(NamedTuple):
    """An answer that somebody made.

    Attributes:
        key: names it: its ``qid`` or ``id``, or else its number in the file.
        question: what it answers; may be empty.
        sources: by number, from 1.
        dropped: marks that lost their brackets in a repair, as the record lists them.
        relevance: the text and the relevance of each quote, as the record lists them.
    """

    key: str
    question: str
    text: str
    sources: tuple[Source, ...]
    dropped: tuple[Dropped, ...] = ()
    relevance: tuple[tuple[str, float | None], ...] = ()
    unanswered: tuple[str, ...] = ()

    def read(self, sources: Sequence[Source] | None = None) -> QuotedAnswer:
        """Return the answer, checked against its sources or others.

        Estimates of relevance are kept if the quotes are still those that they were made for.
        """
        answer = QuotedAnswer.parse(self.text, self.sources if sources is None else sources)
        if [quote.text for quote in answer.quotes] == [text for text, _ in self.relevance]:
            figures = (figure for _, figure in self.relevance)
            answer = answer.with_relevance(figures, self.unanswered)
        return answer.with_dropped(self.dropped) if self.dropped else answer


def read_answers(path: Path | str) -> list[GivenAnswer]:
    """Read answers with their sources.

    An object has ``answer`` (or ``prediction``) and ``sources``, an array of objects with ``text``
    and perhaps ``title``, ``url`` and ``number``, without which they are numbered in order; it may
    have ``question``, and ``qid`` or ``id``.
    """
    with open_input(path, ByteBudget(MAX_ANSWER_BYTES)) as file:
        return answers_of(file.read_all(), file.name)


def answers_of(raw: bytes, name: str) -> list[GivenAnswer]:
    """Read answers from the content of a file of this name; see `read_answers`."""
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
    """Whether a text is a record of an answer with its sources, or begins with one on a line, and no answer itself."""
    if not text.lstrip().startswith("{"):
        return False
    for record in (text, text.lstrip().partition("\n")[0]):
        with suppress(InputError):
            return {"answer", "sources"} <= as_row(decode_json(record, name), name).fields.keys()
    return False


def answer_of(row: Row, number: int = 1) -> GivenAnswer:
    """Return the answer that a record holds.

    Args:
        number: of the record; its key if it has none.
    """
    key = next((row.text(name) for name in ("qid", "id") if name in row.fields), str(number))
    text = row.text("prediction") if "answer" not in row.fields else row.text("answer")
    sources = row.fields.get("sources")
    if not isinstance(sources, list) or len(sources) > MAX_ANSWER_SOURCES:
        got = f"{len(sources):,} of them" if isinstance(sources, list) else describe(sources)
        raise InputError(
            f"must be an array of at most {MAX_ANSWER_SOURCES:,} objects, got {got}.",
            field="sources",
            where=row.where,
            hint="Add it, or give --references.",
        )
    numbered = _numbered(row, sources)
    return GivenAnswer(
        key,
        row.text("question", ""),
        text,
        numbered,
        _dropped(row),
        _relevance(row),
        _unanswered(row),
    )


def _relevance(row: Row) -> tuple[tuple[str, float | None], ...]:
    """Return text and relevance of the quotes that a record lists; none if it rates none."""
    listed = row.fields.get("quotes")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        return ()  # other programs list quotes in their own ways
    found = []
    for place, each in enumerate(listed, 1):
        one = Row(f"{row.where}: quote {place}", each)
        figure = one.fields.get("relevance")
        if isinstance(figure, bool) or not (
            figure is None or (isinstance(figure, (int, float)) and 0 <= figure <= 1)
        ):
            raise InputError(
                f"must be a number from 0 to 1, got {describe(figure)}.",
                field="relevance",
                where=one.where,
            )
        found.append((one.text("text", ""), figure))
    return tuple(found) if any(figure is not None for _, figure in found) else ()


def _unanswered(row: Row) -> tuple[str, ...]:
    listed = row.fields.get("unanswered")
    if listed is None:
        return ()
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise InputError(
            f"must be an array of strings, got {describe(listed)}.",
            field="unanswered",
            where=row.where,
        )
    return tuple(listed)


def _dropped(row: Row) -> tuple[Dropped, ...]:
    """Return the dropped marks that a record lists; none if it does not list any."""
    listed = row.fields.get("dropped")
    if listed is None:
        return ()
    if not isinstance(listed, list):
        raise InputError(
            f"must be an array, got {describe(listed)}.", field="dropped", where=row.where
        )
    found = []
    for place, each in enumerate(listed, 1):
        one = as_row(each, f"{row.where}: dropped mark {place}")
        source, *places = (_whole(one, name) for name in _NUMBERS)
        found.append(Dropped(source, one.text("text"), one.text("reason", ""), *places))
    return tuple(found)


def _whole(row: Row, name: str) -> int:
    value = row.fields.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(
            f"must be a whole number from 0, got {describe(value)}.", field=name, where=row.where
        )
    return value


def _numbered(row: Row, sources: list[object]) -> tuple[Source, ...]:
    """Return the sources by number; those that a record leaves out are empty, as nobody quotes them."""
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
