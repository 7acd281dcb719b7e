"""Q² (Honovich et al. 2021): is a response consistent with the knowledge it was given?

Inputs are files that `semqa.attribution.q2.reading` reads: one response per row, or one per system
in columns ``<system>_response``. Existing labels are not shown; in a gold file they are the
expected answers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from semqa.attribution.q2.reading import class_from_name, read_responses
from semqa.attribution.q2.responses import Response
from semqa.attribution.records import read_table
from semqa.data.csv_rows import encode_csv
from semqa.errors import InputError
from semqa.studies.kind import Figures, Item, Option, Question, Stage, spans_of, text_part
from semqa.studies.tables import (
    Entry,
    LabelledTables,
    column,
    read_kept,
    row_ids,
    with_cells,
    with_columns,
    with_records,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from semqa.data.csv_rows import CsvFile, CsvRecord
    from semqa.data.jsonl import Row
    from semqa.studies.kind import Input, Part, Rated, Study

_CONSISTENT = Question(
    "consistent",
    "Does the knowledge support every claim of the response?",
    "choice",
    (
        Option(
            True, "Consistent", "The knowledge supports it, or it makes no claim about the world."
        ),
        Option(False, "Inconsistent", "A claim is missing from the knowledge or contradicts it."),
    ),
)
_WRONG = (("consistent", (False,)),)
_HOW = "Drag over the words, or click the first and the last one."


class Q2(LabelledTables):
    """Rating of responses as consistent or inconsistent with their knowledge."""

    name = "q2"
    title = "Is the response consistent with the knowledge?"
    question = "consistent"
    texts = ("response", "knowledge")
    plain = ("id", "system", "topic", "message", "response", "knowledge", "label")

    def key(self, item: Item) -> tuple[str, ...]:
        return str(item.data["file"]), item.item, item.system

    def stages(self, item: Item, design: str) -> tuple[Stage, ...]:
        del design
        response, knowledge = str(item.data["response"]), str(item.data["knowledge"])
        before = [text_part(*each) for each in _before(item)]
        parts: tuple[Part, ...] = (
            *before,
            {**text_part("Response", response), "id": "response", "words": True, "main": True},
            {**text_part("Knowledge", knowledge), "id": "knowledge", "words": True},
        )
        asked = (
            _CONSISTENT,
            Question(
                "claims",
                "Mark the wrong words in the response",
                "spans",
                when=_WRONG,
                hint=_HOW,
                part="response",
                length=len(response),
            ),
            Question(
                "evidence",
                "Mark what the knowledge says instead, if anything",
                "spans",
                when=_WRONG,
                required=False,
                hint=_HOW,
                part="knowledge",
                length=len(knowledge),
            ),
            Question("remark", "Remark (optional)", "text", required=False),
        )
        return (Stage("Compare the response with the knowledge", parts, asked),)

    def entries(self, given: Input) -> list[Entry]:
        try:
            file = read_responses(given.path)
        except InputError as error:
            error.hint = None  # names an option of another command
            raise
        if file.kind in ("steps", "ratings"):
            raise InputError("This file has no responses to rate.", where=file.name)
        rows = list(read_table(given.path))
        found = []
        for number, response in enumerate(file.responses):
            # A table of several systems has one row per context.
            row = rows[number if response.context is None else int(response.context)].fields
            data: dict[str, Any] = {
                "file": given.path.name,
                "response": response.text,
                "knowledge": response.knowledge,
            }
            for name in ("topic", "message"):
                if isinstance(value := row.get(name), str) and value.strip():
                    data[name] = value
            label = None if response.inconsistent is None else not response.inconsistent
            if given.gold and label is None:
                raise InputError("A gold response needs a label.", where=response.where)
            expected = {"consistent": label} if given.gold else None
            place = response.id if response.context is None else response.context
            item = Item(place, response.system or "", data, expected)
            found.append(Entry(item, label, response.where))
        return found

    def row_key(self, row: Row) -> tuple[str, ...]:
        return row.text("file"), row.text("context"), row.text("system")

    def row_values(self, row: Row) -> Mapping[str, Any]:
        return {
            **row.fields,
            "consistent": {"0": True, "1": False}.get(str(row.fields.get("label"))),
        }

    def row(self, rated: Rated) -> dict[str, Any]:
        data, values = rated.item.data, rated.values
        return {
            "file": data["file"],
            "context": rated.item.item,
            "system": rated.item.system,
            "response": data["response"],
            "knowledge": data["knowledge"],
            "label": int(not values["consistent"]),
            "rater": rated.rater,
            "claims": spans_of(values.get("claims"), str(data["response"])),
            "evidence": spans_of(values.get("evidence"), str(data["knowledge"])),
            "remark": values.get("remark", ""),
            "seconds": round(rated.seconds, 1),
        }

    def labelled(
        self, name: str, file: CsvFile, verdicts: Mapping[tuple[str, ...], bool | None]
    ) -> CsvFile:
        """Return a table with the labels of rated items filled in; other labels are kept."""
        by_row = _by_row(name, file, verdicts)
        wide = with_columns(file, sorted({label for own in by_row.values() for label in own}))
        records = [
            with_cells(
                record,
                {
                    place: _cell(verdict)
                    for label, verdict in by_row.get(row, {}).items()
                    if (place := column(wide, label)) is not None
                },
            )
            for row, record in enumerate(wide.records)
        ]
        return with_records(wide, records)

    def cells(self, item: Item, label: bool | None, *, several: bool) -> Mapping[str, Any]:
        del several
        key = "/".join(filter(None, self.key(item)))
        return {**item.data, "id": key, "system": item.system, "label": _cell(label)}

    def tables(self, study: Study, ratings: Sequence[Rated]) -> dict[str, Iterable[bytes]]:
        """Return the input tables with labels.

        The name of a table without labels may state the class of its responses. Responses that the
        raters put into the other class move to the end of the table with the opposite name.
        """
        verdicts = self.verdicts(ratings)
        found: dict[str, Iterable[bytes]] = {}
        classes: dict[str, tuple[CsvFile, list[CsvRecord]]] = {}
        moved: list[tuple[str, CsvFile, CsvRecord]] = []
        for name, file in read_kept(study).items():
            own = class_from_name(name)
            if own is None or column(file, "response") is None or column(file, "label") is not None:
                found[name] = encode_csv(self.labelled(name, file, verdicts))
                continue
            stay: list[CsvRecord] = []
            by_row = _by_row(name, file, verdicts)
            for row, record in enumerate(file.records):
                if by_row.get(row, {}).get("label") in (None, not own):
                    stay.append(record)
                else:
                    moved.append((_other_class(name), file, record))
            classes[name] = (file, stay)
        for name, file, record in moved:
            classes.setdefault(name, (file, []))[1].append(record)
        return found | {
            name: encode_csv(with_records(file, rows)) for name, (file, rows) in classes.items()
        }

    def report(self, studies: Sequence[tuple[Study, Sequence[Rated]]]) -> Figures:
        """Return the share of consistent responses by system, agreement, and adjudication."""
        from semqa.attribution.q2.meta import Judged, annotation_counts
        from semqa.studies.analysis import labels_report

        found = labels_report(
            studies,
            lambda values: "consistent" if values["consistent"] else "inconsistent",
            ("consistent", "inconsistent"),
            words=lambda item: len(f"{item.data['response']} {item.data['knowledge']}".split()),
        )
        judged = [
            Judged(_response(study, item, verdicts), {})
            for study, ratings in studies
            for verdicts in [self.verdicts(ratings)]
            for item in study.items
        ]
        record = {**found.record, "contexts": annotation_counts(judged)}
        return Figures(record, found.tables, found.notes)


def _before(item: Item) -> list[tuple[str, str]]:
    labels = {"topic": "Topic", "message": "Previous message"}
    return [(label, str(item.data[name])) for name, label in labels.items() if name in item.data]


def _response(
    study: Study, item: Item, verdicts: Mapping[tuple[str, ...], bool | None]
) -> Response:
    verdict = verdicts.get(study.kind.key(item))
    context = f"{item.data['file']}#{item.item}"
    text, knowledge = str(item.data["response"]), str(item.data["knowledge"])
    wrong = None if verdict is None else not verdict
    return Response(context, text, knowledge, wrong, item.system or None, context)


def _by_row(
    name: str, file: CsvFile, verdicts: Mapping[tuple[str, ...], bool | None]
) -> dict[int, dict[str, bool | None]]:
    """Return the verdicts on a table, by the number of the row and the column of the label."""
    several = column(file, "response") is None
    ids = map(str, range(len(file.records))) if several else row_ids(file, 0)
    rows = {own: row for row, own in enumerate(ids)}
    found: dict[int, dict[str, bool | None]] = {}
    for (of, own, system), verdict in verdicts.items():
        if of == name:
            label = f"{system}_label" if several else "label"
            found.setdefault(rows[own], {})[label] = verdict
    return found


def _cell(verdict: bool | None) -> str:
    """Return a label in the released encoding, in which 1 means inconsistent."""
    return "" if verdict is None else str(int(not verdict))


def _other_class(name: str) -> str:
    wrong = "inconsistent" in name.lower()
    old, new = ("inconsistent", "consistent") if wrong else ("consistent", "inconsistent")
    return re.sub(old, new, name, flags=re.IGNORECASE)
