"""Records: what is written is read again, and what is none is refused."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semqa.attribution.judges import create_judge
from semqa.attribution.q2 import Q2, Response, RuleSpans, Run, Settings
from semqa.attribution.q2.record import judged_of, read_if_run, run_of
from semqa.attribution.records import describe_judge
from semqa.data.jsonl import Row
from semqa.errors import InputError

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(allow_nan=False)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


def made() -> Run:
    judge = create_judge("lexical")
    responses = [
        Response("1", "Ann built the bridge in 1932.", "Ann built it in 1933.", True, "a", "0"),
        Response("2", "oh yes", "no", None, "b", "0", scores={}),
    ]
    scores = Q2(judge, RuleSpans()).score(responses)
    return Run(tuple(scores), Settings(), describe_judge(judge), "rules", ())


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(made().to_dict(), allow_nan=False))
    return found


def test_a_record_is_read_again(record: dict[str, Any]) -> None:
    again = run_of(Row("r.json", record))
    assert again.to_dict() == record
    assert [score.response.inconsistent for score in again.scores] == [True, None]
    assert set(record["systems"]) == {"a", "b"}
    assert {name for each in judged_of(again) for name in each.scores} == {"q2", "q2_no_nli"}


def paths(value: Any, *before: str | int) -> list[tuple[str | int, ...]]:
    """Return where every part of a JSON value stands."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [(*before, key) for key, _ in inner] + [
        path for key, part in inner for path in paths(part, *before, key)
    ]


@given(st.data())
def test_a_damaged_record_is_refused_or_scored(record: dict[str, Any], data: st.DataObject) -> None:
    damaged = copy.deepcopy(record)
    *before, last = data.draw(st.sampled_from(paths(damaged)))
    part: Any = damaged
    for key in before:
        part = part[key]
    if data.draw(st.booleans()):
        part[last] = data.draw(JSON)
    else:
        del part[last]
    try:
        found = run_of(Row("r.json", damaged)).to_dict(resamples=0)
    except InputError as error:
        refused = str(error)
    else:
        refused = "r.json"
        json.dumps(found, allow_nan=False)
    assert refused.startswith("r.json")


def test_other_files_are_no_records(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"response": "r", "knowledge": "k"}\n', encoding="utf-8")
    assert read_if_run(path) is None
    assert read_if_run(Path("-")) is None
    path.write_text(json.dumps(made().to_dict()), encoding="utf-8")
    found = read_if_run(path)
    assert found is not None
    assert len(found.scores) == 2
