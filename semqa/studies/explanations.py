"""Correctness of the explanations of TofuEval's evaluators (Tang et al. 2024).

An evaluator calls a sentence of a summary inconsistent and explains why. The rater says whether the
explanation names an error that the sentence has. The question is ours.

Inputs are records of `semqa eval tofueval judge --method explained` (or JSON lines with their
fields), documents, and optionally annotated sentences as released. With annotations, only sentences
that the annotators also found inconsistent are rated.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from semqa.attribution.records import invalid_field, read_table
from semqa.attribution.tofueval.data import (
    AnnotatedSentence,
    SummaryKey,
    read_annotations,
    read_documents,
)
from semqa.attribution.tofueval.judging import key_of
from semqa.data.csv_rows import read_csv
from semqa.data.jsonl import Row
from semqa.errors import InputError
from semqa.studies.analysis import labels_report
from semqa.studies.kind import (
    Figures,
    Input,
    Item,
    Kind,
    Option,
    Part,
    Question,
    Rated,
    Stage,
    Studies,
    Study,
    expected_of,
    text_part,
)

_ASKED = (
    Question(
        "right",
        "Does the explanation name something that is wrong with the sentence?",
        "choice",
        (Option(True, "Yes"), Option(False, "No: the explanation is wrong, vague or missing")),
    ),
    Question("remark", "Remark (optional)", "text", required=False),
)
_SHOWN = ("sentence", "explanation", "annotator", "document")
_DATA = ("doc_id", "topic", "model_name", "sent_idx", "sentence")


class Explanations(Kind):
    """Rating of the explanations of evaluators."""

    name = "explanations"
    title = "Is the explanation right?"
    columns = (*_DATA, "evaluator", "explanation", "right", "remark", "rater", "seconds")

    def read(self, inputs: Sequence[Input], design: str) -> list[Item]:
        documents: dict[str, str] = {}
        annotated: dict[tuple[SummaryKey, int], AnnotatedSentence] = {}
        replies: list[tuple[Input, Row]] = []
        for each in inputs:
            if each.path.suffix.lower() == ".csv":
                if "sent_label" in (name.strip().casefold() for name in read_csv(each.path).header):
                    for sentence in read_annotations([each.path]):
                        key = sentence.key._replace(dataset="")
                        annotated.setdefault((key, sentence.index), sentence)
                    continue
            else:
                rows = read_table(each.path)
                if any("reply" in row.fields for row in rows):
                    replies += [(each, row) for row in rows]
                    continue
            documents |= read_documents([each.path])
        items: dict[tuple[str, ...], Item] = {}
        for given, row in replies:
            item = _item(given, row, annotated, documents)
            if item is not None:
                items.setdefault(self.key(item), item)  # further runs are left out
        return list(items.values())

    def stages(self, item: Item, design: str) -> tuple[Stage, ...]:
        labels = ("Sentence", "Explanation", "What a person wrote", "Document")
        parts: list[Part] = [text_part("Topic", item.data["topic"])]
        for name, label in zip(_SHOWN, labels, strict=True):
            if item.data.get(name):
                parts.append({**text_part(label, item.data[name]), "main": name == "explanation"})
        parts[-1]["search"] = True
        return (Stage("Judge the explanation", tuple(parts), _ASKED),)

    def rows(self, study: Study, rated: Rated) -> Iterable[Mapping[str, Any]]:
        row = {
            **{name: rated.item.data.get(name) for name in _DATA},
            "evaluator": rated.item.system,
            "explanation": rated.item.data.get("explanation"),
            "right": rated.values["right"],
            "remark": rated.values.get("remark", ""),
            "rater": rated.rater,
            "seconds": round(rated.seconds, 1),
        }
        return [row]

    def report(self, studies: Studies) -> Figures:
        """Return the share of right explanations by evaluator, and agreement."""
        return labels_report(
            studies,
            lambda values: "right" if values["right"] else "wrong",
            ("right", "wrong"),
            words=lambda item: sum(len(item.data.get(name, "").split()) for name in _SHOWN),
        )


def _item(
    given: Input,
    row: Row,
    annotated: Mapping[tuple[SummaryKey, int], AnnotatedSentence],
    documents: Mapping[str, str],
) -> Item | None:
    """Return the item of an explanation, or None if it is not to be rated."""
    key, number = key_of(row), row.fields.get("sent_idx")
    if row.fields.get("label") != "no":
        return None
    if type(number) is not int:
        raise invalid_field(row, "sent_idx", "a sentence number")
    truth = annotated.get((key._replace(dataset=""), number))
    if annotated and (truth is None or not truth.inconsistent):
        return None
    if key.doc_id not in documents:
        raise InputError(
            f"Document {key.doc_id!r} is missing. Add a file with the columns doc_id and source.",
            where=row.where,
        )
    data: dict[str, Any] = {
        "doc_id": key.doc_id,
        "topic": key.topic,
        "model_name": key.model,
        "sent_idx": number,
        "sentence": row.text("text"),
        "explanation": _explanation(row.text("reply", "")),
        "annotator": truth.explanation.strip() if truth else "",
        "document": documents[key.doc_id],
    }
    system = given.name or given.path.stem
    name = f"{key.doc_id}: {key.topic}: {key.model}: {number}"
    return Item(name, system, data, expected_of(row, gold=given.gold))


def _explanation(reply: str) -> str:
    """Return the explanation in a structured reply, or else the whole reply."""
    try:
        found = json.loads(reply)
    except (ValueError, RecursionError):
        return reply
    if not isinstance(found, dict) or "explanation" not in found:
        return reply
    # An escape such as \ud800 may be half a character, which cannot be saved.
    return str(found["explanation"]).encode("utf-8", "replace").decode()
