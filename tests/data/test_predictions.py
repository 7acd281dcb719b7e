"""Predictions: one a question, none for another."""

from __future__ import annotations

from pathlib import Path

import pytest

from semqa import InputError, Source
from semqa.data import Question, match_predictions, read_predictions


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path("p.jsonl")


def questions(*qids: str) -> list[Question]:
    return [Question(qid, "who?", (Source("Ada."),), ()) for qid in qids]


def test_predictions_are_read_in_order(file: Path) -> None:
    file.write_text(
        '{"qid": "b", "prediction": "[ 1 Ada ]", "seconds": 1}\n{"prediction": "", "qid": "a"}',
        "utf-8",
    )
    assert list(read_predictions(file).items()) == [("b", "[ 1 Ada ]"), ("a", "")]


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (
            '{"qid": "a", "prediction": "y"}',
            'p.jsonl:2: doubled qid: got "a" as at p.jsonl:1, expected one prediction for each '
            "question; drop one of the lines",
        ),
        ('{"prediction": "y"}', "p.jsonl:2: missing field 'qid': got the fields \"prediction\","),
        ('{"qid": "b"}', "p.jsonl:2: missing field 'prediction': got the fields \"qid\", expected"),
        ('{"qid": 1, "prediction": "y"}', "p.jsonl:2: wrong type in field 'qid': got the number 1"),
        (
            '{"qid": "b", "prediction": null}',
            "wrong type in field 'prediction': got null, expected",
        ),
        ('{"qid": "b", "prediction": ["y"]}', "wrong type in field 'prediction': got an array"),
    ],
)
def test_a_wrong_line_is_refused(file: Path, second: str, expected: str) -> None:
    file.write_text('{"qid": "a", "prediction": "x"}\n' + second, "utf-8")
    with pytest.raises(InputError) as caught:
        read_predictions(file)
    assert expected in str(caught.value)


def test_predictions_follow_the_questions() -> None:
    found = match_predictions(questions("a", "b"), {"b": "for b", "a": ""})
    assert found == ["", "for b"]


@pytest.mark.parametrize(
    ("predictions", "expected"),
    [
        (
            {"PAQ_val_12": "x", "PAQ_val_123": "y"},
            'p.jsonl: unknown qid: got "PAQ_val_12", expected the ids of the 2 questions; '
            'did you mean "PAQ_val_123"?',
        ),
        (
            {"zzz": "x", "yyy": "y"},
            'p.jsonl: unknown qid: got "zzz" and 1 more, expected the ids of the 2 questions; '
            "check that predictions and references belong together",
        ),
    ],
)
def test_an_unknown_qid_is_named(predictions: dict[str, str], expected: str) -> None:
    with pytest.raises(InputError) as caught:
        match_predictions(
            questions("PAQ_val_123", "AMBIG_7"), predictions, allow_missing=True, name="p.jsonl"
        )
    assert str(caught.value) == expected


def test_missing_predictions_are_counted_and_may_be_allowed() -> None:
    asked = questions(*"abcdefgh")
    with pytest.raises(InputError) as caught:
        match_predictions(asked, {"b": "x"})
    assert str(caught.value) == (
        'predictions: missing predictions: got none for 7 of 8 questions ("a", "c", "d", "e", "f" '
        "and 2 more), expected one for each; add them, or allow missing ones (--allow-missing)"
    )
    assert match_predictions(asked, {"b": "x"}, allow_missing=True) == ["", "x"] + [""] * 6
