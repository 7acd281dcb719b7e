"""Every export of every kind of study can be imported into a new study, and is exported equally."""

from __future__ import annotations

import json
import random
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from semqa.errors import InputError
from semqa.studies.kind import Input, Study
from semqa.studies.kinds import KINDS
from semqa.studies.store import Store
from tests.studies.made import EXAMPLES, OUTPUTS, make_study, served, write_lines
from tests.studies.tasks import (
    CLAIMS,
    SENTENCES,
    TALK,
    TOPIC,
    attrscore_inputs,
    q2_inputs,
    tofueval_inputs,
)

TEXT = '=1+1, said "Ødland" – twice'


def inputs_of(kind: str, folder: Path, variant: str) -> list[Input]:
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
        if variant != "lines":
            return tofueval_inputs(folder, points=variant != "several")
        _, documents, points = tofueval_inputs(folder)
        rows = [
            {"doc_id": "council-3", "topic": TOPIC, "summary": " ".join(SENTENCES), "model_name": m}
            for m in "AB"
        ]
        return [Input(write_lines(folder / "summaries.jsonl", rows)), documents, points]
    if variant == "lines":
        return [
            Input(write_lines(folder / "a.jsonl", [*(CLAIMS if kind == "attrscore" else TALK)]))
        ]
    given = attrscore_inputs(folder) if kind == "attrscore" else q2_inputs(folder)
    if variant == "several":
        other = folder / "b.csv"
        other.write_bytes(given[0].path.read_bytes())
        given.append(Input(other))
    return given


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


def files_of(study: Study, store: Store, form: str) -> dict[str, bytes]:
    ratings = store.rated()
    assert ratings
    found = {
        f"export.{form}": study.kind.export(study, ratings, "csv" if form == "csv" else "jsonl")
    }
    if form == "folder":
        found = study.kind.released(study, ratings)
    return {name: b"".join(lines) for name, lines in found.items()}


CASES = [
    (kind.name, design, form, variant)
    for kind in KINDS.values()
    for design in kind.designs
    for form in ("csv", "jsonl", "folder")
    for variant in ("one", "several", "lines")
    if (kind.name, form) != ("writing", "csv")  # has no CSV
    and (design == "attribution-only") <= (form == "jsonl")  # has no other format
    and (variant == "one" or kind.name in ("tofueval", "attrscore", "q2"))
]


@pytest.mark.parametrize(("kind", "design", "form", "variant"), CASES)
def test_an_export_is_imported_and_exported_equally(
    tmp_path: Path, kind: str, design: str, form: str, variant: str
) -> None:
    inputs = inputs_of(kind, tmp_path / "in", variant)
    once = kind in ("attrscore", "q2") and form != "jsonl"  # an undecided label is not a rating
    study = make_study(tmp_path / "a", kind, inputs, design=design, per_item=1 if once else 2)
    rate_all(study)
    new = "ann,ben,eve" if form == "jsonl" else "x,y,z"
    other = make_study(tmp_path / "b", kind, inputs, design=design, per_item=2, raters=new)
    with closing(Store(study)) as store, closing(Store(other)) as fresh:
        exported = files_of(study, store, form)
        for name, content in exported.items():
            (tmp_path / name).write_bytes(content)
        paths = [Input(tmp_path / name) for name in exported]
        fresh.take_in("released", other.kind.imported(other, paths))
        assert files_of(other, fresh, form) == exported
        if form == "jsonl":
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
