"""The other released files of TofuEval: kinds of topics, key points, splits; and documents.

Documents are not part of the release: they come from MediaSum and MeetingBank, as CSV files with the
columns ``doc_id`` (or ``meeting_id``) and ``source``, or as JSON lines with fields of these names.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from semqa.attribution.tofueval.annotations import find_columns
from semqa.data.csv_rows import read_csv
from semqa.data.files import ByteBudget, decode_text, open_input
from semqa.data.jsonl import decode_json, describe, read_rows, shown
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from semqa.data.jsonl import Row

__all__ = [
    "Document",
    "KeyPoints",
    "read_categories",
    "read_documents",
    "read_key_points",
    "read_splits",
]

_NUMBER = re.compile(r"\s*\(?\d{1,3}[.):](?:\s+|(?=[^\W\d]))")
_LONGEST_CELL = 2**20
_CATEGORY = "_topic_category"


class KeyPoints(NamedTuple):
    """What a complete summary of a document on a topic would say.

    Attributes:
        dataset: that of the document.
        doc_id: the document.
        topic: the topic.
        points: without their numbers; none where annotators wrote none.
        where: ``file:line``.
    """

    dataset: str
    doc_id: str
    topic: str
    points: tuple[str, ...]
    where: str


class Document(NamedTuple):
    """A dialogue to be summarised."""

    doc_id: str
    text: str


def read_categories(paths: Iterable[Path | str]) -> dict[str, dict[str, str]]:
    """Read which topics are ``main`` and which ``marginal``: dataset to topic to category.

    The dataset is the file's name up to ``_topic_category``; a file of another name is for all
    datasets, and stands at ``""``.

    Raises:
        InputError: a file is no JSON object of strings.
    """
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        name, value = _read_object(path)
        dataset = _dataset(path, _CATEGORY) if _CATEGORY in PurePath(path).stem.casefold() else ""
        for topic, category in value.items():
            if not isinstance(category, str) or not category.strip():
                raise InputError(
                    f"{name}: not a category: got {describe(category)} for {shown(topic)}, expected "
                    "such as main or marginal; correct it"
                )
            found.setdefault(dataset, {})[topic.strip()] = category.strip().casefold()
    return found


def read_splits(path: Path | str) -> dict[str, dict[str, str]]:
    """Read which documents are in which split: dataset to document to split.

    Raises:
        InputError: the file is not of the released form: split to dataset to documents.
    """
    name, value = _read_object(path)
    found: dict[str, dict[str, str]] = {}
    for split, datasets in value.items():
        if not isinstance(datasets, dict) or not all(
            isinstance(ids, list) and all(isinstance(each, str) for each in ids)
            for ids in datasets.values()
        ):
            raise InputError(
                f"{name}: not splits: got {describe(datasets)} for {shown(split)}, expected an object "
                "of datasets with lists of documents; correct it"
            )
        for dataset, ids in datasets.items():
            found.setdefault(dataset.casefold(), {}).update(dict.fromkeys(ids, split))
    return found


def read_key_points(paths: Iterable[Path | str]) -> list[KeyPoints]:
    """Read key points: CSV files with the columns ``doc_id``, ``topic`` and ``key_points``.

    A cell is a list of strings, written as Python or JSON writes it, or empty. The dataset is the
    file's name up to ``_completeness``.

    Raises:
        InputError: a file or row is not usable; the message names file and line.
    """
    found = []
    for path in paths:
        file = read_csv(path)
        dataset = _dataset(path, "_completeness")
        aliases = {"meeting_id": "doc_id"}
        columns = find_columns(file, ("doc_id", "topic", "key_points"), aliases)
        for record in file.records:
            row = {name: record.cells[at].strip() for name, at in columns.items()}
            points = _points(row["key_points"], record.where)
            of = row.get("dataset") or dataset
            found.append(KeyPoints(of, row["doc_id"], row["topic"], points, record.where))
    return found


def read_documents(paths: Iterable[Path | str]) -> dict[str, Document]:
    """Read documents by their id, from CSV files or JSON lines.

    Raises:
        InputError: a file or row is not usable, or a document is there twice and differs.
    """
    found: dict[str, Document] = {}
    for path in paths:
        rows = _csv_documents(path) if PurePath(path).suffix.lower() == ".csv" else _rows(path)
        for where, doc_id, text in rows:
            document = Document(doc_id.strip(), text)
            if not document.doc_id or not text.strip():
                raise InputError(
                    f"{where}: empty document: got {shown(doc_id)} with {len(text)} characters, "
                    "expected an id and a text; fill it in"
                )
            if found.setdefault(document.doc_id, document) != document:
                raise InputError(
                    f"{where}: doubled document: got {shown(doc_id)} with another text, expected "
                    "each once; drop one"
                )
    return found


def _rows(path: Path | str) -> Iterable[tuple[str, str, str]]:
    for row in read_rows(path):
        yield row.where, _first(row, "doc_id", "meeting_id", "id"), _first(row, "source", "text")


def _first(row: Row, *names: str) -> str:
    return row.text(next((name for name in names if name in row.fields), names[0]))


def _csv_documents(path: Path | str) -> Iterable[tuple[str, str, str]]:
    file = read_csv(path)
    aliases = {"meeting_id": "doc_id", "id": "doc_id", "text": "source", "document": "source"}
    columns = find_columns(file, ("doc_id", "source"), aliases)
    for record in file.records:
        yield record.where, record.cells[columns["doc_id"]], record.cells[columns["source"]]


def _points(cell: str, where: str) -> tuple[str, ...]:
    if not cell:
        return ()
    value: object = None
    if len(cell) <= _LONGEST_CELL:
        try:
            value = json.loads(cell)
        except (ValueError, RecursionError):
            try:
                value = ast.literal_eval(cell)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                value = None
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise InputError(
            f"{where}: not key points: got {shown(cell)}, expected a list of strings such as "
            "['1. It was late.']; correct it"
        )
    points = (_NUMBER.sub("", point, count=1).strip() for point in value)
    return tuple(point for point in points if point)


def _read_object(path: Path | str) -> tuple[str, dict[str, object]]:
    with open_input(path, ByteBudget()) as file:
        value = decode_json(decode_text(file.read_all(), file.name), file.name)
    if not isinstance(value, dict):
        raise InputError(f"{file.name}: got {describe(value)}, expected a JSON object; correct it")
    return file.name, value


def _dataset(path: Path | str, ending: str) -> str:
    return PurePath(path).stem.casefold().partition(ending)[0]
