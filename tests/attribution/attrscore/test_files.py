"""Files of examples: read with all their traps, written and read again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.attribution.attrscore.files import read_examples, write_examples
from semqa.attribution.attrscore.labels import LABELS, Example
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


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    examples = [
        Example(
            "a", "Who?", 'Ann, "the" builder', "Built by Ann.", "Attributable", {"made": "as is"}
        ),
        Example("b", "", "Bob", "Nothing.", None),
    ]
    write_examples(tmp_path / name, examples)
    again = read_examples(tmp_path / name)
    assert [each.to_dict() for each in again] == [each.to_dict() for each in examples]
    first = (tmp_path / name).read_bytes()
    write_examples(tmp_path / name, again)
    assert (tmp_path / name).read_bytes() == first


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
            st.sampled_from(LABELS),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_any_text_survives_csv(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    file = tmp_path_factory.mktemp("csv") / "e.csv"
    examples = [
        Example(f"i{i}", "q", f"a{text}", f"r{text}", label)  # type: ignore[arg-type]
        for i, (text, label) in enumerate(rows)
    ]
    write_examples(file, examples)
    assert [each.answer for each in read_examples(file)] == [each.answer for each in examples]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.csv", "query,answer,label\nq,a,Attributable\n", r"e\.csv:2: reference is missing"),
        ("e.csv", "answer,reference,label\na,r,Supported\n", r"e\.csv:2: label must"),
        ("e.csv", "answer,reference,label\na,r\n", r"e\.csv:2: "),
        ("e.csv", "answer,reference\n,r\n", r"e\.csv:2: answer is"),
        ("e.csv", 'answer,reference\n"a,r\n', r"e\.csv:2: invalid CSV"),
        ("e.csv", "answer,answer,reference\na,b,r\n", r"e\.csv:1: The column"),
        ("e.csv", "answer,reference\n", r"e\.csv: The file has no"),
        ("e.csv", "", r"the file is empty"),
        ("e.tsv", "answer\treference\na\tr\tx\n", r"e\.tsv:2: The line has"),
        ("e.jsonl", '{"answer": "a"}\n', r"e\.jsonl:1: reference is missing"),
        ("e.jsonl", '{"answer": "a", "reference": 3}\n', r"e\.jsonl:1: reference must be a string"),
        ("e.jsonl", '{"id": "x", "answer": "a", "reference": "r"}\n' * 2, r"e\.jsonl:2: The id"),
        ("e.json", '{"a": 1', r"e\.json:1: invalid JSON"),
    ],
)  # fmt: skip
def test_a_bad_row_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_examples(tmp_path / name)


def test_labels_may_be_missing_unless_they_are_needed(tmp_path: Path) -> None:
    file = tmp_path / "e.json"
    file.write_text(json.dumps([{"answer": "a", "reference": "r"}]), encoding="utf-8")
    assert read_examples(file)[0].label is None
    with pytest.raises(InputError, match=r"e\.json: item 1: label must"):
        read_examples(file, labelled=True)
