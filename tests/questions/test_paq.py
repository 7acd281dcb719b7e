"""PAQ's files: merging compared with a dictionary, and invalid files."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
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
from semqa.questions.run import run_step
from tests.effort import effort

asked = st.sampled_from(("who sang it", "Who  sang it?", "when was it", "where is it", "why"))
spans = st.tuples(st.sampled_from(("Ann", "the Ann", "Bob", "1943", "é")), st.integers(1, 4))
lines = st.lists(st.tuples(asked, st.lists(spans, max_size=3)), min_size=1, max_size=12)


def row(question: str, answers: list[tuple[str, int]]) -> dict[str, Any]:
    found = [
        {"passage_id": str(passage), "offset": 0, "text": text, "extractor": "L"}
        for text, passage in answers
    ]
    return {
        "question": question,
        "subsets": ["L1"],
        "answer": "x",
        "passage_score": -1.0,
        "answers": found,
    }


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    data = "".join(json.dumps(each) + "\n" for each in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def merged(files: list[Path], folder: Path, count: int) -> list[dict[str, Any]]:
    buckets = [folder / f"bucket-{number}" for number in range(count)]
    run_step(
        folder / "note.json", buckets, lambda place: paq.sort_into_buckets(files, count, place)
    )
    return [json.loads(line) for bucket in buckets for line in paq.merge_bucket(bucket)[0]]


@settings(max_examples=effort(60), deadline=None)
@given(given_=lines, count=st.integers(1, 5), cut=st.integers(0, 12), packed=st.booleans())
def test_questions_merge_as_in_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory,
    given_: list[tuple[str, list[tuple[str, int]]]],
    count: int,
    cut: int,
    packed: bool,
) -> None:
    folder = tmp_path_factory.mktemp("paq")
    rows = [row(*each) for each in given_]
    name = "b.jsonl.gz" if packed else "b.jsonl"
    files = [write(folder / "a.jsonl", rows[:cut]), write(folder / name, rows[cut:])]
    found = {
        question_key(each["question"]): each["answers"] for each in merged(files, folder, count)
    }
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
            '{"question": "who", "answer": ["Ann"]}',
            r"questions\.jsonl:1: This PAQ file has no passages",
        ),
        ('{"question": "who"}', "answers must be a list, got null"),
        ('{"question": " ", "answers": []}', "question is empty"),
        (
            '{"question": "who", "answers": [{"text": "Ann"}]}',
            "passage_id must be a number of at least 1",
        ),
        (
            '{"question": "who", "answers": [{"text": "A", "passage_id": "-1"}]}',
            "passage_id must be",
        ),
        ('{"question": "who", "answers": ["Ann"]}', "must contain objects with"),
        ('{"question": "who", ', "invalid JSON"),
        ("[1]", "must be an object"),
    ],
)
def test_lines_of_another_shape_are_refused(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=message):
        list(paq.sort_into_buckets([path], 2, None))


def test_line_numbers_are_right_after_a_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paq, "LINES_PER_STEP", 1)
    path = tmp_path / "questions.jsonl"
    path.write_text('\n{"question": "who", "answers": []}\n\n[1]\n')
    first = next(paq.sort_into_buckets([path], 2, None))
    with pytest.raises(InputError, match=r"questions\.jsonl:4"):
        list(paq.sort_into_buckets([path], 2, first.place))


def test_a_damaged_gz_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(b'{"question": "who", "answers": []}\n' * 1_000)
    path = tmp_path / "questions.jsonl.gz"
    path.write_bytes(whole[:-20])
    with pytest.raises(InputError, match="damaged"):
        list(paq.sort_into_buckets([path], 2, None))


TSV = (
    "id\ttext\ttitle\n"
    '1\t"Aaron Aaron (or ""Ahärôn"") is a prophet"\tAaron\n'
    '3\tplain text here\t"""Weird Al"" Yankovic"\n'
)


@pytest.mark.parametrize("text", [TSV, "\ufeff" + TSV, "\ufeff" + TSV.partition("\n")[2]])
def test_passages_are_found_by_id(tmp_path: Path, text: str) -> None:
    path = tmp_path / "psgs_w100.tsv"
    path.write_text(text, encoding="utf-8")
    for _ in range(2):  # the second time from the index
        with paq.PassageFile(path, tmp_path / "index.npy") as passages:
            passages.prepare()
            assert passages.find(1) == ("Aaron", 'Aaron Aaron (or "Ahärôn") is a prophet')
            assert passages.find(3) == ('"Weird Al" Yankovic', "plain text here")
            assert passages.find(2) is None
            assert passages.find(99) is None


@pytest.mark.parametrize("text", ["id\ttext\ttitle\nx\ty\tz\n", "id\ttext\ttitle\n1\ty\n"])
def test_passages_of_another_shape_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "psgs_w100.tsv"
    path.write_text(text)
    with (
        paq.PassageFile(path, tmp_path / "index.npy") as passages,
        pytest.raises(InputError, match=r"psgs_w100\.tsv:2: must be id, text and title"),
    ):
        passages.prepare()
    with pytest.raises(InputError, match="gunzip -k"):
        paq.PassageFile(tmp_path / "psgs_w100.tsv.gz", tmp_path / "index.npy")


def test_an_unclosed_quotation_mark_names_the_passage(tmp_path: Path) -> None:
    path = tmp_path / "psgs_w100.tsv"
    path.write_text('id\ttext\ttitle\n1\t"a b\tTitle\n')
    with paq.PassageFile(path, tmp_path / "index.npy") as passages:
        passages.prepare()
        with pytest.raises(InputError, match=r"passage 1: .*not closed"):
            passages.find(1)


def test_answers_that_are_not_in_their_passage_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "psgs_w100.tsv"
    path.write_text(TSV, encoding="utf-8")
    given_ = Row(
        "merged:1",
        {"qid": "PAQ_1", "question": "who?", "answers": [["a PROPHET", 1], ["Al", 1], ["x", 2]]},
    )
    with paq.PassageFile(path, tmp_path / "index.npy") as passages:
        passages.prepare()
        question, counts = paq.with_passages(given_, passages)
    assert [each.answer for each in question.answers] == ["a PROPHET"]
    assert counts == {"absent": 1, "missing": 1}
