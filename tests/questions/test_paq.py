"""PAQ's files: merging compared with a dictionary, and invalid files."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa.data.jsonl import Row
from semqa.errors import InputError
from semqa.metrics.text import normalise_answer
from semqa.questions import paq
from semqa.questions.records import question_key
from semqa.questions.run import Steps
from tests.effort import effort

asked = st.sampled_from(("who sang it", "Who  sang it?", "when was it", "where is it", "why"))
spans = st.tuples(st.sampled_from(("Ann", "the Ann", "Bob", "1943", "é")), st.integers(1, 4))
lines = st.lists(st.tuples(asked, st.lists(spans, max_size=3)), min_size=1, max_size=12)


def row(question: str, answers: list[tuple[str, int]]) -> dict[str, Any]:
    found = [{"passage_id": str(passage), "text": text} for text, passage in answers]
    return {"question": question, "answer": "x", "answers": found}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    data = "".join(json.dumps(each) + "\n" for each in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        Steps(connection)
        yield connection


def merged(files: list[Path]) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        Steps(connection)
        list(paq.read_mentions(connection, files, None))
        list(paq.merge_mentions(connection, None))
        return [json.loads(row) for (row,) in connection.execute("SELECT row FROM candidate")]


@settings(max_examples=effort(30), deadline=None)
@given(given_=lines, cut=st.integers(0, 12), packed=st.booleans())
def test_questions_merge_as_in_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory,
    given_: list[tuple[str, list[tuple[str, int]]]],
    cut: int,
    packed: bool,
) -> None:
    folder = tmp_path_factory.mktemp("paq")
    rows = [row(*each) for each in given_]
    name = "b.jsonl.gz" if packed else "b.jsonl"
    files = [write(folder / "a.jsonl", rows[:cut]), write(folder / name, rows[cut:])]
    found = {question_key(each["question"]): each["answers"] for each in merged(files)}
    expected: defaultdict[str, dict[tuple[str, int], str]] = defaultdict(dict)
    for question, answers in given_:
        for text, passage in answers:
            expected[question_key(question)].setdefault((normalise_answer(text), passage), text)
    several = {
        key: [[text, passage] for (_, passage), text in answers.items()]
        for key, answers in expected.items()
        if len({a for a, _ in answers}) > 1 and len({p for _, p in answers}) > 1
    }
    assert found == several


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"question": "w", "answer": ["A"]}',
            r"questions\.jsonl:1: This PAQ file has no passages",
        ),
        ('{"question": "who"}', "answers must be a list, got null"),
        ('{"question": " ", "answers": []}', "question is empty"),
        ('{"question": "w", "answers": [{"text": "A", "passage_id": "-1"}]}', "passage_id must be"),
        ('{"question": "who", "answers": ["Ann"]}', "must contain objects with"),
        ('{"question": "who", ', "invalid JSON"),
    ],
)
def test_lines_of_another_shape_are_refused(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=message):
        merged([path])


def test_line_numbers_are_right_after_a_resume(
    database: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paq, "ROWS", 1)
    path = tmp_path / "questions.jsonl"
    path.write_text(f"\n{json.dumps(row('who', [('Ann', 1)]))}\n\n[1]\n")
    first = next(paq.read_mentions(database, [path], None))
    with pytest.raises(InputError, match=r"questions\.jsonl:4"):
        list(paq.read_mentions(database, [path], first.place))


def test_a_damaged_gz_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(b'{"question": "who", "answers": []}\n' * 1_000)
    path = tmp_path / "questions.jsonl.gz"
    path.write_bytes(whole[:-20])
    with pytest.raises(InputError, match="damaged"):
        merged([path])


TSV = (
    "id\ttext\ttitle\n"
    '1\t"Aaron Aaron (or ""Ahärôn"") is a prophet"\tAaron\n'
    '3\tplain text here\t"""Weird Al"" Yankovic"\n'
)


@pytest.mark.parametrize("text", [TSV, "\ufeff" + TSV, "\ufeff" + TSV.partition("\n")[2]])
def test_passages_are_found_by_id(database: sqlite3.Connection, tmp_path: Path, text: str) -> None:
    path = tmp_path / "psgs_w100.tsv"
    path.write_text(text, encoding="utf-8")
    database.executemany("INSERT INTO passage (id) VALUES (?)", [(1,), (2,), (3,)])
    list(paq.read_passages(database, path, None))
    assert database.execute("SELECT * FROM passage").fetchall() == [
        (1, "Aaron", 'Aaron Aaron (or "Ahärôn") is a prophet'),
        (2, None, None),
        (3, '"Weird Al" Yankovic', "plain text here"),
    ]
    answers = [["a PROPHET", 1], ["Al", 1], ["x", 2]]
    given_ = Row("merged:1", {"qid": "PAQ_1", "question": "who?", "answers": answers})
    question, counts = paq.with_passages(database, given_)
    assert [each.answer for each in question.answers] == ["a PROPHET"]
    assert counts == {"absent": 1, "missing": 1}


@pytest.mark.parametrize("line", ["x\ty\tz", "1\ty", '1\t"a b\tTitle'])
def test_passages_of_another_shape_are_refused(
    database: sqlite3.Connection, tmp_path: Path, line: str
) -> None:
    path = tmp_path / "psgs_w100.tsv"
    path.write_text(f"id\ttext\ttitle\n{line}\n")
    with pytest.raises(InputError, match=r"psgs_w100\.tsv:2: must be"):
        list(paq.read_passages(database, path, None))
