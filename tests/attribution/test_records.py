"""Records of runs, written and read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from semqa.attribution.records import kind_of, read_record, read_table, write_record
from semqa.errors import InputError

RECORD: dict[str, Any] = {
    "kind": "toy",
    "config": {"nested": {"deep": {}}},
    "rows": [{"a": 1, "text": "é\n}"}, {"a": 2}],
}


def test_reading(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_record(path, RECORD)
    found = read_record(path, "toy")
    assert [row.fields for row in found.rows] == RECORD["rows"]
    assert found.fields == {"kind": "toy", "config": RECORD["config"]}
    assert [row.fields for row in read_table(path)] == RECORD["rows"]
    write_record(path, {**RECORD, "rows": []})
    assert read_record(path, "toy").rows == []
    lines = tmp_path / "r.jsonl"
    lines.write_text('{"rows": 3}\n\n{"a": 2}\n', encoding="utf-8")
    assert [(row.where, row.fields) for row in read_table(lines)] == [
        (f"{lines}:1", {"rows": 3}),
        (f"{lines}:3", {"a": 2}),
    ]


def test_looking_at_a_pipe_does_not_empty_it(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert kind_of(path) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"kind": "other", "rows": []}', "r.json: kind must"),
        ("[]", "r.json: kind must"),
        ('{"kind": "toy"}', "r.json: rows must"),
        ('{"kind": "toy", "rows": [3]}', "row 1: must be an object"),
        ("{", "invalid JSON"),
    ],
)
def test_what_is_no_record(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "r.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_record(path, "toy")
    assert message in str(error.value)
