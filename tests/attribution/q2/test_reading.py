"""Files of responses, and records of runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from semqa.attribution.judges import create_judge
from semqa.attribution.q2 import Q2, Response
from semqa.attribution.q2.measure import run_record
from semqa.attribution.q2.meta import read_judged
from semqa.attribution.q2.reading import read_responses
from semqa.attribution.q2.spans import RuleSpans
from semqa.errors import InputError

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def run(text: str, name: str = "file.csv") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return run


def test_one_response_a_row(write: Write) -> None:
    path = write(
        ',response,topic,knowledge,label,system\n0,"a, ""b""\nc",t,K,1,x\n7,nan,t,NA,0.0,\n,d,t,k,,\n'
    )
    file = read_responses(path)
    assert (file.kind, file.dropped, file.repeated) == ("responses", 0, [])
    found = [(r.id, r.text, r.knowledge, r.inconsistent, r.system) for r in file.responses]
    assert found == [
        ("0", 'a, "b"\nc', "K", True, "x"),
        ("1", "nan", "NA", False, None),
        ("2", "d", "k", None, None),
    ]
    assert [r.where.rpartition(":")[2] for r in file.responses] == ["2", "4", "5"]


TOPICAL_CHAT = [
    {
        "context": "Hi!",
        "fact": "red green blue\n",
        "annotators": ["a", "b", "c"],
        "responses": [
            {"response": text, "model": model, "Uses Knowledge": given, "Overall": [5, 5, 5]}
            for text, model, given in (
                ("red green blue\n", "Original Ground Truth", [1, 1, 1]),
                ("red\n", "Argmax Decoding", [1, 0, 1]),
                ("grey\n", "Argmax Decoding", [0, 0, 0]),
            )
        ],
    }
]
"""The form of ``tc_usr_data.json``."""


def test_ratings_of_topical_chat_are_read(write: Write) -> None:
    file = read_responses(write(json.dumps(TOPICAL_CHAT), "tc_usr_data.json"))
    assert [(r.system, r.rating) for r in file.responses] == [
        ("Original Ground Truth", 1),
        ("Argmax Decoding", pytest.approx(2 / 3)),
        ("Argmax Decoding", 0),
    ]
    assert {(r.knowledge, r.context) for r in file.responses} == {("red green blue\n", None)}
    for wrong in (
        [{"fact": "f"}],
        [{"fact": "f", "responses": [{"response": "r", "model": "m"}]}],
        [1],
        [],
    ):
        with pytest.raises(InputError):
            read_responses(write(json.dumps(wrong)))


def test_pairs_of_dialogue_nli_are_read(write: Write) -> None:
    pair = {"sentence1": "i have a dog .", "sentence2": "i have a pet .", "id": "x", "dtype": "y"}
    rows = [{**pair, "label": label} for label in ("positive", "neutral", "negative")]
    file = read_responses(write(json.dumps(rows), "dialogue_nli_dev.jsonl"))
    assert [(r.inconsistent, r.rating) for r in file.responses] == [
        (False, 1.0),
        (None, 0.5),
        (True, 0.0),
    ]
    assert {(r.knowledge, r.text) for r in file.responses} == {("i have a dog .", "i have a pet .")}
    with pytest.raises(InputError, match="item 1: label must be positive"):
        read_responses(write(json.dumps([{**pair, "label": "maybe"}])))


@pytest.mark.parametrize(
    ("name", "inconsistent"),
    [
        ("dodeca_consistent.csv", False),
        ("memnet-Inconsistent.v2.csv", True),
        ("inconsistently.csv", None),
        ("consistent_and_inconsistent.csv", None),
    ],
)
def test_a_files_name_is_its_class(write: Write, name: str, inconsistent: bool | None) -> None:
    path = write("response,knowledge\nr,k\n", name)
    (response,) = read_responses(path).responses
    assert response.inconsistent is inconsistent


def test_one_context_a_row_for_any_systems(write: Write) -> None:
    path = write(
        "knowledge,a_response,b_response,b_label,c_response,c_label,a_label,b_mine,a_mine,c_mine\n"
        "K,ra,rb,1,rc,0,0,.5,.25,1\n"
    )
    file = read_responses(path, measures=("mine",))
    assert file.kind == "contexts"
    found = [(r.id, r.system, r.text, r.inconsistent, r.context) for r in file.responses]
    assert found == [
        ("0/a", "a", "ra", False, "0"),
        ("0/b", "b", "rb", True, "0"),
        ("0/c", "c", "rc", False, "0"),
    ]
    assert [r.scores["mine"] for r in file.responses] == [0.25, 0.5, 1.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("response,knowledge\n", r"file\.csv: There are"),
        ("a,b\n1,2\n", r"file\.csv: There is"),
        ("response,b\n1,2\n", r"file\.csv:2: knowledge is missing"),
        ("response,knowledge\nr, \n", r"file\.csv:2: knowledge is"),
        ("response,knowledge,label\nr,k,2\n", r"file\.csv:2: label must"),
        ("response,knowledge,id\nr,k,x\nr,k,x\n", r"file\.csv:3: The id"),
    ],
)
def test_wrong_files(write: Write, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_responses(write(text))


def test_a_record_is_read_for_its_scores(tmp_path: Path) -> None:
    responses = [
        Response("1", "Ann built the bridge in 1932.", "Ann built it in 1933.", True, "a", "0"),
        Response("2", "oh yes", "no", None, "b", "0", scores={}, rating=0.5),
    ]
    record = run_record(Q2(create_judge("lexical"), RuleSpans()).score(responses), {})
    path = tmp_path / "r.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    found = read_judged(path)
    assert found is not None
    assert [each.inconsistent for each in found] == [True, None]
    assert [each.rating for each in found] == [None, 0.5]
    assert [each.scores["q2"] for each in found] == [row["q2"] for row in record["rows"]]
    for name, wrong in (("q2", "1"), ("inconsistent", 1), ("baselines", []), ("response", None)):
        damaged = {**record, "rows": [{**record["rows"][0], name: wrong}]}
        path.write_text(json.dumps(damaged), encoding="utf-8")
        with pytest.raises(InputError, match=rf"row 1: {name} "):
            read_judged(path)
