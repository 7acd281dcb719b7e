"""Answers with their sources, as ``semqa answer --json`` writes them: one, an array, or JSON lines."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from semqa.data.files import BOM, ByteBudget, InputFile, decode_text, open_input
from semqa.data.jsonl import Row, as_row, decode_json, decode_row, describe, lines_of
from semqa.data.sources import source_of
from semqa.errors import InputError
from semqa.quotes import QuotedAnswer, Source
from semqa.quotes.quote import Dropped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["GivenAnswer", "answer_in", "answer_of", "read_answers"]

MAX_BYTES = 256 * 2**20
MAX_SOURCES = 10_000
"""Most sources of one answer."""

_NUMBERS = ("source", "answer_start", "answer_end", "plain_start", "plain_end")


class GivenAnswer(NamedTuple):
    """An answer that somebody made.

    Attributes:
        key: names it: its ``qid`` or ``id``, or else its number in the file.
        question: what it answers; may be empty.
        text: the answer, marked.
        sources: by number, from 1.
        dropped: marks that lost their brackets in a repair, as the record lists them.
    """

    key: str
    question: str
    text: str
    sources: tuple[Source, ...]
    dropped: tuple[Dropped, ...] = ()

    def read(self, sources: Sequence[Source] | None = None) -> QuotedAnswer:
        """Return the answer, checked against its sources or others.

        Raises:
            InputError: as `QuotedAnswer.parse` and `QuotedAnswer.with_dropped`.
        """
        answer = QuotedAnswer.parse(self.text, self.sources if sources is None else sources)
        return answer.with_dropped(self.dropped) if self.dropped else answer


def read_answers(path: Path | str) -> list[GivenAnswer]:
    """Read answers with their sources.

    An object has ``answer`` (or ``prediction``) and ``sources``, an array of objects with ``text``
    and perhaps ``title``, ``url`` and ``number``, without which they are numbered in order; it may
    have ``question``, and ``qid`` or ``id``.

    Args:
        path: the file; ``-`` is standard input.

    Raises:
        InputError: the file or an answer is not usable, or two have the same key.
    """
    with open_input(path, ByteBudget(MAX_BYTES)) as file:
        raw, name = file.read_all(), file.name
    found: list[GivenAnswer] = []
    places: dict[str, str] = {}
    for number, row in enumerate(_rows(raw, name), 1):
        one = answer_of(row, number)
        if one.key in places:
            raise InputError(
                f"{row.where}: doubled key: got {one.key!r} as at {places[one.key]}, expected one "
                "answer of each; drop one of them"
            )
        places[one.key] = row.where
        found.append(one)
    return found


def answer_in(text: str, name: str) -> GivenAnswer | None:
    """Return the answer that a text is a record of: one JSON object with ``answer`` and ``sources``.

    Returns:
        None where the text is none, and so an answer itself.

    Raises:
        InputError: it is one, and not usable.
    """
    if not text.lstrip().startswith("{"):
        return None
    try:
        row = as_row(decode_json(text, name), name)
    except InputError:
        return None
    return answer_of(row) if {"answer", "sources"} <= row.fields.keys() else None


def _rows(raw: bytes, name: str) -> Iterator[Row]:
    begin = raw.removeprefix(BOM).lstrip()
    if begin.startswith(b"["):
        items = decode_json(decode_text(raw, name), name)
        if not isinstance(items, list) or not items:
            raise InputError(
                f"{name}: nothing to read: got {describe(items)}, expected answers; add one"
            )
        for number, item in enumerate(items, 1):
            yield as_row(item, f"{name}: item {number}")
    elif begin.partition(b"\n")[0].strip() == b"{":  # one object over several lines
        yield as_row(decode_json(decode_text(raw, name), name), name)
    else:
        yield from map(decode_row, lines_of(InputFile(name, BytesIO(raw), ByteBudget(len(raw)))))


def answer_of(row: Row, number: int = 1) -> GivenAnswer:
    """Return the answer that a record holds.

    Args:
        row: the record.
        number: of the record; its key if it has none.

    Raises:
        InputError: the record is not usable.
    """
    key = next((row.text(name) for name in ("qid", "id") if name in row.fields), str(number))
    text = row.text("prediction") if "answer" not in row.fields else row.text("answer")
    sources = row.fields.get("sources")
    if not isinstance(sources, list) or len(sources) > MAX_SOURCES:
        got = f"{len(sources):,} of them" if isinstance(sources, list) else describe(sources)
        raise InputError(
            f"{row.where}: no usable sources: got {got} in the field 'sources', expected an array "
            f"of up to {MAX_SOURCES:,} objects with 'text'; add it, or give --references"
        )
    numbered = _numbered(row, sources)
    return GivenAnswer(key, row.text("question", ""), text, numbered, _dropped(row))


def _dropped(row: Row) -> tuple[Dropped, ...]:
    """Return the dropped marks that a record lists; none if it does not list any."""
    listed = row.fields.get("dropped")
    if listed is None:
        return ()
    if not isinstance(listed, list):
        raise InputError(f'{row.where}: "dropped" must be an array, got {describe(listed)}.')
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
            f'{row.where}: "{name}" must be a whole number of at least 0, got {describe(value)}.'
        )
    return value


def _numbered(row: Row, sources: list[object]) -> tuple[Source, ...]:
    """Return the sources by number; those that a record leaves out are empty, as nobody quotes them."""
    placed: dict[int, Source] = {}
    for place, each in enumerate(sources, 1):
        one = as_row(each, f"{row.where}: source {place}")
        number = one.fields.get("number", place)
        if isinstance(number, bool) or not isinstance(number, int):
            raise InputError(
                f"{one.where}: wrong type in field 'number': got {describe(number)}, expected a whole "
                "number; correct it"
            )
        if not 1 <= number <= MAX_SOURCES or number in placed:
            raise InputError(
                f"{one.where}: wrong number: got {number}{' again' if number in placed else ''}, "
                f"expected one from 1 to {MAX_SOURCES:,}, once; correct it"
            )
        placed[number] = source_of(one)
    return tuple(placed.get(number, Source("")) for number in range(1, max(placed, default=0) + 1))
