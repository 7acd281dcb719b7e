"""Reads PAQ's released files: questions with the answers and passages they were generated from.

``PAQ.metadata.jsonl`` and ``PAQ.unfiltered_metadata.jsonl`` have one line per question::

    {"question": …, "subsets": […], "answer": …, "passage_score": …,
     "answers": [{"passage_id": …, "offset": …, "text": …, "extractor": "L" | "NE"}, …]}

The unfiltered file has ``canonical_answer`` instead of ``answer``, and ``consistent`` twice. Only
``question`` and the ``text`` and ``passage_id`` of answers are read. ``PAQ.jsonl`` has no passages and
cannot be used. Only the unfiltered file has many questions with several answers, because the other
one keeps questions that a model answers consistently.

``psgs_w100.tsv`` is DPR's Wikipedia: a header, then id, text and title, with quotation marks doubled
inside quoted fields. Ids start at 1.

Source: Lewis et al., PAQ (2021); github.com/facebookresearch/PAQ, README; Karpukhin et al., DPR
(2020).
"""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from sqlite3 import Connection
from typing import Any, BinaryIO

from semqa.attribution.records import filled_text, invalid_field
from semqa.data.files import BOM, ByteBudget, InputFile, decode_text, display_name
from semqa.data.jsonl import Line, Row, decode_row
from semqa.errors import InputError
from semqa.metrics.text import normalise_answer
from semqa.questions.records import (
    CollectedQuestion,
    PassageAnswer,
    question_key,
    stable_id,
    with_question_mark,
)
from semqa.questions.run import Done

MAX_BYTES = 2**50
"""Maximum file size: PAQ's unfiltered file has 95 GB, more than the usual limit."""

ROWS = 2_000
"""Number of rows to write at once."""

MAX_PASSAGES = 100
"""Maximum passages per question. Only vague questions such as "who is he" have more."""


DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)
"""Exceptions when reading a damaged ``.gz`` file."""


def open_binary(path: Path, *, unpack: bool = True) -> BinaryIO:
    """Open a file for reading; by default, a ``.gz`` file is decompressed."""
    try:
        if unpack and path.suffix == ".gz":
            return gzip.open(path, "rb")  # type: ignore[return-value]  # reads the same
        return path.open("rb")
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise InputError(f"cannot be read: {reason}.", where=display_name(path)) from error


def read_from(path: Path, offset: int, number: int) -> Iterator[tuple[Line, int, int]]:
    """Yield the non-blank lines after an offset, each with its number and the offset after it.

    Offsets are in bytes of the decompressed text; `number` lines precede the first one.
    """
    name = display_name(path)
    with open_binary(path) as stream:
        try:
            stream.seek(offset)
            file = InputFile(name, stream, ByteBudget(MAX_BYTES))
            while raw := file.read_line(number + 1):
                number += 1
                start, offset = offset, offset + len(raw)
                if raw.strip():
                    yield Line(f"{name}:{number}", raw, start), number, offset
        except DAMAGED as error:
            raise InputError(f"cannot be read: it is damaged ({error}).", where=name) from error


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the objects of a JSON-lines file of any size."""
    for line, *_ in read_from(path, 0, 0):
        yield decode_row(line)


def read_mentions(database: Connection, files: Sequence[Path], place: Any) -> Iterator[Done]:
    """Write the answers in PAQ's files to the table ``mention``, the first of equal ones only."""
    first, offset, number = place or (0, 0, 0)
    before = sum(path.stat().st_size for path in files[:first])
    insert = "INSERT OR IGNORE INTO mention VALUES (?, ?, ?, ?, ?)"
    for at in range(first, len(files)):
        rows: list[tuple[str, str, str, str, int]] = []
        counts: Counter[str] = Counter()
        for line, number, offset in read_from(files[at], offset, number):  # noqa: B020
            question, answers = _read(line)
            counts["lines"] += 1
            counts["read"] += len(answers)
            key = question_key(question)
            rows += [
                (key, question, answer, normalise_answer(answer), passage)
                for answer, passage in answers
            ]
            if len(rows) >= ROWS:
                database.executemany(insert, rows)
                yield Done([at, offset, number], counts, before + offset)
                rows, counts = [], Counter()
        database.executemany(insert, rows)
        before += files[at].stat().st_size
        offset = number = 0
        yield Done([at + 1, 0, 0], counts, before)


def _read(line: Line) -> tuple[str, list[tuple[str, int]]]:
    """Return the question of a line, and its answers with their passage ids."""
    row = decode_row(line)
    question = filled_text(row, "question")
    found = row.fields.get("answers")
    if found is None and isinstance(row.fields.get("answer"), list):
        raise InputError(
            "This PAQ file has no passages.",
            where=row.where,
            hint="Use PAQ.unfiltered_metadata.jsonl or PAQ.metadata.jsonl.",
        )
    if not isinstance(found, list):
        raise invalid_field(row, "answers", "a list")
    answers = []
    for each in found:
        if not isinstance(each, dict) or not isinstance(each.get("text"), str):
            raise InputError(
                'must contain objects with "passage_id" and "text".',
                field="answers",
                where=row.where,
            )
        passage = _number(each.get("passage_id"))
        if passage is None:
            raise invalid_field(Row(row.where, each), "passage_id", "a number of at least 1")
        if each["text"].strip():
            answers.append((" ".join(each["text"].split()), passage))
    return question, answers


MAX_PASSAGE_ID = 2**31
"""More than there are; a larger id is an error in the file."""


def _number(value: object) -> int | None:
    """Parse a passage id, which is a string of digits in the release; None if invalid."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 10:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < MAX_PASSAGE_ID:
        return value
    return None


def merge_mentions(database: Connection, place: str | None) -> Iterator[Done]:
    """Write the questions with several answers in several passages to the table ``candidate``.

    A row is ``{"qid", "question", "answers": [[answer, passage id], …]}``; the ids go to ``passage``.
    """
    several = database.execute(
        "SELECT key FROM mention WHERE key > ? GROUP BY key "
        "HAVING COUNT(DISTINCT normalised) > 1 AND COUNT(DISTINCT passage) > 1",
        (place or "",),
    )
    for number, (key,) in enumerate(several, 1):
        mentions = "SELECT question, answer, passage FROM mention WHERE key = ? ORDER BY rowid"
        found = database.execute(mentions, (key,)).fetchall()
        question = found[0][0]
        kept = [each[1:] for each in found[:MAX_PASSAGES]]
        row = {
            "qid": stable_id("PAQ", question),
            "question": with_question_mark(question),
            "answers": kept,
        }
        insert_candidate(database, row)
        ids = [(passage,) for _, passage in kept]
        database.executemany("INSERT OR IGNORE INTO passage (id) VALUES (?)", ids)
        counts = {
            "several.questions": 1,
            "several.answers": len(kept),
            "cut": len(found) - len(kept),
        }
        yield Done(key, counts, number)


def insert_candidate(database: Connection, row: Mapping[str, object]) -> None:
    """Add a row to the table ``candidate``."""
    text = json.dumps(row, ensure_ascii=False)
    database.execute("INSERT INTO candidate (row) VALUES (?)", (text,))


def read_passages(database: Connection, path: Path, place: Any) -> Iterator[Done]:
    """Read the passages in the table ``passage`` from ``psgs_w100.tsv``."""
    offset, number = place or (0, 0)
    update = "UPDATE passage SET title = ?, text = ? WHERE id = ?"
    rows = []
    for line, number, offset in read_from(path, offset, number):  # noqa: B020
        text = decode_text(line.raw.removeprefix(BOM), line.where, line.offset)
        if number == 1 and text.startswith("id\t"):
            continue
        try:
            name, text, title = next(csv.reader([text], delimiter="\t"))[:3]
        except (csv.Error, ValueError) as error:
            detail = f": {error}" if isinstance(error, csv.Error) else "."
            raise InputError(
                f"must be id, text and title, separated by tabs{detail}", where=line.where
            ) from error
        passage = _number(name)
        if passage is None:
            raise InputError("must begin with a passage id, a whole number.", where=line.where)
        rows.append((title.strip(), " ".join(text.split()), passage))
        if len(rows) == ROWS:
            database.executemany(update, rows)
            rows = []
            yield Done([offset, number], {}, offset)
    database.executemany(update, rows)
    yield Done([offset, number], {}, offset)


def with_passages(database: Connection, row: Row) -> tuple[CollectedQuestion, Counter[str]]:
    """Look up the passages of a merged question, and drop answers that are not in their passage.

    Returns:
        The question, and the numbers of answers whose passage is unknown (``missing``) or does not
        contain them (``absent``).
    """
    counts: Counter[str] = Counter()
    answers = []
    find = "SELECT title, text FROM passage WHERE id = ? AND text IS NOT NULL"
    for answer, passage in row.fields["answers"]:  # type: ignore[attr-defined]  # our own row
        found = database.execute(find, (passage,)).fetchone()
        if found is None:
            counts["missing"] += 1
        elif answer.casefold() not in found[1].casefold():
            counts["absent"] += 1
        else:
            answers.append(PassageAnswer(answer, *found))
    return CollectedQuestion(row.text("qid"), row.text("question"), tuple(answers)), counts
