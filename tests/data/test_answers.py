"""Answers with their sources, in a file of any shape that JSON allows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from semqa.data.answers import GivenAnswer, answer_in, read_answers
from semqa.errors import InputError
from semqa.quotes import Source

ROW = {"question": "Who?", "answer": "[ 1 Ann ]", "sources": [{"text": "Ann", "title": "T"}]}
READ = GivenAnswer("1", "Who?", "[ 1 Ann ]", (Source("Ann", "T"),))


@pytest.mark.parametrize(
    "text",
    [json.dumps(ROW), json.dumps(ROW, indent=2), json.dumps([ROW]), f"\n{json.dumps(ROW)}\n\n"],
)
def test_one_answer_on_a_line_over_lines_or_in_an_array(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    assert read_answers(tmp_path / "a.json") == [READ]


def test_keys_are_the_rows_own_or_their_numbers(tmp_path: Path) -> None:
    other = {"prediction": "x", "sources": ROW["sources"]}
    rows = [{**ROW, "qid": "q"}, {**other, "id": "i"}, other]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert [each.key for each in read_answers(tmp_path / "a.jsonl")] == ["q", "i", "3"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"answer": "x"}', "a.jsonl:1: no usable sources: got null"),
        ('{"answer": "x", "sources": "a"}', "no usable sources"),
        ('{"answer": "x", "sources": [], "dropped": 3}', "a.jsonl:1"),
        (
            '{"answer": "x", "sources": [], "dropped": [{"source": 1, "text": "x"}]}',
            "dropped mark 1",
        ),
        ('{"answer": 3, "sources": [{"text": "a"}]}', "wrong type in field 'answer'"),
        ('{"sources": [{"text": "a"}]}', "missing field 'prediction'"),
        ('{"answer": "x", "sources": [{"txt": "a"}]}', "a.jsonl:1: source 1: missing field 'text'"),
        ('{"answer": "x", "sources": ["a"]}', "a.jsonl:1: source 1: not an object"),
        ('{"id": 3, "answer": "x", "sources": [{"text": "a"}]}', "wrong type in field 'id'"),
        ('{"answer": "x", "sources": [{"text": "a"}], "id": "q"}\n' * 2, "a.jsonl:2: doubled key"),
        ("[]", "nothing to read"),
        ("", "nothing to read"),
        ("{", "a.jsonl"),
        ("[1]", "item 1: not an object"),
    ],
)
def test_what_is_wrong_in_a_row_is_named(tmp_path: Path, row: str, message: str) -> None:
    (tmp_path / "a.jsonl").write_text(row, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_answers(tmp_path / "a.jsonl")
    assert message in str(caught.value)


MARK = {"source": 1, "text": "Lee", "reason": "no", "answer_start": 16, "answer_end": 19, "plain_start": 10, "plain_end": 13}  # fmt: skip
DROPPED = {
    "answer": "It is [ 1 Ann ] Lee.",
    "sources": [{"text": "Ann"}],
    "dropped": [MARK],
}


def test_dropped_marks_of_a_record_count() -> None:
    record = answer_in(json.dumps(DROPPED), "a.json")
    assert record is not None
    answer = record.read()
    assert [mark.text for mark in answer.dropped] == ["Lee"]
    assert (answer.verdict().value, answer.verified) == ("unverified", False)


@pytest.mark.parametrize(
    "wrong",
    [{"text": "Ley"}, {"plain_start": 9}, {"answer_end": 99}, {"plain_start": 6, "plain_end": 9, "text": "Ann"}],
)  # fmt: skip
def test_dropped_marks_must_stand_in_free_text(wrong: dict[str, object]) -> None:
    record = answer_in(json.dumps({**DROPPED, "dropped": [{**MARK, **wrong}]}), "a.json")
    assert record is not None
    with pytest.raises(InputError, match="dropped"):
        record.read()
