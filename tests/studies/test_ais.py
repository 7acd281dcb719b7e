"""AIS studies: designs, experts, and round trips of released files."""

from __future__ import annotations

import json
import random
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from semqa.attribution.ais.ratings import read_ratings
from semqa.attribution.ais.released import read_released, with_verdicts
from semqa.data.csv_rows import encode_csv, read_csv
from semqa.errors import InputError
from semqa.studies.ais import Ais
from semqa.studies.folder import kind_of, open_study
from semqa.studies.kind import Input, Settings
from semqa.studies.store import Store, new_study
from tests.attribution.ais.makers import released_csv
from tests.studies.made import OUTPUTS, make_study, rate, write_lines

NO: dict[str, tuple[dict[str, Any], ...]] = {
    "two-step": ({"interpretable": True}, {"attributable": False}),
    "attribution-only": ({"attributable": False},),
    "one-question": ({"both": "unsupported"},),
    "likert": ({"interpretable_level": 4}, {"attributable_level": 3}),
}
"""The answers by stage for an output that is clear but not supported."""


@pytest.mark.parametrize("design", NO)
def test_ratings_of_each_design_are_read_by_the_analysis(tmp_path: Path, design: str) -> None:
    study = make_study(tmp_path / "new", design=design)
    with closing(Store(study, clock=count(0, 2_000_000).__next__)) as store:
        for name in ("ann", "ben", "eve"):
            rate(store, name, *NO[design])
        ratings = store.rated()
    path = tmp_path / "ratings.jsonl"
    path.write_bytes(b"".join(study.kind.export(study, ratings, "jsonl")))
    read = read_ratings(path)
    assert len(read) == 9
    asked = design != "attribution-only"
    assert {(each.interpretable, each.attributable) for each in read} == {
        (True if asked else None, False)
    }
    (line, *_) = path.read_text(encoding="utf-8").splitlines()
    levels = json.loads(line).get("interpretable_level"), json.loads(line).get("attributable_level")
    assert levels == ((4, 3) if design == "likert" else (None, None))
    found = Ais().report([(study, ratings)]).record
    assert all(task["systems"][0]["ais"]["percent"] == 0 for task in found["tasks"])
    agreement = {each["question"]: each for each in found["tasks"][0]["agreement"]}
    assert set(agreement) == ({"flag", "int", "ais"} if asked else {"flag", "ais"})
    assert ("krippendorff_alpha_levels" in agreement["ais"]) is (design == "likert")


def test_designs_are_compared_by_agreement_with_experts(tmp_path: Path) -> None:
    experts = [{**row, "expert": {"interpretable": True, "attributable": False}} for row in OUTPUTS]
    (tmp_path / "in").mkdir()
    inputs = [Input(write_lines(tmp_path / "in" / "outputs.jsonl", experts))]
    studies = []
    yes = ({"attributable": True},)
    for design, answers in (("two-step", NO["two-step"]), ("attribution-only", yes)):
        study = make_study(tmp_path / design, inputs=inputs, design=design)
        with closing(Store(study)) as store:
            for name in ("ann", "ben", "eve"):
                rate(store, name, *answers)
            studies.append((study, store.rated()))
    found = Ais().report(studies).record
    right = {(e["design"], e["judgement"]): e["consensus"]["percent"] for e in found["experts"]}
    assert right["two-step", "int_and_ais"] == right["two-step", "int"] == 100
    assert right["attribution-only", "int_and_ais"] == 0
    assert ("attribution-only", "int") not in right
    pairs = {(e["task"], e["judgement"]): e["pairs"] for e in found["correctness"]}
    assert (pairs["qrecc", "ais"]["only_first"], pairs["qrecc", "ais"]["only_second"]) == (1, 0)


def test_flags_of_either_stage_flag_the_output(tmp_path: Path) -> None:
    study = make_study(tmp_path / "new", per_item=2, raters="ann,ben")
    with closing(Store(study)) as store:
        rate(store, "ann", {"flagged": True, "why_flagged": "language"})
        rate(store, "ben", {"interpretable": True}, {"source_flagged": True})
        ratings = store.rated()
    for line in study.kind.export(study, ratings, "jsonl"):
        row = json.loads(line)
        assert row["flagged"]
        assert row["justification"] == ("language" if row["annotator"] == "ann" else "source")
    (_, *rows) = b"".join(study.kind.export(study, ratings, "csv")).decode().splitlines()
    assert all(",0,0,1,,,-1,-1" in row for row in rows)


def test_an_export_has_only_the_rated_rows_of_a_released_file(tmp_path: Path, shared: Path) -> None:
    """A released file of the paper, with three outputs rated again."""
    released = shared / "data" / "ais" / "ann_wow.csv"
    theirs = read_released(released).verdicts
    chosen = random.Random(0).sample([each for each in theirs if each.interpretable], 3)
    texts = [
        {"item": row.item, "context": ["What is it?"], "source": f"About {row.output}"}
        for row in chosen
    ]
    inputs = [Input(released), Input(write_lines(tmp_path / "texts.jsonl", texts))]
    kind = Ais()
    settings = Settings(kind_of("ais"), "AIS", "two-step", 3)
    items = [item for item in kind.read(inputs, "two-step") if item.item == chosen[0].item]
    names = ["ann", "ben", "eve"]
    study = new_study(tmp_path / "study", settings, items, names, kind.keep(inputs))
    study = open_study(study.folder)
    header, *before = released.read_bytes().splitlines(keepends=True)
    assert b"".join(kind.export(study, [], "csv")) == header
    with closing(Store(study)) as store:
        for name in names:
            rate(store, name, {"interpretable": False})
        out = tmp_path / "out.csv"
        out.write_bytes(b"".join(kind.export(study, store.rated(), "csv")))
    assert out.read_bytes().startswith(header)
    verdicts = read_released(out).verdicts
    assert [(each.item, each.system) for each in verdicts] == [
        (item.item, item.system) for item in items
    ]
    assert {(each.interpretable, each.agree_int) for each in verdicts} == {(False, 3)}
    # Rows with the verdicts of the file stay as they were.
    file = read_csv(released)
    assert b"".join(encode_csv(with_verdicts(file, theirs))) == released.read_bytes()
    some = b"".join(encode_csv(with_verdicts(file, theirs[1:3])))
    assert some == header + b"".join(before[1:3])


TOTTO: dict[str, Any] = {
    "table_page_title": "'Weird Al' Yankovic",
    "table_webpage_url": "https://en.wikipedia.org/wiki/%22Weird_Al%22_Yankovic",
    "table_section_title": "Television",
    "table_section_text": "He also acts.",
    "table": [
        [{"column_span": 2, "is_header": True, "row_span": 1, "value": "Year and title"}],
        [
            {"column_span": 1, "is_header": False, "row_span": 1, "value": "1997"},
            {"column_span": 1, "is_header": False, "row_span": 1, "value": "Eek! The Cat"},
        ],
    ],
    "highlighted_cells": [[1, 1]],
    "example_id": -12345678912345678912,
    "sentence_annotations": [{"final_sentence": "In 1997 he was in Eek! The Cat."}],
    "overlap_subset": True,
}
"""A line as described in ToTTo's README."""


def test_tables_of_totto_are_read(tmp_path: Path) -> None:
    rows = [TOTTO, {"item": "-12345678912345678912", "system": "mine", "output": "He acted."}]
    own = Ais().read([Input(write_lines(tmp_path / "totto.jsonl", rows))], "two-step")
    released = tmp_path / "ann_totto.csv"
    row = {"ex-idx": "-12345678912345678912", "model-name": "T5", "output": "He did."}
    released.write_text(released_csv([row, {"ex-idx": "7"}]), encoding="utf-8")
    tables = Input(write_lines(tmp_path / "dev.jsonl", [TOTTO]))
    (theirs,) = Ais().read([Input(released), tables], "two-step")
    assert (own[0].system, theirs.system, theirs.data["task"]) == ("mine", "T5", "totto")
    for item in (own[0], theirs):
        table, text = Ais().stages(item, "two-step")[1].parts
        assert (table["title"], table["section"]) == ("'Weird Al' Yankovic", "Television")
        assert table["rows"] == [
            [{"text": "Year and title", "header": True, "colspan": 2}],
            [{"text": "1997"}, {"text": "Eek! The Cat", "highlighted": True}],
        ]
        assert text["text"] == "He also acts."
    wrong = write_lines(
        tmp_path / "wrong.jsonl", [{**TOTTO, "highlighted_cells": [[0, 1]]}, rows[1]]
    )
    with pytest.raises(InputError, match=r"wrong.jsonl:1.*has no cell \(0, 1\)"):
        Ais().read([Input(wrong)], "two-step")


INVALID: list[tuple[dict[str, Any], str]] = [
    ({"output": ""}, "output must"),
    ({"source": None}, "source"),
    ({"source": ""}, "neither a source nor a table"),
    ({"sauce": "x"}, "sauce is not"),
    ({"table": {"rows": []}}, "table.rows must"),
    ({"context": [{"who": "Ann"}]}, "context.0"),
    ({"expert": {"interpretable": True}}, "cannot be rated"),
    ({"expected": []}, "expected must"),
    ({"expected": {"colour": 1}}, "expected must have the expected answer"),
]


def test_invalid_outputs_are_refused_when_the_study_is_made(tmp_path: Path) -> None:
    for change, message in INVALID:
        rows = [*OUTPUTS, {**OUTPUTS[0], "item": "x", **change}]
        path = write_lines(tmp_path / "outputs.jsonl", rows)
        with pytest.raises(InputError, match=message):
            make_study(tmp_path, inputs=[Input(path)])
