"""Outputs with gold labels, and the record of a run: settings, examples, outputs and scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from semqa.attribution.attrscore.files import column_of, read_table
from semqa.attribution.attrscore.judging import Judged
from semqa.attribution.attrscore.labels import (
    DEFAULT_FAMILY,
    LABELS,
    Example,
    label_named,
    official_label,
    parse_label,
)
from semqa.attribution.attrscore.scores import official_scores, score_by_domain, score_labels
from semqa.attribution.records import kind_of, read_record
from semqa.data.jsonl import Row, describe
from semqa.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


_OUTPUT = ("output", "Prediction", "prediction", "response")
_LABEL = ("label", "Label", "gold")


def read_outputs(path: Path | str) -> tuple[tuple[Judged, ...], str | None]:
    """Read outputs with gold labels from a table or from the record of a run.

    In CSV, TSV, JSON lines or a JSON array, the output is in ``output``, ``prediction`` or
    ``response``, and the label in ``label`` or ``gold``. The released code's ``predictions.json``
    has this format.

    Returns:
        The parsed outputs, and the prompt family if the file is a record.
    """
    if kind_of(path) is None:
        rows = enumerate(read_table(path), start=1)
        return tuple(_judged_output(row, number) for number, row in rows), None
    record = read_record(path, KIND)
    family = Row(record.name, record.fields).text("family")
    return tuple(map(_judged_row, record.rows)), family


def _judged_output(row: Row, number: int) -> Judged:
    given = row.text(column_of(row, _LABEL, "gold label"))
    output = row.text(column_of(row, _OUTPUT, "output"))
    example = _example(row, str(row.fields.get("id") or number), given)
    return Judged(example, parse_label(output), output=output)


def _judged_row(row: Row) -> Judged:
    given = row.fields.get("label")
    example = _example(row, row.text("id"), None if given is None else row.text("label"))
    if row.fields.get("too_long"):
        return Judged(example, None, too_long=True)
    if "output" not in row.fields:
        message = "There is no output to parse, because the run used entailment."
        raise InputError(message, where=row.where)
    return Judged(example, parse_label(row.text("output")), row.text("output"))


def _example(row: Row, key: str, given: str | None) -> Example:
    label = None if given is None else label_named(given)
    if given is not None and label is None:
        rule = f"must be one of {', '.join(LABELS)}, got {describe(given)}."
        raise InputError(rule, field="label", where=row.where)
    query, answer, reference = (row.text(name, "") for name in ("query", "answer", "reference"))
    domain = row.text("domain", "").strip()
    return Example(key, query, answer, reference, label, where=row.where, domain=domain)


KIND = "semqa-attrscore"

_NO_LABELS = "no example has a gold label"


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The record of a run; `settings` has judge, way, prompt, data and versions, JSON-ready."""

    settings: Mapping[str, Any]
    judged: tuple[Judged, ...]
    family: str = DEFAULT_FAMILY
    resamples: int = 1_000
    seed: int = 0

    def scores(self) -> dict[str, Any]:
        """Score the labelled examples, overall and by domain.

        ``unlabelled`` is the number of other examples.
        """
        rows = [
            (each.example.domain, each.example.label, each.label)
            for each in self.judged
            if each.example.label
        ]
        scores = score_labels(
            [gold for _, gold, _ in rows],
            [label for _, _, label in rows],
            resamples=self.resamples,
            seed=self.seed,
        )
        if not rows:
            scores["unscored"] = dict.fromkeys(scores["unscored"], _NO_LABELS)
        domains = score_by_domain(rows, resamples=self.resamples, seed=self.seed)
        return {**scores, "domains": domains, "unlabelled": len(self.judged) - len(rows)}

    @property
    def too_long(self) -> int:
        """Number of examples that are too long for the judge."""
        return sum(each.too_long for each in self.judged)

    def official(self) -> dict[str, Any] | None:
        """Score outputs like the released code; None without labelled outputs.

        NaN becomes None and is listed in ``nan``.
        """
        pairs = [
            (each.example.label, official_label(each.output, self.family))
            for each in self.judged
            if each.output is not None and each.example.label is not None
        ]
        if not pairs:
            return None
        scores = official_scores([gold for gold, _ in pairs], [label for _, label in pairs])
        values = {"micro_f1": scores.micro_f1, "macro_f1": scores.macro_f1}
        for name in ("f1", "precision", "recall"):
            figures = zip(LABELS, getattr(scores, name), strict=True)
            values |= {f"{name} {label}": value for label, value in figures}
        return {
            **{name: None if math.isnan(value) else value for name, value in values.items()},
            "nan": [name for name, value in values.items() if math.isnan(value)],
            "unparsed": sum(label is None for _, label in pairs),
            "confusion": [list(row) for row in scores.confusion],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-ready record."""
        official = self.official()
        return {
            "kind": KIND,
            **self.settings,
            "family": self.family,
            "resamples": self.resamples,
            "seed": self.seed,
            "scores": self.scores(),
            **({} if official is None else {"official": official}),
            **({"too_long": self.too_long} if self.too_long else {}),
            "rows": [_row(each) for each in self.judged],
        }


def _row(judged: Judged) -> dict[str, object]:
    row = judged.example.to_dict() | {"predicted": judged.label}
    if judged.too_long:
        row["too_long"] = True
    if judged.output is not None:
        row["output"] = judged.output
    if judged.entailment is not None:
        row["entailment"] = judged.entailment._asdict()
    return row
