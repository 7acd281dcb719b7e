"""Files of examples, and data sets of related tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from semqa.attribution.attrscore.examples import read_examples
from semqa.attribution.attrscore.mapping import map_examples
from semqa.data.jsonl import write_jsonl
from semqa.errors import InputError

GENSEARCH = (
    "query,answer,reference,label\r\n"
    'Who sang it?,"Bing Crosby, a ""crooner"".","Two lines\r\nof text.",Attributable\r\n'
    "nan,It was 1942.,It was 1950.,contradictory\r\n"
)


def test_the_released_columns_are_read(tmp_path: Path) -> None:
    file = tmp_path / "AttrEval-GenSearch.csv"
    file.write_text("\ufeff" + GENSEARCH, encoding="utf-8", newline="")
    first, second = read_examples(file, labelled=True)
    assert (first.id, first.label) == ("1", "Attributable")
    assert first.claim() == 'Who sang it? Bing Crosby, a "crooner".'
    assert first.claim(with_query=False) == 'Bing Crosby, a "crooner".'
    assert first.reference == "Two lines\r\nof text."
    # What pandas makes of an empty query is none.
    assert (second.query, second.claim(), second.label) == ("", "It was 1942.", "Contradictory")
    assert second.where == f"{file}:4"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.csv", "query,answer,label\nq,a,Attributable\n", r"e\.csv:2: reference is missing"),
        ("e.csv", "answer,reference,label\na,r,Supported\n", r"e\.csv:2: label must"),
        ("e.csv", "answer,reference\n,r\n", r"e\.csv:2: answer is"),
        ("e.csv", "answer,reference\n", r"e\.csv: The file has no"),
        ("e.tsv", "answer\treference\na\tr\tx\n", r"e\.tsv:2: The line has"),
        ("e.jsonl", '{"answer": "a"}\n', r"e\.jsonl:1: reference is missing"),
        ("e.jsonl", '{"answer": "a", "reference": 3}\n', r"e\.jsonl:1: reference must be a string"),
        ("e.jsonl", '{"id": "x", "answer": "a", "reference": "r"}\n' * 2, r"e\.jsonl:2: The id"),
        ("e.json", '{"a": 1', r"e\.json:1: invalid JSON"),
    ],
)  # fmt: skip
def test_a_bad_example_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_examples(tmp_path / name)


A, C, E = "Attributable", "Contradictory", "Extrapolatory"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    write_jsonl(path, rows)
    return path


@pytest.mark.parametrize(
    ("task", "claim", "reference", "column", "spelled"),
    [
        ("fact-checking", "claim", "evidence", "label", {"SUPPORTS": A, "REFUTES": C, "NOT ENOUGH INFO": E, "Supported": A, "Not Enough Evidence": E, "SUPPORT": A, "CONTRADICT": C, "true": A, "false": C, "unproven": E, "mixture": E}),
        ("nli", "sentence2", "sentence1", "gold_label", {"entailment": A, "neutral": E, "contradiction": C}),
        ("nli", "hypothesis", "premise", "label", {0: A, 1: E, 2: C}),
        ("nli", "hypothesis", "context", "label", {"e": A, "n": E, "c": C}),
        ("summarization", "summary", "document", "label", {"factual": A, "extrinsic": E, "intrinsic": C, "CORRECT": A, "INCORRECT": E, "Non-hallucinated": A, "Non-factual Hallucination": E, "Factual Hallucination": E, "Intrinsic Hallucination": C}),
    ],
)  # fmt: skip
def test_each_spelling_has_its_label_as_in_appendix_a4(
    tmp_path: Path, task: str, claim: str, reference: str, column: str, spelled: dict[Any, str]
) -> None:
    file = write(
        tmp_path / "d.jsonl",
        [{claim: f"c{word}", reference: f"r{word}", column: word} for word in spelled],
    )
    examples, skipped = map_examples(file, task)
    assert [each.label for each in examples] == list(spelled.values())
    assert [each.answer for each in examples] == [f"c{word}" for word in spelled]
    assert [each.reference for each in examples] == [f"r{word}" for word in spelled]
    assert not skipped


def test_rows_without_a_label_are_skipped_and_counted(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"sentence1": "p", "sentence2": "h", "gold_label": label} for label in ("-", "neutral", "")
    ]
    rows += [
        {"premise": "p", "hypothesis": "h", "label": label} for label in (-1, "not_entailment")
    ]
    examples, skipped = map_examples(write(tmp_path / "d.jsonl", rows), "nli")
    assert len(examples) == 1
    assert skipped == {"no agreed label": 3, "no label corresponds to notentailment": 1}


def test_spellings_of_one_s_own(tmp_path: Path) -> None:
    rows = [
        {"claim": "s", "evidence": ["one", "two"], "label": word}
        for word in ("Half True", "pants-on-fire", "unproven")
    ]
    examples, skipped = map_examples(
        write(tmp_path / "d.jsonl", rows),
        "fact-checking",
        {"half true": None, "pants on fire": "Contradictory", "Unproven": "Extrapolatory"},
    )
    assert [(e.reference, e.label) for e in examples] == [("one two", C), ("one two", E)]
    assert skipped == {"no label corresponds to halftrue": 1}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"claim": "c", "evidence": "e", "label": "maybe"}, r"d\.jsonl:1: label is"),
        ({"claim": "c", "label": "SUPPORTS"}, r"d\.jsonl:1: The reference is missing"),
        ({"claim": "c", "label": "SUPPORTS", "evidence": [[1, 2, "Page", 3]]}, r"d\.jsonl:1: evidence must"),
        ({"claim": "c", "evidence": "e", "label": [1]}, r"d\.jsonl:1: label must"),
    ],
)  # fmt: skip
def test_a_bad_row_is_named(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        map_examples(write(tmp_path / "d.jsonl", [row]), "fact-checking")
