"""PAQ's released files: questions with the answers and passages that they were generated from.

``PAQ.metadata.jsonl`` and ``PAQ.unfiltered_metadata.jsonl`` have a line per question::

    {"question": …, "subsets": […], "answer": …, "passage_score": …,
     "answers": [{"passage_id": …, "offset": …, "text": …, "extractor": "L" | "NE"}, …]}

The unfiltered file says ``canonical_answer`` for ``answer`` and has ``consistent`` twice; only ``question``
and the ``text`` and ``passage_id`` of answers are read. ``PAQ.jsonl`` has no passages and is of no use
here. The unfiltered file is the one with many questions that have several answers: the other kept
what one model answers the same everywhere.

``psgs_w100.tsv`` is DPR's Wikipedia: a header, then id, text and title, with quotes doubled inside
quotes. Ids count from 1.

Source: Lewis et al., PAQ (2021); github.com/facebookresearch/PAQ, README; Karpukhin et al., DPR (2020).
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

from semqa.data.files import ByteBudget, InputFile, decode_text, display_name
from semqa.data.jsonl import Line, Row, as_row, decode_json, describe
from semqa.errors import InputError
from semqa.metrics.text import normalise_answer
from semqa.questions.records import Answered, Collected, made_id, question_key, with_mark
from semqa.questions.run import Piece

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import BinaryIO

MOST_BYTES = 2**50
"""PAQ's unfiltered file has 95 GB, so the usual limit of a data file does not hold; a line's does."""

BUCKET_BYTES = 64 * 2**20
"""What a bucket should hold: it is sorted in memory."""

FEWEST_BUCKETS, MOST_BUCKETS = 4, 400
"""All buckets are open at once; systems allow 1,024 files or so."""

PIECE = 2_000
"""Lines that are handed on together."""

MOST_PASSAGES = 100
"""Passages of a question that are read further; more have questions such as "who is he"."""


def bucket_count(files: Sequence[Path]) -> int:
    """Return into how many buckets files are sorted; depends on their sizes alone."""
    size = sum(path.stat().st_size * (5 if path.suffix == ".gz" else 1) for path in files)
    return min(MOST_BUCKETS, max(FEWEST_BUCKETS, size // BUCKET_BYTES))


DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)
"""What reading a damaged ``.gz`` file raises."""


def open_binary(path: Path, *, unpack: bool = True) -> BinaryIO:
    """Open a file for reading.

    Args:
        unpack: read what a ``.gz`` file holds, rather than the file itself.
    """
    try:
        if unpack and path.suffix == ".gz":
            return gzip.open(path, "rb")  # type: ignore[return-value]  # reads the same
        return path.open("rb")
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise InputError(f"cannot be read: {reason}.", where=display_name(path)) from error


def read_from(path: Path, offset: int, number: int) -> Iterator[tuple[Line, int]]:
    """Read the lines of a file that are not blank, from a place on.

    Args:
        offset: where to begin, in bytes of the text.

    Yields:
        Each line, and the offset behind it.
    """
    name = display_name(path)
    with open_binary(path) as stream:
        try:
            stream.seek(offset)
            file = InputFile(name, stream, ByteBudget(MOST_BYTES))
            while raw := file.read_line(number + 1):
                number += 1
                start, offset = offset, offset + len(raw)
                if raw.strip():
                    yield Line(f"{name}:{number}", raw, start), offset
        except DAMAGED as error:
            raise InputError(f"cannot be read: it is damaged ({error}).", where=name) from error


def sort_into_buckets(files: Sequence[Path], count: int, place: Any) -> Iterator[Piece]:
    """Give a line ``key TAB [question, [[answer, passage id], …]]`` per line, to the bucket of its key.

    So all lines of a question meet in one bucket, whatever lies between them.
    """
    first, offset, number = place or (0, 0, 0)
    done = sum(path.stat().st_size for path in files[:first])
    for at in range(first, len(files)):
        lines: list[tuple[int, bytes]] = []
        counts: Counter[str] = Counter()
        for line, end in read_from(files[at], offset, number):
            offset = end
            number += 1
            question, answers = _read(line)
            counts["lines"] += 1
            counts["read"] += len(answers)
            key = question_key(question).encode()
            packed = json.dumps([question, answers], ensure_ascii=False).encode()
            lines.append((zlib.crc32(key) % count, key + b"\t" + packed + b"\n"))
            if len(lines) == PIECE:
                yield Piece([at, offset, number], lines, counts, done + offset)
                lines, counts = [], Counter()
        yield Piece([at + 1, 0, 0], lines, counts, done + offset)
        offset = number = 0
        done += files[at].stat().st_size


def _read(line: Line) -> tuple[str, list[tuple[str, int]]]:
    """Return the question of a line, and its answers with the ids of their passages."""
    row = _decode(line)
    question = row.text("question")
    found = row.fields.get("answers")
    if found is None and isinstance(row.fields.get("answer"), list):
        raise InputError(
            "This is PAQ's file without passages.",
            where=row.where,
            hint="Take PAQ.unfiltered_metadata.jsonl or PAQ.metadata.jsonl.",
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
                'must be objects with "passage_id" and "text".', field="answers", where=row.where
            )
        passage = _number(each.get("passage_id"))
        if passage is None:
            raise InputError(
                f"must be a number from 1, got {describe(each.get('passage_id'))}.",
                field="passage_id",
                where=row.where,
            )
        if each["text"].strip():
            answers.append((" ".join(each["text"].split()), passage))
    return question, answers


def _decode(line: Line) -> Row:
    text = decode_text(line.raw, line.where, line.offset)
    return as_row(decode_json(text, line.where), line.where)


MOST_ID = 2**31
"""Offsets of passages are kept in a list by id."""


def _number(value: object) -> int | None:
    """Return the id of a passage, which the release writes as a string of digits; or None if it is invalid."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 10:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < MOST_ID:
        return value
    return None


def merge_bucket(bucket: Path) -> tuple[list[bytes], Counter[str]]:
    """Merge the lines of a bucket by question; keep questions with several answers and passages.

    Returns:
        A line ``{"qid", "question", "answers": [[answer, passage id], …]}`` per question, in the order of
        their keys, and counts.
    """
    lines = bucket.read_bytes().splitlines(keepends=True)
    lines.sort(key=_key)  # stable: the lines of a question stay in their order
    counts: Counter[str] = Counter()
    made = []
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
        kept = [(answer, passage) for (_, passage), answer in answers.items()][:MOST_PASSAGES]
        counts["several.questions"] += 1
        counts["several.answers"] += len(kept)
        counts["cut"] += len(answers) - len(kept)
        row = {"qid": made_id("PAQ", question), "question": with_mark(question), "answers": kept}
        made.append(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return made, counts


def _key(line: bytes) -> bytes:
    return line[: line.index(b"\t")]


class PassageFile:
    """``psgs_w100.tsv``, read by id through a list of offsets; use it as a context manager.

    Args:
        path: the file; not compressed, for it is read in any order.
        index: where the list of offsets is kept, eight bytes a passage; made if missing.
    """

    def __init__(self, path: Path, index: Path) -> None:
        self._name = display_name(path)
        if path.suffix == ".gz":
            raise InputError(
                "must not be compressed: it is read in any order.",
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
        """Find where each passage is: one reading of the file, unless that was done before."""
        import numpy as np

        if not self._index.exists():
            offsets = array("q")
            at = 0
            for number, line in enumerate(self._stream, 1):
                start, at = at, at + len(line)
                name = line[: line.find(b"\t")]
                if number == 1 and name == b"id":
                    continue
                passage = _number(name.decode("utf-8", "replace"))
                if passage is None or line.count(b"\t") < 2:
                    raise InputError(
                        "must be id, text and title with tabs between.",
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
        """Return title and text of a passage; or None if the id is unknown."""
        offset = int(self._offsets[passage]) if passage < len(self._offsets) else -1
        if offset < 0:
            return None
        self._stream.seek(offset)
        where = f"{self._name}, passage {passage}"
        line = decode_text(self._stream.readline(), where, offset)
        try:
            _, text, title = next(csv.reader([line], delimiter="\t"))[:3]
        except (csv.Error, ValueError) as error:
            why = error if isinstance(error, csv.Error) else "a quote is not closed"
            raise InputError(f"must be id, text and title: {why}.", where=where) from error
        return title.strip(), " ".join(text.split())


def with_passages(row: Row, passages: PassageFile) -> tuple[Collected, Counter[str]]:
    """Return a merged question with its passages; answers that are not in theirs are left out.

    Returns:
        The question, and how many answers had no passage (``missing``) or one without them (``absent``).
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
        answers.append(Answered(answer, title, text))
    return Collected(row.text("qid"), row.text("question"), tuple(answers)), counts
