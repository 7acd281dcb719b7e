"""`semqa data`: output and errors; downloads are tested in tests/data."""

from __future__ import annotations

from pathlib import Path

import pytest

from semqa.data import fetch
from tests.cli.conftest import EXAMPLES, Command


def test_check_prints_counts(semqa: Command) -> None:
    outcome = semqa("data", "check", EXAMPLES / "quotesum.jsonl")
    assert (outcome.code, outcome.out) == (0, "3 questions, 7 references, 9 sources\n")
    record = semqa("data", "check", EXAMPLES / "quotesum.jsonl", "--json").json
    assert (record["ok"], record["errors"]) == (True, [])


def test_check_names_every_bad_line(semqa: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"qid": 7}\n{}\n', encoding="utf-8")
    outcome = semqa("data", "check", "bad.jsonl")
    assert (outcome.code, outcome.out) == (2, "")
    assert "bad.jsonl:1: qid must be a string" in outcome.err
    assert "bad.jsonl:2: qid is missing" in outcome.err
    assert semqa("data", "check", "bad.jsonl", "--json").json["ok"] is False


def test_ls_shows_the_cache(semqa: Command, tmp_path: Path) -> None:
    env = {"SEMQA_CACHE": str(tmp_path / "cache")}
    record = semqa("data", "list", "--json", env=env).json
    assert {(file["split"], file["state"]) for file in record["files"]} == {
        ("train", "absent"), ("dev", "absent"), ("test", "absent"),
    }  # fmt: skip
    assert "quotesum dev" in semqa("data", "list", env=env).out


def test_no_network_is_one_line(
    semqa: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_sleep", lambda _: None)
    env = {"SEMQA_CACHE": str(tmp_path), "SEMQA_QUOTESUM_URL": "http://127.0.0.1:9/none"}
    outcome = semqa("data", "fetch", "quotesum", env=env)
    assert outcome.code == 1
    assert outcome.err.startswith("error: Cannot download http://127.0.0.1:9/none/dev.jsonl")
    assert outcome.err.count("\n") == 1
