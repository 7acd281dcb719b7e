"""The released files of TofuEval: annotated sentences, types of errors, topics, key points, splits.

Annotated sentences have the columns ``doc_id``, ``topic``, ``model_name``, ``sent_idx``, ``summ_sent``,
``sent_label`` (``yes`` is consistent) and perhaps ``exp``, ``type``, ``dataset`` and ``split``. Without the
last two, a file named ``{dataset}_factual_eval_{split}.csv`` says which it is; of another name, the whole
stem is the dataset. Documents are not part of the release: they come from MediaSum and MeetingBank, as CSV
files with the columns ``doc_id`` (or ``meeting_id``) and ``source``, or as JSON lines with these fields.

Source: github.com/amazon-science/tofueval; Tang et al. 2024, section 6 and appendix, for names and
distinctions of errors, in our wording. One row of the release is there twice; it counts twice, as in the
release's own number of sentences.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from semqa.attribution.records import must_be
from semqa.data.csv_rows import read_csv
from semqa.data.files import ByteBudget, decode_text, open_input
from semqa.data.jsonl import Row, decode_json, describe, read_rows, shown
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


class ErrorType(NamedTuple):
    """A type of error: its released name, and what such a sentence does ("The sentence …")."""

    name: str
    definition: str


ERROR_TYPES = (
    ErrorType(
        "Extrinsic Information",
        "tells something that the document does not mention at all, whether true or false",
    ),
    ErrorType(
        "Mis-Referencing",
        "takes a property, a statement or an event from the document and gives it to the wrong "
        "person or thing",
    ),
    ErrorType(
        "Stating Opinion as Fact",
        "gives as plain fact what the document gives as somebody's view, claim or guess",
    ),
    ErrorType(
        "Reasoning Error",
        "draws a conclusion (a cause, a sum, a comparison, a general rule) that the document does "
        "not bear out",
    ),
    ErrorType(
        "Tense/Modality Error",
        "changes when something happens or how certain, possible or required it is",
    ),
    ErrorType(
        "Contradiction",
        "says the opposite of what the document says",
    ),
    ErrorType(
        "Nuanced Meaning Shift",
        "keeps close to the words of the document but turns their meaning a little: in degree, "
        "scope or emphasis",
    ),
)
"""The seven types, the most frequent first but for the last."""

_LETTERS = re.compile(r"[^a-z]+")
_MARKS = re.compile(r"[,;|\n]+")
_NONE = ("", "-", "na", "n/a", "nan", "none")


def error_types(cell: str) -> tuple[str, ...]:
    """Parse the types of a sentence, separated by commas; unknown names are kept as they are.

    Example:
        >>> error_types("Mis-referencing, stating opinion as fact , Odd")
        ('Mis-Referencing', 'Stating Opinion as Fact', 'Odd')
    """
    parts = (part.strip() for part in _MARKS.split(cell))
    named = (part for part in parts if part.casefold() not in _NONE)
    return tuple(dict.fromkeys(_KNOWN.get(_plain(part), part) for part in named))


def _plain(name: str) -> str:
    return _LETTERS.sub("", name.casefold()).removesuffix("error")


_KNOWN = {_plain(error.name): error.name for error in ERROR_TYPES}
_KNOWN["extrinsicinfo"] = _KNOWN["extrinsicinformation"]  # as the paper's tables have it


EXTRA_MODEL = "Model-Extra"
"""The model that the release has beyond the paper's five."""

_NAMED = re.compile(r"(?P<dataset>.+?)_(?:factual_eval|factual_consistency)(?:_(?P<split>\w+))?$")
_REQUIRED = ("doc_id", "topic", "model_name", "sent_idx", "summ_sent", "sent_label")
_ALIASES = {"meeting_id": "doc_id", "model": "model_name", "sentence": "summ_sent"}
_LABELS = {"yes": False, "no": True}


class SummaryKey(NamedTuple):
    """What names a summary."""

    dataset: str
    doc_id: str
    topic: str
    model: str

    def to_dict(self) -> dict[str, str]:
        """Return it with the released names of columns."""
        return dict(zip(("dataset", "doc_id", "topic", "model_name"), self, strict=True))


@dataclass(frozen=True, slots=True)
class AnnotatedSentence:
    """One annotated sentence of a summary.

    Attributes:
        key: its summary.
        index: its number there, from 1; a summary may lack some.
        text: the sentence.
        inconsistent: whether annotators found it at odds with the document.
        errors: the types of its errors.
        explanation: what is wrong, in an annotator's words.
        split: ``dev`` or ``test``; empty if nothing says.
        where: ``file:line``.
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
    """Read annotated sentences from CSV files; ``-`` is standard input."""
    found = []
    for path in paths:
        stem = PurePath(path).stem.casefold()
        named = _NAMED.match(stem)
        dataset, split = (named["dataset"], named["split"] or "") if named else (stem, "")
        for row in _table(path, _REQUIRED, _ALIASES):
            own = (row.text("dataset", "").strip(), row.text("split", "").strip())
            found.append(_sentence(row, own[0] or dataset, own[1] or split))
    return found


def by_summary(
    sentences: Iterable[AnnotatedSentence],
) -> dict[tuple[str, SummaryKey], list[AnnotatedSentence]]:
    """Gather sentences by split and summary, in the order of the files."""
    found: dict[tuple[str, SummaryKey], list[AnnotatedSentence]] = {}
    for sentence in sentences:
        found.setdefault((sentence.split, sentence.key), []).append(sentence)
    return found


def doubled(sentences: Sequence[AnnotatedSentence]) -> int:
    """Count the rows that repeat another row's summary and number."""
    counts = Counter((sentence.key, sentence.index) for sentence in sentences)
    return sum(count - 1 for count in counts.values())


def _table(path: Path | str, required: Sequence[str], aliases: Mapping[str, str]) -> Iterator[Row]:
    """Yield the rows of a CSV file by the names of columns in lower case, or what these stand for."""
    file = read_csv(path)
    columns: dict[str, int] = {}
    for place, header in enumerate(file.header):
        name = header.strip().casefold()
        name = aliases.get(name, name)
        if name in columns:
            raise InputError(f"The column {shown(header)} is there twice.", where=f"{file.name}:1")
        columns[name] = place
    missing = [name for name in required if name not in columns]
    if missing:
        raise InputError(
            f"The columns {', '.join(missing)} are missing among {', '.join(map(shown, file.header))}.",
            where=f"{file.name}:1",
        )
    for record in file.records:
        yield Row(record.where, {name: record.cells[place] for name, place in columns.items()})


def _sentence(row: Row, dataset: str, split: str) -> AnnotatedSentence:
    label = row.text("sent_label").strip().casefold()
    if label not in _LABELS:
        raise must_be(row, "sent_label", "yes (consistent) or no")
    names = [row.text(name).strip() for name in ("doc_id", "topic", "model_name")]
    for name, value in zip(("doc_id", "topic", "model_name"), names, strict=True):
        if not value:
            raise InputError("is empty.", field=name, where=row.where)
    index = row.text("sent_idx").strip().removesuffix(".0")  # as tables of numbers write it
    if not (index.isascii() and index.isdigit() and len(index) <= 6):
        raise must_be(row, "sent_idx", "the number of the sentence")
    return AnnotatedSentence(
        SummaryKey(dataset, *names),
        int(index),
        row.text("summ_sent"),
        _LABELS[label],
        error_types(row.text("type", "")),
        row.text("exp", ""),
        split,
        row.where,
    )


_NUMBER = re.compile(r"\s*\(?\d{1,3}[.):](?:\s+|(?=[^\W\d]))")
_LONGEST_CELL = 2**20
_CATEGORY = "_topic_category"


class KeyPoints(NamedTuple):
    """What a complete summary of a document on a topic would say; perhaps no point at all."""

    dataset: str
    doc_id: str
    topic: str
    points: tuple[str, ...]
    where: str


def read_categories(paths: Iterable[Path | str]) -> dict[str, dict[str, str]]:
    """Read which topics are ``main`` and which ``marginal``: dataset to topic to category.

    The dataset is the file's name up to ``_topic_category``; a file of another name is for all
    datasets, and stands at ``""``.
    """
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        name, value = _read_object(path)
        dataset = _dataset(path, _CATEGORY) if _CATEGORY in PurePath(path).stem.casefold() else ""
        for topic, category in value.items():
            if not isinstance(category, str) or not category.strip():
                raise InputError(
                    f"{shown(topic)} has {describe(category)} as its category, not a name such as main or marginal.",
                    where=name,
                )
            found.setdefault(dataset, {})[topic.strip()] = category.strip().casefold()
    return found


def read_key_points(paths: Iterable[Path | str]) -> list[KeyPoints]:
    """Read key points: CSV files with the columns ``doc_id``, ``topic`` and ``key_points``.

    A cell is a list of strings in Python or JSON, or empty. The dataset is the file's name up to
    ``_completeness``.
    """
    found = []
    for path in paths:
        dataset = _dataset(path, "_completeness")
        for row in _table(path, ("doc_id", "topic", "key_points"), {"meeting_id": "doc_id"}):
            points = key_points_of(row.text("key_points"), row.where)
            of = row.text("dataset", "").strip() or dataset
            doc_id, topic = row.text("doc_id").strip(), row.text("topic").strip()
            found.append(KeyPoints(of, doc_id, topic, points, row.where))
    return found


def read_documents(paths: Iterable[Path | str]) -> dict[str, str]:
    """Read documents by their id, from CSV files or JSON lines."""
    found: dict[str, str] = {}
    aliases = {"meeting_id": "doc_id", "id": "doc_id", "text": "source", "document": "source"}
    for path in paths:
        table = PurePath(path).suffix.lower() == ".csv"
        rows = _table(path, ("doc_id", "source"), aliases) if table else read_rows(path)
        for row in rows:
            # Of several names for one thing the first counts.
            named = {aliases.get(name, name): value for name, value in reversed(row.fields.items())}
            doc_id, text = (Row(row.where, named).text(name) for name in ("doc_id", "source"))
            if not doc_id.strip() or not text.strip():
                raise InputError(
                    f"The document {shown(doc_id)} lacks an id or a text.", where=row.where
                )
            if found.setdefault(doc_id.strip(), text) != text:
                raise InputError(
                    f"The document {shown(doc_id)} is there already, with another text.",
                    where=row.where,
                )
    return found


def key_points_of(cell: str, where: str) -> tuple[str, ...]:
    """Parse a cell of key points; see `read_key_points`."""
    if not cell.strip():
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
            f"must be a list of strings such as ['1. It was late.'], got {shown(cell)}.",
            field="key_points",
            where=where,
        )
    points = (_NUMBER.sub("", point, count=1).strip() for point in value)
    return tuple(point for point in points if point)


def _read_object(path: Path | str) -> tuple[str, dict[str, object]]:
    with open_input(path, ByteBudget()) as file:
        value = decode_json(decode_text(file.read_all(), file.name), file.name)
    if not isinstance(value, dict):
        raise InputError(f"Not a JSON object: {describe(value)}.", where=file.name)
    return file.name, value


def _dataset(path: Path | str, ending: str) -> str:
    return PurePath(path).stem.casefold().partition(ending)[0]
