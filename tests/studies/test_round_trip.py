"""Ratings of every kind of study can be imported into another study of the same items."""

from __future__ import annotations

import json
import random
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from semqa.errors import InputError
from semqa.studies.folder import KINDS
from semqa.studies.kind import Input, Rated, Stage, Study
from semqa.studies.store import Store
from tests.studies.made import EXAMPLES, OUTPUTS, make_study, write_lines
from tests.studies.tasks import (
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
        return tofueval_inputs(folder, points=False, systems="A")
    return attrscore_inputs(folder) if kind == "attrscore" else q2_inputs(folder)


def answers(stage: Stage, before: dict[str, Any], drawn: random.Random) -> dict[str, Any]:
    """Return answers to all questions of a stage; those that are not asked are ignored."""
    if stage.parts[-1]["kind"] == "writing":
        place = {"source": 1, "field": "body", "start": 0, "end": 5}
        left_out = [n["number"] for n in stage.parts[-1]["sources"]][1:2]
        return {"answer": [TEXT, place], "left_out": left_out, "comment": TEXT}
    found: dict[str, Any] = {}
    for question in stage.questions:
        options = [option.value for option in question.with_lines(before).options]
        if question.answer in ("choice", "scale"):
            found[question.id] = drawn.choice(options)
        elif question.answer == "several":
            found[question.id] = drawn.choice([options[:2], options[-1:]])
        else:
            other = {
                "toggle": drawn.random() < 0.2,
                "spans": [[0, 4], [5, 6]],
                "lines": f"{TEXT}\nb",
            }
            found[question.id] = other.get(question.answer, TEXT)
    return found


def rate_all(study: Study) -> None:
    drawn = random.Random(0)
    with closing(Store(study, clock=count(0, 60_000_000).__next__)) as store:
        for name in ("ann", "ben", "eve"):
            while (found := store.next(name)) is not None:
                item, at = study.items[found.item - 1], found.current
                stage = study.kind.stages(item, study.settings.design)[at]
                store.save(name, found.id, at, answers(stage, found.values, drawn), 25.5)


CASES = [
    *((kind.name, kind.designs[0]) for kind in KINDS.values()),
    ("ais", "likert"),
    ("tofueval", "key-points"),
    ("q2", "independent"),
]


@pytest.mark.parametrize(("kind", "design"), CASES)
def test_imported_ratings_are_exported_and_reported_equally(
    tmp_path: Path, kind: str, design: str
) -> None:
    inputs = inputs_of(kind, tmp_path / "in")
    study = make_study(tmp_path / "a", kind, inputs, design=design, per_item=2)
    rate_all(study)
    other = make_study(tmp_path / "b", kind, inputs, design=design, per_item=2)
    with closing(Store(study)) as store, closing(Store(other)) as fresh:
        ratings = store.rated()
        fresh.take_in(ratings)
        assert fresh.missing() == store.missing()
        before, after = (
            (
                b"".join(one.kind.export(one, held.rated(), "jsonl")),
                json.dumps(one.kind.report([(one, held.rated())]).record),
            )
            for one, held in ((study, store), (other, fresh))
        )
        assert after == before
        for name in {each.rater for each in ratings}:
            with pytest.raises(InputError, match="already has item"):
                fresh.take_in([each for each in ratings if each.rater == name])


def test_only_ratings_of_the_same_items_by_raters_are_imported(tmp_path: Path) -> None:
    study = make_study(tmp_path, "attrscore", attrscore_inputs(tmp_path / "in"), per_item=2)
    item = study.items[0]
    changed = replace(item, data={**item.data, "answer": "Another claim."})
    rated = Rated(item, "new", {"label": "Extrapolatory"}, 1.0, 1)
    with closing(Store(study)) as store:
        for wrong in (rated._replace(item=changed), rated._replace(rater="owner")):
            with pytest.raises(InputError, match=r"no item|not active"):
                store.take_in([wrong])
        assert store.rated() == []
        store.take_in([rated])
        assert store.owner_of(store.rater("new").token) is None
        assert [each.rater for each in store.rated()] == ["new"]
