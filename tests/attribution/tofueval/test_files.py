"""Files of TofuEval, with what real and careless files have in them."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from semqa.attribution.tofueval.data import (
    ERROR_TYPES,
    count_duplicates,
    error_types,
    read_annotations,
    read_categories,
    read_documents,
    read_key_points,
)
from semqa.attribution.tofueval.judging import read_texts
from semqa.attribution.tofueval.meta import ALL, count_errors, error_rates, read_evaluator
from semqa.errors import InputError

COLUMNS = ["doc_id", "topic", "model_name", "sent_idx", "summ_sent", "sent_label", "exp", "type"]
ROW = ["d1", "Rent", "model_A", "1", "Rents rose.", "yes", "", ""]


def write(path: Path, rows: list[list[str]], header: list[str] | None = None) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header or COLUMNS, *rows])
    return path


def changed(**cells: str) -> list[str]:
    return [cells.get(name, cell) for name, cell in zip(COLUMNS, ROW, strict=True)]


def test_columns_in_any_order_and_quotes_in_cells(tmp_path: Path) -> None:
    header = [" Sent_Label", "meeting_id", *COLUMNS[1:5], "type"]
    row = ["NO ", " d1 ", "Rent", "model_A", "12.0", 'He said "rents,\nrose".', "Contradiction,Odd"]
    path = write(tmp_path / "a.csv", [row], header)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    (sentence,) = read_annotations([path])
    assert sentence.inconsistent
    assert sentence.index == 12
    assert sentence.key.doc_id == "d1"
    assert sentence.text == 'He said "rents,\nrose".'
    assert sentence.errors == ("Contradiction", "Odd")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"sent_label": "maybe"}, r"a\.csv:3: sent_label must"),
        ({"sent_idx": "first"}, r"a\.csv:3: sent_idx must"),
        ({"topic": " "}, r"a\.csv:3: topic is"),
    ],
)
def test_wrong_rows_are_named(tmp_path: Path, cells: dict[str, str], message: str) -> None:
    path = write(tmp_path / "a.csv", [ROW, changed(**cells)])
    with pytest.raises(InputError, match=message):
        read_annotations([path])


def test_a_doubled_row_counts_twice_and_is_counted(tmp_path: Path) -> None:
    wrong = changed(sent_label="no", type="Contradiction, Reasoning Error")
    path = write(tmp_path / "a.csv", [ROW, wrong, wrong, changed(sent_idx="3", sent_label="no")])
    sentences = read_annotations([path])
    assert count_duplicates(sentences) == 2
    rates = {rate[:5]: rate for rate in error_rates(sentences, {})}
    assert rates["a", ALL, ALL, ALL, "sentence"][5:] == (3, 4)
    assert rates["a", ALL, ALL, ALL, "summary"][5:] == (1, 1)
    counts = count_errors(sentences)
    assert (counts.inconsistent, counts.several, counts.untyped) == (3, 2, 1)
    assert counts.exploded == {"Contradiction": 2, "Reasoning Error": 2}
    assert counts.single == {}


def test_error_types() -> None:
    assert len(ERROR_TYPES) == 7
    for name in ERROR_TYPES:
        assert error_types(name.lower()) == (name,)
    assert error_types(" Tense/modality error ,extrinsic information,, ") == (
        "Tense/Modality Error",
        "Extrinsic Information",
    )
    assert error_types("Extrinsic Info") == ("Extrinsic Information",)
    assert error_types(" N/A ") == error_types("-, none") == ()


def test_categories_of_datasets_and_of_all(tmp_path: Path) -> None:
    own = tmp_path / "a_topic_category.json"
    own.write_text('{"Rent ": "Main"}')
    common = tmp_path / "mine.json"
    common.write_text('{"Rent": "marginal", "Tax": "marginal"}')
    categories = read_categories([own, common])
    assert categories == {"a": {"Rent": "main"}, "": {"Rent": "marginal", "Tax": "marginal"}}
    path = write(tmp_path / "a.csv", [ROW, changed(topic="Tax", sent_label="no")])
    rates = {rate[:5]: rate for rate in error_rates(read_annotations([path]), categories)}
    assert rates["a", "main", ALL, ALL, "sentence"][5:] == (0, 1)
    assert rates["a", "marginal", ALL, ALL, "sentence"][5:] == (1, 1)
    common.write_text('{"Rent": 3}')
    with pytest.raises(InputError, match=r"mine\.json: The category of \"Rent\" must"):
        read_categories([common])


@pytest.mark.parametrize(
    ("cell", "points"),
    [
        ("", ()),
        ("[]", ()),
        ("['1. It is late.', \"2.It isn't.\", '']", ("It is late.", "It isn't.")),
        ('["3.5 million came", "(2) Two"]', ("3.5 million came", "Two")),
    ],
)
def test_key_points(tmp_path: Path, cell: str, points: tuple[str, ...]) -> None:
    header = ["doc_id", "annotation_id", "topic", "key_points"]
    path = write(tmp_path / "x_completeness_final.csv", [["d1", "1", "Rent", cell]], header)
    (found,) = read_key_points([path])
    assert (found.dataset, found.points) == ("x", points)


@pytest.mark.parametrize(
    "cell", ["It is late.", "['a', 3]", "__import__('os')", "[" * 5000, "{'a'}"]
)
def test_key_points_are_a_list_of_strings(tmp_path: Path, cell: str) -> None:
    path = write(tmp_path / "x.csv", [["d1", "Rent", cell]], ["doc_id", "topic", "key_points"])
    with pytest.raises(InputError, match=r"x\.csv:2: key_points must"):
        read_key_points([path])


def test_documents(tmp_path: Path) -> None:
    rows = write(tmp_path / "d.csv", [["m1", "LEE: Hello."]], ["meeting_id", "source"])
    lines = tmp_path / "d.jsonl"
    lines.write_text('{"doc_id": "d1", "text": "Bye."}\n{"id": "m1", "source": "LEE: Hello."}\n')
    assert read_documents([rows, lines]) == {"m1": "LEE: Hello.", "d1": "Bye."}
    lines.write_text('{"doc_id": "m1", "text": "Bye."}\n')
    with pytest.raises(InputError, match=r"d\.jsonl:1: The document"):
        read_documents([rows, lines])


def lines_of(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


NAMED: dict[str, Any] = {"doc_id": "d1", "topic": "Rent", "model_name": "m"}


def test_summaries_are_cut_into_sentences_and_annotations_joined(tmp_path: Path) -> None:
    written = lines_of(tmp_path / "s.jsonl", [{**NAMED, "summary": "Rents rose. Dr. Lee left."}])
    assert [(t.index, t.text) for t in read_texts([written], "sentence")] == [
        (1, "Rents rose."),
        (2, "Dr. Lee left."),
    ]
    (whole,) = read_texts([written], "summary")
    assert (whole.index, whole.text) == (None, "Rents rose. Dr. Lee left.")
    rows = [changed(sent_idx="3", summ_sent="Third."), ROW, ROW]
    annotated = write(tmp_path / "a.csv", rows)
    assert [t.text for t in read_texts([annotated], "summary")] == ["Rents rose. Third."]
    assert len(read_texts([annotated], "sentence")) == 2
    twice = lines_of(tmp_path / "t.jsonl", [{**NAMED, "summary": x} for x in ("A b.", "C d.")])
    with pytest.raises(InputError, match="Different summaries"):
        read_texts([twice], "summary")
    with pytest.raises(InputError, match=r"s\.jsonl:1: summary is"):
        read_texts([lines_of(tmp_path / "s.jsonl", [{**NAMED, "summary": " "}])], "summary")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**NAMED, "sent_idx": 1}, "label and score are missing"),
        ({**NAMED, "sent_idx": 1, "score": "high"}, "score must"),
        ({**NAMED, "sent_idx": 1, "label": "yes", "run": [1]}, "run must"),
        ({**NAMED, "sent_idx": 2, "score": 0.5}, "This line"),
        ({**NAMED, "sent_idx": 2, "label": "yes"}, "The same text"),
    ],
)
def test_wrong_predictions_are_named(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    first = {**NAMED, "sent_idx": 2, "label": "no"}
    path = lines_of(tmp_path / "p.jsonl", [first, row])
    with pytest.raises(InputError, match=f"p.jsonl:2: .*{message}"):
        read_evaluator(path)


def test_predictions(tmp_path: Path) -> None:
    rows = [
        {**NAMED, "sent_idx": "1", "label": 1, "run": 0},
        {**NAMED, "sent_idx": 1, "label": False, "run": 1},
        {**NAMED, "label": "No", "run": 1},
        {**NAMED, "sent_idx": 2, "label": None, "run": 0},
    ]
    found = read_evaluator(lines_of(tmp_path / "p.jsonl", rows))
    assert (found.name, found.scored, list(found.runs)) == ("p", False, ["0", "1"])
    first, second = found.runs.values()
    assert {index: p.inconsistent for (_, index), p in first.items()} == {1: False, 2: None}
    assert {index: p.inconsistent for (_, index), p in second.items()} == {1: True, None: True}
