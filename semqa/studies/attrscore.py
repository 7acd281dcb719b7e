"""AttrScore (Yue et al. 2023): does a reference support a claim, contradict it, or say too little?

The rater chooses one of three labels, and marks the words of the reference that support or
contradict the claim.

Inputs are files with the columns of AttrScore's data sets: ``query`` (may be empty), ``answer`` and
``reference``, and optionally ``id``, ``system`` and ``domain``. An existing ``label`` is not shown;
the report compares the raters with it. In a gold file it is the expected answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from semqa.attribution.attrscore.examples import LABELS, Label, read_examples
from semqa.attribution.attrscore.scores import f1_rows, score_by_domain, score_labels
from semqa.attribution.records import read_table
from semqa.data.csv_rows import CsvFile
from semqa.studies.analysis import labels_report
from semqa.studies.kind import (
    Figures,
    Input,
    Item,
    Option,
    Part,
    Question,
    Rated,
    Stage,
    Studies,
    Study,
    Table,
    span_question,
    spans_of,
    text_part,
)
from semqa.studies.tables import LabelledTables, row_ids

_LABEL = Question(
    "label",
    "What does the reference say about the claim?",
    "choice",
    (
        Option("Attributable", "Attributable", "The reference supports the whole claim."),
        Option("Extrapolatory", "Extrapolatory", "The reference says too little to tell."),
        Option("Contradictory", "Contradictory", "The reference contradicts at least one point."),
    ),
)


class AttrScore(LabelledTables):
    """Labels of claims and references: attributable, extrapolatory or contradictory."""

    name = "attrscore"
    title = "Does the reference support the claim?"
    question = "label"
    columns = ("id", "query", "answer", "reference", "label")

    def key(self, item: Item) -> tuple[str, ...]:
        return str(item.data["file"]), item.item

    def stages(self, item: Item, design: str) -> tuple[Stage, ...]:
        data = item.data
        reference = str(data["reference"])
        claim: Part = {**text_part("Claim", str(data["answer"])), "main": True}
        parts: tuple[Part, ...] = (
            claim,
            {**text_part("Reference", reference), "id": "reference", "words": True},
        )
        if data.get("query"):
            claim["label"] = "Answer (the claim)"
            parts = (text_part("Question", str(data["query"])), *parts)
        asked = (
            _LABEL,
            span_question(
                "evidence",
                "Mark the words of the reference that decide it",
                "reference",
                reference,
                (("label", ("Attributable", "Contradictory")),),
            ),
            Question("remark", "Remark (optional)", "text", required=False),
        )
        return (Stage("Compare the claim with the reference", parts, asked),)

    def read(self, inputs: Sequence[Input], design: str) -> list[Item]:
        return [item for given in inputs for item in _items(given)]

    def rows(self, study: Study, rated: Rated) -> Iterable[Mapping[str, Any]]:
        data, values = rated.item.data, rated.values
        more = {"system": rated.item.system, "domain": _domain(rated.item)}
        row = {
            "file": data["file"],
            "id": rated.item.item,
            "query": data["query"],
            "answer": data["answer"],
            "reference": data["reference"],
            "label": values["label"],
            "evidence": spans_of(values.get("evidence"), str(data["reference"])),
            "remark": values.get("remark", ""),
            "rater": rated.rater,
            "seconds": round(rated.seconds, 1),
            **{name: value for name, value in more.items() if value},
        }
        return [row]

    def labels(
        self, name: str, file: CsvFile, verdicts: Mapping[tuple[str, ...], Label | None]
    ) -> Mapping[int, Mapping[str, str]]:
        return {
            row: {"label": verdicts[name, own] or ""}
            for row, own in enumerate(row_ids(file, 1))
            if (name, own) in verdicts
        }

    def cells(self, item: Item, label: Label | None, *, several: bool) -> Mapping[str, Any]:
        return {
            **item.data,
            "id": "/".join(self.key(item)) if several else item.item,
            "label": label or "",
        }

    def report(self, studies: Studies) -> Figures:
        """Return labels by domain and system, agreement, and scores against the files' labels."""
        label_of = itemgetter("label")
        found = labels_report(studies, label_of, LABELS, words=_words, group=_domain)
        record, tables, notes = dict(found.record), list(found.tables), list(found.notes)
        if len({item.system for study, _ in studies for item in study.ordinary_items}) > 1:
            systems = labels_report(studies, label_of, LABELS, words=_words)
            record["labels_by_system"] = systems.record["labels"]
            tables.insert(1, systems.tables[0])
        compared = [
            (item, truth, verdicts[key])
            for study, ratings in studies
            for verdicts in [self.verdicts(ratings)]
            for item in study.ordinary_items
            for key in [self.key(item)]
            if key in verdicts and (truth := item.data.get("label")) is not None
        ]
        if compared:
            scores = score_labels([truth for _, truth, _ in compared], [s for *_, s in compared])
            record["against_labels"] = scores
            record["against_labels_by_domain"] = score_by_domain(
                [(_domain(item), truth, verdict) for item, truth, verdict in compared]
            )
            tables += _score_tables(record)
        return Figures(record, tables, notes)


def _items(given: Input) -> Iterator[Item]:
    rows = read_table(given.path)
    for example, row in zip(read_examples(given.path, labelled=given.gold), rows, strict=True):
        data: dict[str, Any] = {
            "file": given.path.name,
            "query": example.query,
            "answer": example.answer,
            "reference": example.reference,
        }
        if example.label is not None:
            data["label"] = example.label
        if example.domain:
            data["domain"] = example.domain
        expected = {"label": example.label} if given.gold else None
        yield Item(example.id, row.text("system", given.name), data, expected)


def _words(item: Item) -> int:
    return len(f"{item.data['answer']} {item.data['reference']}".split())


def _domain(item: Item) -> str:
    return str(item.data.get("domain", ""))


def _score_tables(record: Mapping[str, Any]) -> list[Table]:
    scores = record["against_labels"]
    confusion = scores["confusion"]
    tables: list[Table] = [
        (
            ("label in the file", *LABELS, "undecided"),
            [
                [label, *map(str, counts)]
                for label, counts in zip(confusion["rows"], confusion["counts"], strict=True)
            ],
        ),
        (
            ("F1 against the file", "n", *LABELS, "micro", "macro"),
            f1_rows({**record["against_labels_by_domain"], "all": scores}, "–"),
        ),
    ]
    return tables
