"""QuoteSum files: read into questions, checked row against row, and written back the same."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from semqa import InputError, Source
from semqa.cli.data import app
from semqa.data import (
    Question,
    Reference,
    check_quotesum,
    match_predictions,
    read_predictions,
    read_quotesum,
    write_quotesum,
)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path("q.jsonl")


def row(number: int = 0, **fields: object) -> dict[str, object]:
    """One row of a made-up question with two sources."""
    return {
        "qid": "PAQ_val_1",
        "unique_id": f"PAQ_val_1_{number}",
        "question": "who built the lighthouse?",
        "summary": f"[ 1 Ada Stone ] built it, says answer {number}.",
        "covered_short_answers": "[ 1 Ada Stone ]",
        "title1": "Lighthouse",
        "source1": "Ada Stone built it in 1801.",
        "short_ans_1": "Ada Stone",
        "title2": "Harbour",
        "source2": "The harbour is older.",
    } | fields


def save(file: Path, *rows: dict[str, object]) -> None:
    file.write_text("".join(json.dumps(fields) + "\n" for fields in rows), "utf-8")


def test_rows_of_one_question_become_one_question(file: Path) -> None:
    other = row(qid="AMBIG_val_2", unique_id="AMBIG_val_2_0", question="when?")
    save(file, row(0), other, row(1, covered_short_answers="", note={"x": 1}))
    first, second = read_quotesum(file)
    assert (first.qid, first.question, first.origin) == (
        "PAQ_val_1",
        "who built the lighthouse?",
        "PAQ",
    )
    assert first.sources == (
        Source("Ada Stone built it in 1801.", "Lighthouse"),
        Source("The harbour is older.", "Harbour"),
    )
    assert first.numbers == (1, 2)
    texts = [f"[ 1 Ada Stone ] built it, says answer {n}." for n in range(2)]
    names = ("Ada Stone",)
    assert first.references == (
        Reference("PAQ_val_1_0", texts[0], "[ 1 Ada Stone ]", names),
        Reference("PAQ_val_1_1", texts[1], "", names, extra={"note": {"x": 1}}),
    )
    assert (second.origin, len(second.references)) == ("AmbigQA", 1)


def test_a_gap_keeps_the_numbers_of_the_sources(file: Path) -> None:
    save(file, row(source3="", title3="", title4="Coast", source4="Rocks.", source2="", title2=""))
    (question,) = read_quotesum(file)
    assert question.numbers == (1, 4)
    assert question.sources[3] == Source("Rocks.", "Coast")
    assert question.sources[1:3] == (Source(""), Source(""))
    write_quotesum(file, [question])
    assert read_quotesum(file) == [question]
    assert json.loads(file.read_text("utf-8"))["source4"] == "Rocks."


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (row(1, question="who built the lightship?"), "q.jsonl:2: question differs from q.jsonl:1"),
        (row(1, source2="The harbour is old."), "q.jsonl:2: source2 differs from q.jsonl:1"),
        (row(1, source3="More."), "q.jsonl:2: source3 differs from q.jsonl:1"),
        (row(0), 'q.jsonl:2: unique_id "PAQ_val_1_0" is already used at q.jsonl:1.'),
        (row(1, unique_id=""), "q.jsonl:2: unique_id is empty."),
        (row(1, source1="", source2=" "), "q.jsonl:2: No sources"),
        (row(1, source9="A ninth."), "q.jsonl:2: source9 exceeds the limit of 8 sources"),
        (row(1, summary=None), "q.jsonl:2: summary must be a string, got null"),
        ({"qid": "x"}, 'q.jsonl:2: question is missing; got the fields "qid"'),
    ],
)
def test_an_invalid_row_is_rejected(file: Path, second: dict[str, object], expected: str) -> None:
    save(file, row(0), second)
    with pytest.raises(InputError) as caught:
        read_quotesum(file)
    assert expected in str(caught.value)
    check = check_quotesum(file)
    assert check.errors == (str(caught.value),)
    assert [len(question.references) for question in check.questions] == [1]


ONE = Question("q", "q?", (Source("a", url="https://x.example"),), (Reference("u", "t"),))


@pytest.mark.parametrize(
    ("questions", "expected"),
    [
        ([replace(ONE, sources=(Source("a"),) * 9)], 'Question "q" has more than 8 sources'),
        (
            [replace(ONE, references=(Reference("u", "t", extra={"source7": ""}),))],
            'The extra column "source7" of question "q"',
        ),
        ([replace(ONE, references=())], 'q.jsonl: Question "q" has no reference'),
        ([ONE, ONE], 'q.jsonl: Question "q" occurs twice'),
        ([ONE, replace(ONE, qid="p")], 'q.jsonl: row 2: unique_id "u" is already used'),
        ([replace(ONE, question="")], "question is empty"),
        ([replace(ONE, sources=())], "q.jsonl: row 1: No sources"),
    ],
)
def test_invalid_questions_are_not_written(
    file: Path, questions: list[Question], expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        write_quotesum(file, questions)
    assert expected in str(caught.value)
    assert not file.exists()


words = st.text(max_size=8)
named = words.filter(lambda text: bool(text.strip()))
sources = st.builds(Source, text=words, title=words, url=st.none() | named)
references = st.builds(
    Reference,
    unique_id=st.uuids().map(str),
    text=words,
    short_answers=words,
    source_answers=st.lists(words, max_size=8).map(tuple),
    disambiguation=words,
    extra=st.dictionaries(words.map("x_".__add__), st.integers() | words | st.none(), max_size=1),
)
drawn = st.builds(
    Question,
    qid=named,
    question=named,
    sources=st.lists(sources, max_size=4).map(lambda given: (*given, Source("last"))),
    references=st.lists(references, min_size=1, max_size=2).map(tuple),
)


@settings(max_examples=50, deadline=None)
@given(st.lists(drawn, min_size=1, max_size=2, unique_by=lambda question: question.qid))
def test_round_trip(questions: list[Question]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "q.jsonl"
        write_quotesum(path, questions)
        assert read_quotesum(path) == questions


def naive_groups(path: Path) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for line in path.read_text("utf-8").split("\n"):
        if line:
            fields = json.loads(line)
            groups.setdefault(fields["qid"], []).append(fields)
    return groups


def test_the_released_file_is_read_as_it_is_and_written_back(shared: Path, tmp_path: Path) -> None:
    path, copy = shared / "data" / "quotesum" / "dev_a.jsonl", tmp_path / "copy.jsonl"
    groups = naive_groups(path)
    questions = read_quotesum(path)
    assert (len(questions), sum(len(question.references) for question in questions)) == (45, 129)
    assert [question.qid for question in questions] == list(groups)
    for question in questions:
        rows = groups[question.qid]
        assert question.numbers == tuple(k for k in range(1, 9) if rows[0][f"source{k}"])
        assert question.origin in ("PAQ", "AmbigQA")
        for k in question.numbers:
            source = Source(rows[0][f"source{k}"], rows[0][f"title{k}"])
            assert question.sources[k - 1] == source
        assert question.texts == tuple(fields["summary"] for fields in rows)
        assert question.short_answers == tuple(fields["covered_short_answers"] for fields in rows)
    write_quotesum(copy, questions)
    assert naive_groups(copy) == groups
    first, written = (each.read_text("utf-8").partition("\n")[0] for each in (path, copy))
    assert list(json.loads(first)) == list(json.loads(written))


def test_the_check_command(file: Path) -> None:
    def run(*args: str) -> Any:
        return CliRunner().invoke(app, ["check", *args], catch_exceptions=False)

    save(file, row(0), row(1))
    result = run("q.jsonl")
    assert (result.exit_code, result.stdout) == (0, "1 question, 2 references, 2 sources\n")
    assert json.loads(run("q.jsonl", "--json").stdout) == {
        "ok": True, "questions": 1, "references": 2, "sources": 2, "errors": [], "more": 0,
    }  # fmt: skip
    file.write_bytes(b"{\n" * 25)
    result = run("q.jsonl")
    assert (result.exit_code, result.stdout) == (2, "")
    lines = result.stderr.splitlines()
    assert len(lines) == 21
    assert lines[0].startswith("error: q.jsonl:1: invalid JSON")
    assert lines[-1] == "error: … and 5 more"
    result = run("q.jsonl", "--json")
    assert (result.exit_code, json.loads(result.stdout)["ok"]) == (2, False)
    with pytest.raises(InputError, match="no such file"):
        run("missing.jsonl")


def questions(*qids: str) -> list[Question]:
    return [Question(qid, "who?", (Source("Ada."),), ()) for qid in qids]


def test_predictions_are_read_in_order(file: Path) -> None:
    file.write_text(
        '{"qid": "b", "prediction": "[ 1 Ada ]", "seconds": 1}\n{"prediction": "", "qid": "a"}',
        "utf-8",
    )
    assert list(read_predictions(file).items()) == [("b", "[ 1 Ada ]"), ("a", "")]


def test_a_repeated_prediction_is_rejected(file: Path) -> None:
    file.write_text('{"qid": "a", "prediction": "x"}\n{"qid": "a", "prediction": "y"}', "utf-8")
    with pytest.raises(InputError, match=r"q\.jsonl:2: .* a prediction at q\.jsonl:1\."):
        read_predictions(file)


def test_predictions_follow_the_questions() -> None:
    assert match_predictions(questions("a", "b"), {"b": "for b", "a": ""}) == ["", "for b"]
    asked = questions(*"abcdefgh")
    with pytest.raises(InputError, match=r'7 of 8 .* "a", "c", "d", "e", "f" and 2 more'):
        match_predictions(asked, {"b": "x"})
    assert match_predictions(asked, {"b": "x"}, allow_missing=True) == ["", "x"] + [""] * 6


@pytest.mark.parametrize(
    ("predictions", "expected"),
    [
        (
            {"PAQ_val_12": "x", "PAQ_val_123": "y"},
            'q.jsonl: qid "PAQ_val_12" is not among the 2 questions. Did you mean "PAQ_val_123"?',
        ),
        ({"zzz": "x", "yyy": "y"}, 'q.jsonl: qid "zzz" and 1 more is not among the 2 questions.'),
    ],
)
def test_an_unknown_qid_is_named(predictions: dict[str, str], expected: str) -> None:
    asked = questions("PAQ_val_123", "AMBIG_7")
    with pytest.raises(InputError) as caught:
        match_predictions(asked, predictions, allow_missing=True, name="q.jsonl")
    assert expected in str(caught.value)
