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
from semqa.data.csv_rows import columns_of, encode_record, read_csv, table_rows
from semqa.data.files import decode_text, display_name, open_input, write_atomic
from semqa.data.jsonl import Row, as_row, decode_json, decode_row, describe, encode_row, lines_of
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from semqa.attribution.attrscore.labels import Label
    from semqa.data.files import InputFile


def read_table(path: Path | str) -> Iterator[Row]:
    """Read the rows of a file.

    The suffix selects the format: ``.csv`` or ``.tsv`` with a header, ``.json`` for an array;
    otherwise JSON lines. ``-`` is standard input, as JSON lines.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".csv":
        yield from table_rows(read_csv(path))
        return
    with open_input(path) as opened:
        if suffix == ".json":
            yield from _array(opened)
        elif suffix == ".tsv":
            yield from _tab_separated(opened)
        else:
            yield from map(decode_row, lines_of(opened))


def _tab_separated(file: InputFile) -> Iterator[Row]:
    columns: dict[str, int] = {}
    for line in lines_of(file):
        cells = decode_text(line.raw, line.where, line.offset).rstrip("\r\n").split("\t")
        if not columns:
            columns, width = columns_of(cells, file.name), len(cells)
        elif len(cells) == width:
            yield Row(line.where, {name: cells[place] for name, place in columns.items()})
        else:
            message = f"The line has {len(cells)} cells, but the header has {width}."
            raise InputError(message, where=line.where)


def _array(file: InputFile) -> Iterator[Row]:
    """Read a JSON array of objects, or JSON lines in a ``.json`` file."""
    text = decode_text(file.read_all(), file.name)
    if not text.lstrip().startswith("["):
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                where = f"{file.name}:{number}"
                yield as_row(decode_json(line, where), where)
        return
    values = decode_json(text, display_name(file.name))
    if not isinstance(values, list):
        raise InputError(f"Expected an array of objects, got {describe(values)}.", where=file.name)
    for number, value in enumerate(values, start=1):
        yield as_row(value, f"{file.name}: item {number}")


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
    return Example(
        id=_id(row, number),
        query="" if query.strip().lower() == _MISSING else query,
        answer=answer,
        reference=reference,
        label=_label(row, labelled),
        how=_how(row),
        where=row.where,
        domain=row.text("domain", "").strip(),
    )


def _id(row: Row, number: int) -> str:
    given = row.fields.get("id")
    if given is None or given == "":
        return str(number)
    return str(given) if isinstance(given, int) and not isinstance(given, bool) else row.text("id")


def _label(row: Row, labelled: bool) -> Label | None:
    given = row.fields.get("label")
    if (given is None or given == "") and not labelled:
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


def _how(row: Row) -> dict[str, object]:
    how = row.fields.get("how")
    if isinstance(how, str):
        try:
            how = json.loads(how)
        except ValueError:
            how = {"note": how} if how else {}
    return how if isinstance(how, dict) else {}


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
