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
import os
import zlib
from array import array
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self

from semqa.data.files import BOM, ByteBudget, InputFile, decode_text, display_name
from semqa.data.jsonl import Line, Row, as_row, decode_json, describe
from semqa.errors import InputError
from semqa.metrics.text import normalise_answer
from semqa.questions.records import (
    CollectedQuestion,
    PassageAnswer,
    question_key,
    stable_id,
    with_question_mark,
)
from semqa.questions.run import StepOutput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import BinaryIO

MAX_BYTES = 2**50
"""Maximum file size: PAQ's unfiltered file has 95 GB, more than the usual limit."""

BUCKET_BYTES = 64 * 2**20
"""Target size of a bucket, which is sorted in memory."""

MIN_BUCKETS, MAX_BUCKETS = 4, 400
"""All buckets are open at the same time; systems allow about 1,024 open files."""

LINES_PER_STEP = 2_000
"""Number of lines per output of a step."""

MAX_PASSAGES = 100
"""Maximum passages per question. Only vague questions such as "who is he" have more."""


def bucket_count(files: Sequence[Path]) -> int:
    """Return the number of buckets for files, which depends only on their sizes."""
    size = sum(path.stat().st_size * (5 if path.suffix == ".gz" else 1) for path in files)
    return min(MAX_BUCKETS, max(MIN_BUCKETS, size // BUCKET_BYTES))


DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)
"""Exceptions when reading a damaged ``.gz`` file."""


def open_binary(path: Path, *, unpack: bool = True) -> BinaryIO:
    """Open a file for reading.

    Args:
        unpack: decompress a ``.gz`` file.
    """
    try:
        if unpack and path.suffix == ".gz":
            return gzip.open(path, "rb")  # type: ignore[return-value]  # reads the same
        return path.open("rb")
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise InputError(f"cannot be read: {reason}.", where=display_name(path)) from error


def read_from(path: Path, offset: int, number: int) -> Iterator[tuple[Line, int, int]]:
    """Yield the non-blank lines of a file, starting at an offset.

    Args:
        path: the file.
        offset: start offset in bytes of the decompressed text.
        number: number of lines before the offset.

    Yields:
        Each line, its number, and the offset after it.
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


def sort_into_buckets(files: Sequence[Path], count: int, place: Any) -> Iterator[StepOutput]:
    """Sort the lines of files into buckets, so that all lines of a question are in the same bucket.

    A line in a bucket is ``key TAB [question, [[answer, passage id], …]]``.
    """
    first, offset, number = place or (0, 0, 0)
    done = sum(path.stat().st_size for path in files[:first])
    for at in range(first, len(files)):
        lines: list[tuple[int, bytes]] = []
        counts: Counter[str] = Counter()
        for line, number, offset in read_from(files[at], offset, number):  # noqa: B020
            question, answers = _read(line)
            counts["lines"] += 1
            counts["read"] += len(answers)
            key = question_key(question).encode()
            packed = json.dumps([question, answers], ensure_ascii=False).encode()
            lines.append((zlib.crc32(key) % count, key + b"\t" + packed + b"\n"))
            if len(lines) == LINES_PER_STEP:
                yield StepOutput([at, offset, number], lines, counts, done + offset)
                lines, counts = [], Counter()
        yield StepOutput([at + 1, 0, 0], lines, counts, done + offset)
        offset = number = 0
        done += files[at].stat().st_size


def _read(line: Line) -> tuple[str, list[tuple[str, int]]]:
    """Return the question of a line, and its answers with their passage ids."""
    row = _decode(line)
    question = row.text("question")
    found = row.fields.get("answers")
    if found is None and isinstance(row.fields.get("answer"), list):
        raise InputError(
            "This PAQ file has no passages.",
            where=row.where,
            hint="Use PAQ.unfiltered_metadata.jsonl or PAQ.metadata.jsonl.",
        )
    if not isinstance(found, list):
        raise InputError(
            f"must be a list, got {describe(found)}.", field="answers", where=row.where
        )
    if not question.strip():
        raise InputError("is empty.", field="question", where=row.where)
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
            raise InputError(
                f"must be a number of at least 1, got {describe(each.get('passage_id'))}.",
                field="passage_id",
                where=row.where,
            )
        if each["text"].strip():
            answers.append((" ".join(each["text"].split()), passage))
    return question, answers


def _decode(line: Line) -> Row:
    text = decode_text(line.raw, line.where, line.offset)
    return as_row(decode_json(text, line.where), line.where)


MAX_PASSAGE_ID = 2**31
"""Maximum passage id, because offsets are stored in an array indexed by id."""


def _number(value: object) -> int | None:
    """Parse a passage id, which is a string of digits in the release; None if invalid."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 10:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < MAX_PASSAGE_ID:
        return value
    return None


def merge_bucket(bucket: Path) -> tuple[list[bytes], Counter[str]]:
    """Merge the lines of a bucket by question; keep questions with several answers and passages.

    Returns:
        A line ``{"qid", "question", "answers": [[answer, passage id], …]}`` per question, sorted by
        key, and counts.
    """
    lines = bucket.read_bytes().splitlines(keepends=True)
    lines.sort(key=_key)  # stable, so the lines of a question stay in order
    counts: Counter[str] = Counter()
    merged = []
    for _, group in groupby(lines, _key):
        counts["questions"] += 1
        question, answers = "", dict[tuple[str, int], str]()
        for line in group:
            found, more = json.loads(line[line.index(b"\t") :])
            question = question or found
            for answer, passage in more:
                answers.setdefault((normalise_answer(answer), passage), answer)
        counts["triples"] += len(answers)
        if len({answer for answer, _ in answers}) < 2 or len({p for _, p in answers}) < 2:
            continue
        kept = [(answer, passage) for (_, passage), answer in answers.items()][:MAX_PASSAGES]
        counts["several.questions"] += 1
        counts["several.answers"] += len(kept)
        counts["cut"] += len(answers) - len(kept)
        row = {
            "qid": stable_id("PAQ", question),
            "question": with_question_mark(question),
            "answers": kept,
        }
        merged.append(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return merged, counts


def _key(line: bytes) -> bytes:
    return line[: line.index(b"\t")]


class PassageFile:
    """Random access to ``psgs_w100.tsv`` by passage id. Use it as a context manager.

    Args:
        path: the file, which must not be compressed.
        index: file with the offsets, eight bytes per passage; `prepare` creates it if it is
            missing.
    """

    def __init__(self, path: Path, index: Path) -> None:
        self._name = display_name(path)
        if path.suffix == ".gz":
            raise InputError(
                "must not be compressed, because it is read in random order.",
                where=self._name,
                hint=f"Run: gunzip -k {self._name}",
            )
        self._stream = open_binary(path)
        self._index = index
        self._offsets: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()

    def __len__(self) -> int:
        return int((self._offsets >= 0).sum())

    def prepare(self) -> None:
        """Load the index, and create it by reading the whole file if it does not exist."""
        import numpy as np

        if not self._index.exists():
            offsets = array("q")
            at = 0
            for number, line in enumerate(self._stream, 1):
                start, at = at, at + len(line)
                name = line[: line.find(b"\t")]
                if number == 1 and (name := name.removeprefix(BOM)) == b"id":
                    continue
                passage = _number(name.decode("utf-8", "replace"))
                if passage is None or line.count(b"\t") < 2:
                    raise InputError(
                        "must be id, text and title, separated by tabs.",
                        where=f"{self._name}:{number}",
                    )
                if passage >= len(offsets):
                    offsets.extend([-1] * (passage + 1 - len(offsets)))
                offsets[passage] = start
            temporary = self._index.with_suffix(".tmp")
            with temporary.open("wb") as stream:
                np.save(stream, np.frombuffer(offsets, dtype=np.int64))
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(self._index)
        self._offsets = np.load(self._index, mmap_mode="r")

    def find(self, passage: int) -> tuple[str, str] | None:
        """Return the title and text of a passage; None if the id is unknown."""
        offset = int(self._offsets[passage]) if passage < len(self._offsets) else -1
        if offset < 0:
            return None
        self._stream.seek(offset)
        where = f"{self._name}, passage {passage}"
        line = decode_text(self._stream.readline(), where, offset)
        try:
            _, text, title = next(csv.reader([line], delimiter="\t"))[:3]
        except (csv.Error, ValueError) as error:
            reason = error if isinstance(error, csv.Error) else "a quotation mark is not closed"
            raise InputError(f"must be id, text and title: {reason}.", where=where) from error
        return title.strip(), " ".join(text.split())


def with_passages(row: Row, passages: PassageFile) -> tuple[CollectedQuestion, Counter[str]]:
    """Look up the passages of a merged question, and drop answers that are not in their passage.

    Returns:
        The question, and the numbers of answers whose passage is unknown (``missing``) or does not
        contain them (``absent``).
    """
    counts: Counter[str] = Counter()
    answers = []
    for answer, passage in row.fields["answers"]:  # type: ignore[attr-defined]  # our own file
        found = passages.find(passage)
        if found is None:
            counts["missing"] += 1
            continue
        title, text = found
        if answer.casefold() not in text.casefold():
            counts["absent"] += 1
            continue
        answers.append(PassageAnswer(answer, title, text))
    return CollectedQuestion(row.text("qid"), row.text("question"), tuple(answers)), counts
