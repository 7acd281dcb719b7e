"""AmbigQA's files: incremental reading, and passages that contain the answers."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semqa.errors import InputError
from semqa.questions import ambigqa
from semqa.questions.ambigqa import find_answer, find_candidates, read_array, split_article
from semqa.questions.run import Steps
from tests.effort import effort

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
objects = st.lists(st.dictionaries(st.text(max_size=4), values, max_size=3), max_size=6)


@settings(max_examples=effort(50), deadline=None)
@given(
    given_=objects,
    chunk=st.integers(1, 40),
    skip=st.integers(0, 3),
    indent=st.sampled_from((None, 1)),
)
def test_an_array_reads_the_same_in_pieces(
    tmp_path_factory: pytest.TempPathFactory,
    given_: list[dict[str, Any]],
    chunk: int,
    skip: int,
    indent: int | None,
) -> None:
    path = tmp_path_factory.mktemp("array") / "a.json"
    path.write_text(json.dumps(given_, ensure_ascii=bool(skip), indent=indent), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ambigqa, "_CHUNK", chunk)
        assert [each.fields for each in read_array(path, skip)] == given_[skip:]


def test_a_damaged_gz_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(json.dumps([{"a": i} for i in range(9_999)]).encode())[:-20])
    with pytest.raises(InputError, match="damaged"):
        list(read_array(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}', "must be a JSON array"),
        ('[{"a": 1}, 3]', "item 2: must be an object"),
        ('[{"a": 1}', "is not closed"),
        ('[{"a": ', "item 1: invalid JSON"),
        ("[" * 100_000, "nested too deeply|invalid JSON"),
    ],
)
def test_other_json_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        list(read_array(path))


PAIRS = [
    {"question": "Who won in 1998?", "answer": ["Ann Lee", "A. Lee"]},
    {"question": "Who won in 2002?", "answer": ["Josh Gates"]},
]
ARTICLE = (
    "# Norval Cup\n\nIt is old.\n\n## Winners\n\nA. LEE won in 1998.\n* Josh Gates won in 2002."
)


def item(**more: Any) -> dict[str, Any]:
    return {
        "id": "7",
        "question": "Who won the cup?",
        "annotations": [
            {"type": "singleAnswer", "answer": ["Ann"]},
            {"type": "multipleQAs", "qaPairs": PAIRS},
        ],
        "articles_plain_text": [ARTICLE],
        **more,
    }


def candidates(tmp_path: Path, *items: dict[str, Any]) -> list[dict[str, Any]]:
    path = tmp_path / "train.json"
    path.write_text(json.dumps(items))
    with closing(sqlite3.connect(":memory:")) as database:
        Steps(database)
        list(find_candidates(database, [path], None))
        return [json.loads(row) for (row,) in database.execute("SELECT row FROM candidate")]


def test_passages_that_hold_an_answer(tmp_path: Path) -> None:
    (found,) = candidates(tmp_path, item())
    assert found["qid"] == "AMBIG_7"
    assert found["disambiguation"] == "Who won in 1998? | Who won in 2002?"
    assert [(each["answer"], each["title"], each["text"]) for each in found["answers"]] == [
        ("A. LEE", "Norval Cup", "A. LEE won in 1998."),
        ("Josh Gates", "Norval Cup", "* Josh Gates won in 2002."),
    ]


def test_questions_of_one_answer_are_left_out(tmp_path: Path) -> None:
    assert candidates(tmp_path, item(annotations=[{"type": "singleAnswer"}])) == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"articles_plain_text": None}, "no articles.*Use the release of AmbigQA with evidence"),
        ({"annotations": 3}, "annotations must be a list"),
        ({"annotations": [{"type": "multipleQAs"}]}, "qaPairs must contain objects"),
        ({"articles_plain_text": "# A"}, "must be a list of strings"),
    ],
)
def test_items_of_another_shape_are_refused(
    tmp_path: Path, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        candidates(tmp_path, item(**more))


def test_long_paragraphs_are_cut_between_sentences() -> None:
    sentences = [f"Sentence number {n} has quite a few words in it, as you see." for n in range(40)]
    parts = [text for _, text in split_article("# T\n\n" + " ".join(sentences))]
    assert " ".join(parts) == " ".join(sentences)
    assert all(
        len(part.split()) <= ambigqa.MAX_PASSAGE_WORDS and part.endswith("see.") for part in parts
    )


def test_answers_are_whole_words() -> None:
    assert find_answer("Lee", "Leeds") is None
    assert find_answer("C++", "They wrote c++ code.") == "c++"
    assert find_answer("ann  lee", "by Ann\nLee.") == "Ann\nLee"
