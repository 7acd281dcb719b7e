"""Annotated sentences of summaries, as TofuEval releases them, and in any file with its columns.

Columns: ``doc_id``, ``topic``, ``model_name``, ``sent_idx``, ``summ_sent``, ``sent_label`` (``yes`` is
consistent) and, where there are any, ``exp``, ``type``, ``dataset`` and ``split``. Without the last two,
a file named ``{dataset}_factual_eval_{split}.csv`` says which it is; of another name, the whole stem
is the dataset.

Source: github.com/amazon-science/tofueval. One row of the release is there twice; it counts twice,
as in the release's own number of sentences.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from semqa.attribution.tofueval.taxonomy import error_types
from semqa.data.csv_rows import read_csv
from semqa.data.jsonl import shown
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from semqa.data.csv_rows import CsvFile

__all__ = [
    "EXTRA_MODEL",
    "AnnotatedSentence",
    "SummaryKey",
    "by_summary",
    "doubled",
    "find_columns",
    "name_of",
    "read_annotations",
]

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


@dataclass(frozen=True, slots=True)
class AnnotatedSentence:
    """One sentence of a summary with what annotators said of it.

    Attributes:
        key: the summary that it stands in.
        index: its number there, from 1; a summary may lack some.
        text: the sentence.
        inconsistent: whether annotators found it at odds with the document.
        errors: the types of its errors.
        explanation: what is wrong, in an annotator's words.
        split: ``dev`` or ``test``; empty where nothing says.
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


def read_annotations(
    paths: Iterable[Path | str], splits: Mapping[str, Mapping[str, str]] | None = None
) -> list[AnnotatedSentence]:
    """Read annotated sentences from CSV files.

    Args:
        paths: the files; ``-`` is standard input.
        splits: dataset to document to split, where the names of the files do not say.

    Raises:
        InputError: a file or row is not usable; the message names file and line.
    """
    found = []
    for path in paths:
        file = read_csv(path)
        dataset, split = name_of(path)
        columns = find_columns(file, _REQUIRED, _ALIASES)
        for record in file.records:
            row = {name: record.cells[at] for name, at in columns.items()}
            of = row.get("dataset", "").strip() or dataset
            said = row.get("split", "").strip() or split
            if splits is not None:
                said = splits.get(of, {}).get(row["doc_id"].strip(), said)
            found.append(_sentence(row, of, said, record.where))
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


def name_of(path: Path | str) -> tuple[str, str]:
    """Return dataset and split as a file's name says them, in lower case.

    Example:
        >>> name_of("x/mediasum_factual_eval_dev.csv"), name_of("my.csv")
        (('mediasum', 'dev'), ('my', ''))
    """
    stem = PurePath(path).stem.casefold()
    match = _NAMED.match(stem)
    if match is None:
        return stem, ""
    return match["dataset"], match["split"] or ""


def find_columns(
    file: CsvFile, required: Sequence[str], aliases: Mapping[str, str]
) -> dict[str, int]:
    """Return where each column stands, by its name without blanks and in lower case.

    Args:
        file: the file.
        required: names that must be there.
        aliases: other names for columns.

    Raises:
        InputError: a column is missing or there twice.
    """
    columns: dict[str, int] = {}
    for place, header in enumerate(file.header):
        name = header.strip().casefold()
        name = aliases.get(name, name)
        if name in columns:
            raise InputError(
                f"{file.name}:1: doubled column: got {shown(header)} twice, expected each once; "
                "drop or rename one"
            )
        columns[name] = place
    missing = [name for name in required if name not in columns]
    if missing:
        raise InputError(
            f"{file.name}:1: missing column: got {', '.join(map(shown, file.header))}, expected "
            f"{', '.join(required)}; add {', '.join(missing)}"
        )
    return columns


def _sentence(row: Mapping[str, str], dataset: str, split: str, where: str) -> AnnotatedSentence:
    label = row["sent_label"].strip().casefold()
    if label not in _LABELS:
        raise InputError(
            f"{where}: not a label: got {shown(row['sent_label'])} in the column 'sent_label', "
            "expected yes (consistent) or no; correct it"
        )
    for name in ("doc_id", "topic", "model_name"):
        if not row[name].strip():
            raise InputError(
                f"{where}: empty column {name!r}: got {shown(row[name])}, expected some text; "
                "fill it in"
            )
    index = row["sent_idx"].strip().removesuffix(".0")  # as tables of numbers write it
    if not (index.isascii() and index.isdigit() and len(index) <= 6):
        raise InputError(
            f"{where}: not a number: got {shown(row['sent_idx'])} in the column 'sent_idx', "
            "expected the sentence's number; correct it"
        )
    return AnnotatedSentence(
        SummaryKey(dataset, row["doc_id"].strip(), row["topic"].strip(), row["model_name"].strip()),
        int(index),
        row["summ_sent"],
        _LABELS[label],
        error_types(row.get("type", "")),
        row.get("exp", ""),
        split,
        where,
    )
