"""Q² (Honovich et al. 2021): is a response consistent with the knowledge it was given?

Inputs are files that `semqa.attribution.q2.reading` reads: one response per row, or one per system
in columns ``<system>_response``. Existing labels are not shown; in a gold file they are the
expected answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from semqa.attribution.q2.meta import annotation_counts
from semqa.attribution.q2.reading import read_responses
from semqa.attribution.q2.responses import Response
from semqa.attribution.records import read_table
from semqa.data.csv_rows import CsvFile
from semqa.errors import InputError
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
    span_question,
    spans_of,
    text_part,
)
from semqa.studies.tables import LabelledTables, column, row_ids

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


class Q2(LabelledTables):
    """Rating of responses as consistent or inconsistent with their knowledge."""

    name = "q2"
    title = "Is the response consistent with the knowledge?"
    question = "consistent"
    columns = ("id", "system", "topic", "message", "response", "knowledge", "label")

    def key(self, item: Item) -> tuple[str, ...]:
        return str(item.data["file"]), item.item, item.system

    def stages(self, item: Item, design: str) -> tuple[Stage, ...]:
        response, knowledge = str(item.data["response"]), str(item.data["knowledge"])
        labels = {"topic": "Topic", "message": "Previous message"}
        before = [
            text_part(label, str(item.data[name]))
            for name, label in labels.items()
            if name in item.data
        ]
        parts: tuple[Part, ...] = (
            *before,
            {**text_part("Response", response), "id": "response", "words": True, "main": True},
            {**text_part("Knowledge", knowledge), "id": "knowledge", "words": True},
        )
        wrong = (("consistent", (False,)),)
        asked = (
            _CONSISTENT,
            span_question(
                "claims", "Mark the wrong words in the response", "response", response, wrong
            ),
            span_question(
                "evidence",
                "Mark what the knowledge says instead, if anything",
                "knowledge",
                knowledge,
                wrong,
                required=False,
            ),
            Question("remark", "Remark (optional)", "text", required=False),
        )
        return (Stage("Compare the response with the knowledge", parts, asked),)

    def read(self, inputs: Sequence[Input], design: str) -> list[Item]:
        return [item for given in inputs for item in _items(given)]

    def rows(self, study: Study, rated: Rated) -> Iterable[Mapping[str, Any]]:
        data, values = rated.item.data, rated.values
        row = {
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
        return [row]

    def labels(
        self, name: str, file: CsvFile, verdicts: Mapping[tuple[str, ...], bool | None]
    ) -> Mapping[int, Mapping[str, str]]:
        several = column(file, "response") is None
        ids = map(str, range(len(file.records))) if several else row_ids(file, 0)
        rows = {own: row for row, own in enumerate(ids)}
        found: dict[int, dict[str, str]] = {}
        for (of, own, system), verdict in verdicts.items():
            if of == name:
                label = f"{system}_label" if several else "label"
                found.setdefault(rows[own], {})[label] = _cell(verdict)
        return found

    def cells(self, item: Item, label: bool | None, *, several: bool) -> Mapping[str, Any]:
        key = "/".join(filter(None, self.key(item)))
        return {**item.data, "id": key, "system": item.system, "label": _cell(label)}

    def report(self, studies: Studies) -> Figures:
        """Return the share of consistent responses by system, agreement, and adjudication."""
        found = labels_report(
            studies,
            lambda values: "consistent" if values["consistent"] else "inconsistent",
            ("consistent", "inconsistent"),
            words=lambda item: len(f"{item.data['response']} {item.data['knowledge']}".split()),
        )
        judged = [
            _response(study, item, verdicts)
            for study, ratings in studies
            for verdicts in [self.verdicts(ratings)]
            for item in study.items
        ]
        record = {**found.record, "contexts": annotation_counts(judged)}
        return Figures(record, found.tables, found.notes)


def _items(given: Input) -> Iterator[Item]:
    try:
        file = read_responses(given.path)
    except InputError as error:
        error.hint = None  # names an option of another command
        raise
    if file.kind in ("steps", "ratings"):
        raise InputError("This file has no responses to rate.", where=file.name)
    rows = list(read_table(given.path))
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
        if given.gold and response.inconsistent is None:
            raise InputError("A gold response needs a label.", where=response.where)
        expected = {"consistent": not response.inconsistent} if given.gold else None
        place = response.id if response.context is None else response.context
        yield Item(place, response.system or "", data, expected)


def _response(
    study: Study, item: Item, verdicts: Mapping[tuple[str, ...], bool | None]
) -> Response:
    verdict = verdicts.get(study.kind.key(item))
    context = f"{item.data['file']}#{item.item}"
    text, knowledge = str(item.data["response"]), str(item.data["knowledge"])
    wrong = None if verdict is None else not verdict
    return Response(context, text, knowledge, wrong, item.system or None, context)


def _cell(verdict: bool | None) -> str:
    """Return a label in the released encoding, in which 1 means inconsistent."""
    return "" if verdict is None else str(int(not verdict))
