"""Read and write files of examples: CSV, TSV, JSON or JSON lines.

The columns are those of the released files: ``query``, ``answer``, ``reference``, ``label`` and
optionally ``id`` and ``domain``; others are ignored.

Source: the data sets AttrEval-GenSearch and AttrEval-Simulation on Hugging Face, osunlp/AttrScore.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from semqa.attribution.attrscore.labels import LABELS, Example, label_named
from semqa.attribution.records import read_table
from semqa.data.csv_rows import encode_record
from semqa.data.files import write_atomic
from semqa.data.jsonl import describe, encode_row
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semqa.attribution.attrscore.labels import Label
    from semqa.data.jsonl import Row


def column_of(row: Row, names: Sequence[str], what: str) -> str:
    """Return the first of several column names that a row has."""
    for name in names:
        if name in row.fields:
            return name
    present = ", ".join(map(repr, row.fields)) or "none"
    raise InputError(
        f"The {what} is missing: expected one of {', '.join(map(repr, names))}. The fields are {present}.",
        where=row.where,
    )


_MISSING = "nan"
"""An empty cell as written by pandas; the released code treats it as empty, too."""


def read_examples(path: Path | str, *, labelled: bool = False) -> list[Example]:
    """Read a file of examples with `read_table`; with `labelled`, each must have a label."""
    examples = []
    places: dict[str, str] = {}
    for number, row in enumerate(read_table(path), start=1):
        example = _example(row, number, labelled)
        if example.id in places:
            raise InputError(
                f"The id {example.id!r} is already used at {places[example.id]}.", where=row.where
            )
        places[example.id] = row.where
        examples.append(example)
    if not examples:
        raise InputError("The file has no examples.", where=str(path))
    return examples


def _example(row: Row, number: int, labelled: bool) -> Example:
    query = row.text("query", "")
    answer, reference = row.text("answer"), row.text("reference")
    for name, text in (("answer", answer), ("reference", reference)):
        if not text.strip():
            raise InputError("is empty.", field=name, where=row.where)
    key, how = row.fields.get("id"), row.fields.get("how")
    if key in (None, ""):
        key = number
    elif type(key) is not int:
        key = row.text("id")
    if isinstance(how, str):
        try:
            how = json.loads(how)
        except ValueError:
            how = {"note": how} if how else {}
    return Example(
        id=str(key),
        query="" if query.strip().lower() == _MISSING else query,
        answer=answer,
        reference=reference,
        label=_label(row, labelled),
        how=how if isinstance(how, dict) else {},
        where=row.where,
        domain=row.text("domain", "").strip(),
    )


def _label(row: Row, labelled: bool) -> Label | None:
    given = row.fields.get("label")
    if given in (None, "") and not labelled:
        return None
    found = label_named(given) if isinstance(given, str) else None
    if found is None:
        what = "no field 'label'" if "label" not in row.fields else describe(given)
        raise InputError(
            f"must be one of {', '.join(LABELS)}, got {what}.",
            field="label",
            where=row.where,
            hint="To convert labels of other data sets, use semqa eval attrscore map.",
        )
    return found


def write_examples(path: Path | str, examples: Sequence[Example]) -> None:
    """Write examples atomically: as CSV if the suffix is ``.csv``, otherwise as JSON lines."""
    path = Path(path)
    if path.suffix.lower() != ".csv":
        write_atomic(path, (encode_row(example.to_dict()) for example in examples))
        return
    rows = [("query", "answer", "reference", "label", "id", "how")]
    for each in examples:
        how = json.dumps(dict(each.how), ensure_ascii=False) if each.how else ""
        rows.append((each.query, each.answer, each.reference, each.label or "", each.id, how))
    write_atomic(path, (encode_record(row).encode("utf-8") for row in rows))
