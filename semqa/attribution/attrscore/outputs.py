"""Outputs of a model from anywhere, each with its gold label: rows to be parsed and scored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semqa.attribution.attrscore.example import Example
from semqa.attribution.attrscore.judging import Judged
from semqa.attribution.attrscore.label import LABELS, label_named
from semqa.attribution.attrscore.parsing import parse_label
from semqa.attribution.attrscore.table import read_table
from semqa.data.jsonl import describe
from semqa.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from semqa.data.jsonl import Row

__all__ = ["read_outputs"]

_OUTPUT = ("output", "Prediction", "prediction", "response")
_LABEL = ("label", "Label", "gold")


def read_outputs(path: Path | str) -> tuple[Judged, ...]:
    """Read rows of a gold label and an output; CSV, TSV, JSON lines or a JSON array.

    Args:
        path: the file. The output stands under ``output``, ``prediction`` or ``response``, the label
            under ``label`` or ``gold``; the released code's ``predictions.json`` is such a file.

    Raises:
        InputError: the file or a row is not usable; the message names file and line.
    """
    return tuple(_judged(row, number) for number, row in enumerate(read_table(path), start=1))


def _judged(row: Row, number: int) -> Judged:
    given = row.text(_field(row, _LABEL, "a gold label"))
    label = label_named(given)
    if label is None:
        raise InputError(
            f"{row.where}: not a label: got {describe(given)}, expected one of "
            f"{', '.join(LABELS)}; correct it"
        )
    output = row.text(_field(row, _OUTPUT, "what the model wrote"))
    example = Example(
        str(row.fields.get("id") or number),
        row.text("query", ""),
        row.text("answer", ""),
        row.text("reference", ""),
        label,
        where=row.where,
    )
    return Judged(example, parse_label(output), output=output)


def _field(row: Row, names: tuple[str, ...], what: str) -> str:
    found = next((name for name in names if name in row.fields), None)
    if found is None:
        raise InputError(
            f"{row.where}: missing {what}: got {', '.join(map(repr, row.fields)) or 'no fields'}, "
            f"expected one of {', '.join(map(repr, names))}; add it"
        )
    return found
