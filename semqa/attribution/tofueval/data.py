"""Read the released files of TofuEval: sentences, error types, topics, key points and splits.

Annotated sentences have the columns ``doc_id``, ``topic``, ``model_name``, ``sent_idx``,
``summ_sent``, ``sent_label`` (``yes`` means consistent), and optionally ``exp``, ``type``,
``dataset`` and ``split``. Without the last two, they follow from the file name
``{dataset}_factual_eval_{split}.csv``; for other names, the stem is the dataset. Documents are not
part of the release: they come from MediaSum and MeetingBank, as CSV files with the columns
``doc_id`` (or ``meeting_id``) and ``source``, or as JSON lines with these fields.

Source: github.com/amazon-science/tofueval; Tang et al. 2024, section 6 and appendix, for the names
and definitions of error types, in our wording. One row of the release is duplicated; it counts
twice, as in the release's own number of sentences.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from semqa.attribution.records import filled_text, invalid_field, read_table
from semqa.data.jsonl import Row, as_row, describe, read_json, shown
from semqa.errors import InputError

ERROR_TYPES = {
    "Extrinsic Information": "tells something that the document does not mention at all, whether "
    "true or false",
    "Mis-Referencing": "takes a property, a statement or an event from the document and gives it "
    "to the wrong person or thing",
    "Stating Opinion as Fact": "gives as plain fact what the document gives as somebody's view, "
    "claim or guess",
    "Reasoning Error": "draws a conclusion (a cause, a sum, a comparison, a general rule) that "
    "the document does not bear out",
    "Tense/Modality Error": "changes when something happens or how certain, possible or required "
    "it is",
    "Contradiction": "says the opposite of what the document says",
    "Nuanced Meaning Shift": "keeps close to the words of the document but turns their meaning a "
    "little: in degree, scope or emphasis",
}
"""The definitions of the seven types, each of which completes "The sentence …", by released name.

The most frequent is first, except for the last one.
"""

_LETTERS = re.compile(r"[^a-z]+")
_SEPARATORS = re.compile(r"[,;|\n]+")
_NONE = ("", "-", "na", "n/a", "nan", "none")


def error_types(cell: str) -> tuple[str, ...]:
    """Parse the comma-separated error types of a sentence; unknown names are kept unchanged.

    Example:
        >>> error_types("Mis-referencing, stating opinion as fact , Odd")
        ('Mis-Referencing', 'Stating Opinion as Fact', 'Odd')
    """
    parts = (part.strip() for part in _SEPARATORS.split(cell))
    named = (part for part in parts if part.casefold() not in _NONE)
    return tuple(dict.fromkeys(_CANONICAL.get(_normalise(part), part) for part in named))


def _normalise(name: str) -> str:
    return _LETTERS.sub("", name.casefold()).removesuffix("error")


_CANONICAL = {_normalise(name): name for name in ERROR_TYPES}
_CANONICAL["extrinsicinfo"] = _CANONICAL["extrinsicinformation"]  # as in the paper's tables


EXTRA_MODEL = "Model-Extra"
"""The model in the release that is not one of the paper's five."""

_NAMED = re.compile(r"(?P<dataset>.+?)_(?:factual_eval|factual_consistency)(?:_(?P<split>\w+))?$")
_ALIASES = {"meeting_id": "doc_id", "model": "model_name", "sentence": "summ_sent"}
_LABELS = {"yes": False, "no": True}


class SummaryKey(NamedTuple):
    """The identity of a summary."""

    dataset: str
    doc_id: str
    topic: str
    model: str

    def to_dict(self) -> dict[str, str]:
        return dict(zip(("dataset", "doc_id", "topic", "model_name"), self, strict=True))


@dataclass(frozen=True, slots=True)
class AnnotatedSentence:
    """One annotated sentence of a summary.

    Attributes:
        index: number of the sentence in the summary, from 1; numbers can be missing.
        inconsistent: whether annotators found it inconsistent with the document.
        explanation: an annotator's explanation of the error.
        split: ``dev`` or ``test``; empty if unknown.
        where: ``file:line``, for error messages.
    """

    key: SummaryKey
    index: int
    text: str
    inconsistent: bool
    errors: tuple[str, ...] = ()
    explanation: str = ""
    split: str = ""
    where: str = field(default="", compare=False)


def read_annotations(paths: Iterable[Path | str]) -> list[AnnotatedSentence]:
    """Read annotated sentences from CSV files."""
    found = []
    for path in paths:
        stem = PurePath(path).stem.casefold()
        named = _NAMED.match(stem)
        dataset, split = (named["dataset"], named["split"] or "") if named else (stem, "")
        for row in read_columns(path, _ALIASES):
            own = (row.text("dataset", "").strip(), row.text("split", "").strip())
            found.append(_sentence(row, own[0] or dataset, own[1] or split))
    return found


def by_summary(
    sentences: Iterable[AnnotatedSentence],
) -> dict[tuple[str, SummaryKey], list[AnnotatedSentence]]:
    """Group sentences by split and summary, in file order."""
    found: dict[tuple[str, SummaryKey], list[AnnotatedSentence]] = {}
    for sentence in sentences:
        found.setdefault((sentence.split, sentence.key), []).append(sentence)
    return found


def count_duplicates(sentences: Sequence[AnnotatedSentence]) -> int:
    """Count the rows with the same summary and number as an earlier row."""
    counts = Counter((sentence.key, sentence.index) for sentence in sentences)
    return sum(count - 1 for count in counts.values())


def read_columns(path: Path | str, aliases: Mapping[str, str]) -> list[Row]:
    """Return the rows of a table, with column names in lower case and aliases resolved.

    If a row has several aliases of a column, the first one counts.
    """
    rows = []
    for row in read_table(path):
        fields: dict[str, Any] = {}
        for header, value in row.fields.items():
            name = header.strip().casefold()
            fields.setdefault(aliases.get(name, name), value)
        rows.append(Row(row.where, fields))
    return rows


def _sentence(row: Row, dataset: str, split: str) -> AnnotatedSentence:
    label = row.text("sent_label").strip().casefold()
    if label not in _LABELS:
        raise invalid_field(row, "sent_label", "yes (consistent) or no")
    names = [filled_text(row, name).strip() for name in ("doc_id", "topic", "model_name")]
    return AnnotatedSentence(
        SummaryKey(dataset, *names),
        sentence_index(row),
        row.text("summ_sent"),
        _LABELS[label],
        error_types(row.text("type", "")),
        row.text("exp", ""),
        split,
        row.where,
    )


def sentence_index(row: Row) -> int:
    """Return the sentence number of a row."""
    index = row.fields.get("sent_idx")
    text = str(index).strip().removesuffix(".0")  # as written by pandas
    if type(index) not in (int, str) or not re.fullmatch("[0-9]{1,6}", text):
        raise invalid_field(row, "sent_idx", "a sentence number")
    return int(text)


_NUMBER = re.compile(r"\s*\(?\d{1,3}[.):](?:\s+|(?=[^\W\d]))")
_MAX_CELL = 2**20
_CATEGORY = "_topic_category"


class KeyPoints(NamedTuple):
    """Key points that a complete summary of a document on a topic contains; can be empty."""

    dataset: str
    doc_id: str
    topic: str
    points: tuple[str, ...]
    where: str


def read_categories(paths: Iterable[Path | str]) -> dict[str, dict[str, str]]:
    """Read the categories of topics, ``main`` or ``marginal``: dataset to topic to category.

    The dataset is the file name up to ``_topic_category``. A file with another name applies to all
    datasets, and its key is ``""``.
    """
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        value, name = read_json(path)
        dataset = _dataset(path, _CATEGORY) if _CATEGORY in PurePath(path).stem.casefold() else ""
        for topic, category in as_row(value, name).fields.items():
            if not isinstance(category, str) or not category.strip():
                raise InputError(
                    f"The category of {shown(topic)} must be a name such as main or marginal, got {describe(category)}.",
                    where=name,
                )
            found.setdefault(dataset, {})[topic.strip()] = category.strip().casefold()
    return found


def read_key_points(paths: Iterable[Path | str]) -> list[KeyPoints]:
    """Read key points from CSV files with the columns ``doc_id``, ``topic`` and ``key_points``.

    A cell is empty or a list of strings in Python or JSON syntax. The dataset is the file name up
    to ``_completeness``.
    """
    found = []
    for path in paths:
        dataset = _dataset(path, "_completeness")
        for row in read_columns(path, {"meeting_id": "doc_id"}):
            points = key_points_of(row.text("key_points"), row.where)
            own = row.text("dataset", "").strip() or dataset
            doc_id, topic = row.text("doc_id").strip(), row.text("topic").strip()
            found.append(KeyPoints(own, doc_id, topic, points, row.where))
    return found


def read_documents(paths: Iterable[Path | str]) -> dict[str, str]:
    """Read documents from CSV files or JSON lines, by id."""
    found: dict[str, str] = {}
    aliases = {"meeting_id": "doc_id", "id": "doc_id", "text": "source", "document": "source"}
    for path in paths:
        for row in read_columns(path, aliases):
            doc_id, text = row.text("doc_id"), row.text("source")
            if not doc_id.strip() or not text.strip():
                message = f"The document {shown(doc_id)} has no id or no text."
                raise InputError(message, where=row.where)
            if found.setdefault(doc_id.strip(), text) != text:
                message = f"The document {shown(doc_id)} already exists with a different text."
                raise InputError(message, where=row.where)
    return found


def key_points_of(cell: str, where: str) -> tuple[str, ...]:
    """Parse a cell of key points; see `read_key_points`."""
    if not cell.strip():
        return ()
    value: object = None
    if len(cell) <= _MAX_CELL:
        for parse in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                value = value or parse(cell)
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise InputError(
            f"must be a list of strings such as ['1. It was late.'], got {shown(cell)}.",
            field="key_points",
            where=where,
        )
    points = (_NUMBER.sub("", point, count=1).strip() for point in value)
    return tuple(point for point in points if point)


def _dataset(path: Path | str, ending: str) -> str:
    return PurePath(path).stem.casefold().partition(ending)[0]
