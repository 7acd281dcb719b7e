"""Ratings of every kind of study can be imported into a new study, and are exported equally."""

from __future__ import annotations

import json
import random
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from semqa.errors import InputError
from semqa.studies.kind import Format, Input, Study
from semqa.studies.kinds import KINDS
from semqa.studies.store import Store
from tests.studies.made import EXAMPLES, OUTPUTS, make_study, served, write_lines
from tests.studies.tasks import (
    CLAIMS,
    SENTENCES,
    TOPIC,
    attrscore_inputs,
    q2_inputs,
    tofueval_inputs,
)

TEXT = '=1+1, said "Ødland" – twice'


def inputs_of(kind: str, folder: Path) -> list[Input]:
    folder.mkdir(exist_ok=True)
    if kind in ("semqa", "writing"):
        return [Input(EXAMPLES, "human")]
    if kind == "ais":
        return [Input(write_lines(folder / "outputs.jsonl", OUTPUTS))]
    if kind == "explanations":
        rows = [
            {"doc_id": "council-3", "topic": TOPIC, "model_name": "model_A", "sent_idx": number,
             "text": text, "label": "no", "reply": f"No. Sentence {number} is wrong."}
            for number, text in enumerate(SENTENCES, 1)
        ]  # fmt: skip
        _, documents = tofueval_inputs(folder, points=False)
        return [Input(write_lines(folder / "gpt.jsonl", rows)), documents]
    if kind == "tofueval":
        return tofueval_inputs(folder, points=False)
    return attrscore_inputs(folder) if kind == "attrscore" else q2_inputs(folder)


def answers(stage: dict[str, Any], drawn: random.Random) -> dict[str, Any]:
    """Return answers to all questions of a stage; those that are not asked are ignored."""
    sources = [part for part in stage["parts"] if part["kind"] == "writing"]
    if sources:
        place = {"source": 1, "field": "body", "start": 0, "end": 5}
        left_out = [n["number"] for n in sources[0]["sources"]][1:2]
        return {"answer": [TEXT, place], "left_out": left_out, "comment": TEXT}
    found: dict[str, Any] = {}
    for question in stage["questions"]:
        options = [option["value"] for option in question["options"]]
        form = question["answer"]
        if form in ("choice", "scale"):
            found[question["id"]] = drawn.choice(options)
        elif form == "several":
            found[question["id"]] = drawn.choice([options[:2], options[-1:]])
        else:
            other = {
                "toggle": drawn.random() < 0.2,
                "spans": [[0, 4], [5, 6]],
                "lines": f"{TEXT}\nb",
            }
            found[question["id"]] = other.get(form, TEXT)
    return found


def rate_all(study: Study) -> None:
    drawn = random.Random(0)
    with served(study, clock=count(0, 60_000_000).__next__) as site:
        for name in ("ann", "ben", "eve"):
            person = site.person(name)
            while "end" not in (task := person.next()):
                person.answer(task, seconds=25.5, **answers(task["stages"][-1], drawn))


CASES = [
    *((kind.name, design, "jsonl") for kind in KINDS.values() for design in kind.designs),
    ("semqa", "quotes", "csv"),
    ("explanations", "standard", "csv"),
]


@pytest.mark.parametrize(("kind", "design", "form"), CASES)
def test_an_export_is_imported_and_exported_equally(
    tmp_path: Path, kind: str, design: str, form: Format
) -> None:
    inputs = inputs_of(kind, tmp_path / "in")
    study = make_study(tmp_path / "a", kind, inputs, design=design, per_item=2)
    rate_all(study)
    other = make_study(tmp_path / "b", kind, inputs, design=design, per_item=2)
    path = tmp_path / f"export.{form}"
    with closing(Store(study)) as store, closing(Store(other)) as fresh:
        path.write_bytes(b"".join(study.kind.export(study, store.rated(), form)))
        fresh.take_in(other.kind.imported(other, [Input(path)]))
        assert b"".join(other.kind.export(other, fresh.rated(), form)) == path.read_bytes()
        again, before = (
            one.kind.report([(one, held.rated())]).record
            for one, held in ((other, fresh), (study, store))
        )
        assert json.dumps(again) == json.dumps(before)


def test_ratings_of_another_study_are_refused(tmp_path: Path) -> None:
    row = {"file": "claims.csv", "id": "1", **CLAIMS[0], "rater": "ann", "evidence": []}
    study = make_study(tmp_path, "attrscore", attrscore_inputs(tmp_path / "in"), per_item=2)
    place = {"start": 0, "end": 3}
    for change, message in (
        ({"id": "9"}, "not about an item"),
        ({"answer": "Another claim."}, "answer is not that of the study's item"),
        ({"label": "Maybe"}, "label is required"),
        ({"evidence": []}, "evidence is required"),
        ({"evidence": [{**place, "end": 10_000}]}, "evidence must be"),
        ({"seconds": "long"}, "seconds must be"),
    ):
        path = write_lines(tmp_path / "x.jsonl", [{**row, "evidence": [place], **change}])
        with pytest.raises(InputError, match=rf"x.jsonl:1: {message}|x.jsonl:1.*{message}"):
            study.kind.imported(study, [Input(path)])
