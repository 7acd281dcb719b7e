"""Summaries to be judged: annotated sentences as released, or summaries as JSON lines."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from semqa.attribution.records import read_record_rows
from semqa.attribution.sentences import split_sentences
from semqa.attribution.tofueval.annotations import SummaryKey, by_summary, read_annotations
from semqa.attribution.tofueval.judging import Judged
from semqa.data.jsonl import describe, shown
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from semqa.attribution.tofueval.rates import Level

__all__ = ["read_texts", "read_wanted", "whole_summaries"]


def read_texts(
    paths: Iterable[Path | str], level: Level, leave_out: frozenset[str] = frozenset()
) -> list[Judged]:
    """Read what is to be judged, each text once.

    A CSV file holds annotated sentences (its labels are not looked at). Anything else is JSON lines,
    or a record, of rows with ``doc_id``, ``topic``, ``summary`` and perhaps ``model_name`` and
    ``dataset``; such a summary is cut into sentences numbered from 1.

    Args:
        paths: the files; ``-`` is standard input, for JSON lines.
        level: sentences, or whole summaries.
        leave_out: models to leave out of annotated files.

    Raises:
        InputError: a file or row is not usable, a summary is there twice, or there is none.
    """
    found: list[Judged] = []
    for path in paths:
        if PurePath(path).suffix.lower() == ".csv":
            annotated = _annotated(path, level)
            found += [each for each in annotated if each.key.model not in leave_out]
        else:
            found += _written(path, level)
    unique: dict[tuple[SummaryKey, int | None], Judged] = {}
    for each in found:
        # The release repeats a row; what differs under one name cannot be told apart in results.
        known = unique.setdefault((each.key, each.index), each)
        if known.text != each.text:
            raise InputError(
                f"summaries: doubled: got two texts for {shown(each.key.doc_id)}, "
                f"{shown(each.key.topic)}, {shown(each.key.model)}, expected one; give each its model_name"
            )
    if not unique:
        raise InputError("summaries: got none, expected at least one; check the files")
    return list(unique.values())


def whole_summaries(texts: Iterable[Judged]) -> list[tuple[SummaryKey, str]]:
    """Return summaries, read at the level of summaries, with their texts."""
    return [(each.key, each.text) for each in texts]


def read_wanted(path: Path | str) -> list[tuple[str, str]]:
    """Read which document is to be summarised on which topic.

    Rows have ``doc_id`` and ``topic``, or ``topics``, an array.

    Raises:
        InputError: the file or a row is not usable, or there is none.
    """
    found: dict[tuple[str, str], None] = {}
    for row in read_record_rows(path):
        topics = row.fields.get("topics")
        if topics is None:
            topics = [row.text("topic")]
        if not isinstance(topics, list) or not all(isinstance(each, str) for each in topics):
            raise InputError(
                f"{row.where}: not topics: got {describe(topics)}, expected an array of strings; correct it"
            )
        doc_id = row.text("doc_id").strip()
        found.update(dict.fromkeys((doc_id, topic.strip()) for topic in topics))
    if not found:
        raise InputError(f"{path}: no topics: got none, expected at least one; check the file")
    return list(found)


def _annotated(path: Path | str, level: Level) -> list[Judged]:
    sentences = read_annotations([path])
    if level == "sentence":
        return [Judged(s.key, s.index, s.text) for s in sentences]
    found = []
    for (_, key), parts in by_summary(sentences).items():
        texts = {part.index: part.text.strip() for part in parts}
        found.append(Judged(key, None, " ".join(texts[index] for index in sorted(texts))))
    return found


def _written(path: Path | str, level: Level) -> list[Judged]:
    found = []
    for row in read_record_rows(path):
        text = row.text("summary", "") or row.text("text", "")
        key = SummaryKey(
            row.text("dataset", "").casefold(),
            row.text("doc_id").strip(),
            row.text("topic").strip(),
            row.text("model_name", "").strip() or "summary",
        )
        if not text.strip():
            raise InputError(
                f"{row.where}: empty summary: got {shown(text)}, expected some text in 'summary'; "
                "fill it in or drop the row"
            )
        if level == "summary":
            found.append(Judged(key, None, " ".join(text.split())))
        else:
            parts = enumerate(split_sentences(text), 1)
            found += [Judged(key, number, part) for number, part in parts]
    return found
