"""The SEMQA user study: what raters see, and the statistics of their ratings."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from semqa.studies.answers import Answers
from semqa.studies.folder import open_study
from semqa.studies.kind import Input, Item, Rated
from tests.studies.made import EXAMPLES, make_study, served, write_lines

SCALES = ("fluency", "comprehensiveness", "correctness", "attribution")


def item(answer: str, qid: str = "q", system: str = "m") -> Item:
    sources = [{"text": "Bing sang it in 1943.", "title": "Song"}, {"text": "", "title": ""}]
    return Item(qid, system, {"question": "When?", "answer": answer, "sources": sources})


def shown(answer: str, design: str) -> tuple[Any, Any]:
    (stage,) = Answers().stages(item(answer), design)
    parts = {part["kind"]: part for part in stage.parts}
    return parts["answer"]["pieces"], parts["sources"]


def test_quotes_have_the_numbers_of_their_sources_and_their_places_in_them() -> None:
    pieces, sources = shown("By [ 1 Bing ] in the [ 1 Song ].", "quotes")
    assert pieces == [
        {"text": "By "},
        {"text": "Bing", "source": 1},
        {"text": " in the "},
        {"text": "Song", "source": 1},
        {"text": "."},
    ]
    (only,) = sources["sources"]
    assert (only["marks"], only["title_marks"]) == ([[0, 4]], [[0, 4]])


def test_in_the_other_design_sentences_end_in_citations() -> None:
    pieces, sources = shown("By [ 1 Bing ] . Yes.", "citations")
    assert pieces == [{"text": "By Bing "}, {"cite": 1}, {"text": ". Yes."}]
    (only,) = sources["sources"]
    assert only["marks"] == []


@pytest.mark.parametrize("design", Answers.designs)
def test_existing_citations_are_shown_as_citations(design: str) -> None:
    pieces, _ = shown("It was so [1][2].", design)
    assert pieces == [{"text": "It was so "}, {"cite": 1}, {"cite": 2}, {"text": "."}]


def rated(system: str, qid: str, rater: str, level: int, seconds: float = 20.0) -> Rated:
    values = dict.fromkeys(SCALES, level)
    return Rated(item("By [ 1 Bing ] it was .", qid, system), rater, values, seconds, 1)


def test_statistics_equal_those_computed_by_hand(tmp_path: Path) -> None:
    """Two systems, three questions and two raters; the second system is always one level better."""
    study = make_study(tmp_path, "semqa", [Input(EXAMPLES, "human")])
    levels = {
        ("q1", "a"): 2,
        ("q1", "b"): 3,
        ("q2", "a"): 3,
        ("q2", "b"): 3,
        ("q3", "a"): 1,
        ("q3", "b"): 2,
    }
    ratings = [rated("one", qid, rater, n) for (qid, rater), n in levels.items()]
    ratings += [rated("two", qid, rater, n + 1, 40.0) for (qid, rater), n in levels.items()]
    record = study.kind.report([(study, ratings)]).record
    assert record["means"]["one"]["fluency"]["value"] == pytest.approx(14 / 6)
    assert record["means"]["two"]["fluency"]["value"] == pytest.approx(20 / 6)
    (first, *_) = record["comparisons"]
    assert (first["system"], first["other"], first["n"]) == ("one", "two", 3)
    assert first["difference"] == pytest.approx(-1)
    assert first["interval"] == pytest.approx([-1, -1])
    # Four words, without the mark and the full stop.
    assert record["times"]["one"]["seconds_per_word"]["mean"] == pytest.approx(5.0)
    assert record["times"]["two"]["seconds_per_word"]["mean"] == pytest.approx(10.0)
    assert record["agreement"]["fluency"]["alpha_interval"]["n"] == 6
    assert record["agreement"]["fluency"]["pairwise"]["value"] == pytest.approx(1 / 3)
    json.dumps(record, allow_nan=False)


def test_exports_are_read_by_other_programs(tmp_path: Path) -> None:
    study = make_study(tmp_path, "semqa", [Input(EXAMPLES, "human")])
    levels = {"fluency": 5, "comprehensiveness": 4, "correctness": 3, "attribution": 2}
    with served(study) as site:
        ann = site.person("ann")
        ann.answer(ann.next(), comment='A "quote",\nand a line', **levels)
        ratings = site.store.rated()
    table = b"".join(study.kind.export(study, ratings, "csv")).decode()
    (row,) = csv.DictReader(io.StringIO(table, newline=""))
    (line,) = study.kind.export(study, ratings, "jsonl")
    assert {name: int(row[name]) for name in SCALES} == levels
    assert row["comment"] == json.loads(line)["comment"] == 'A "quote",\nand a line'
    assert {name: str(value) for name, value in json.loads(line).items()} == row


def test_answers_come_from_predictions_and_runs_and_human_ones_from_the_data(
    tmp_path: Path,
) -> None:
    qids = ["EXAMPLE_1", "EXAMPLE_2"]
    run = tmp_path / "run"
    run.mkdir()
    rows = [{"qid": qid, "prediction": f"[ 1 x ] {qid}"} for qid in qids]
    write_lines(run / "examples.jsonl", rows)
    write_lines(tmp_path / "ours.jsonl", rows)
    inputs = [
        Input(EXAMPLES, "human"),
        Input(run),
        Input(tmp_path / "ours.jsonl"),
        Input(run, "again"),
    ]
    items = Answers().read(inputs, "quotes")
    systems = [each.system for each in items]
    assert {name: systems.count(name) for name in systems} == {
        "human": 3, "run": 2, "ours": 2, "again": 2,
    }  # fmt: skip


def test_gold_answers_may_accept_several_levels(tmp_path: Path) -> None:
    gold = {"qid": "EXAMPLE_1", "prediction": "Nonsense is.", "expected": {"correctness": [1, 2]}}
    path = write_lines(tmp_path / "gold.jsonl", [gold])
    inputs = [Input(EXAMPLES, "human"), Input(path, gold=True)]
    study = make_study(tmp_path, "semqa", inputs, per_item=2, qualify=1)
    assert open_study(study.folder).gold == [4]
    with served(study) as site:
        for name, level in (("ann", 2), ("ben", 3)):
            person = site.person(name)
            person.answer(person.next(), **{**dict.fromkeys(SCALES, 1), "correctness": level})
        states = {each.name: each.state for each in site.store.raters()}
    assert states == {"ann": "active", "ben": "failed", "eve": "active"}
