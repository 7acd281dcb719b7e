"""Tests keep out of the user's cache folder, and so do the commands that they start."""

from __future__ import annotations

from pathlib import Path

import pytest

from semqa.data.fetch import cache_folder
from tests.cli.conftest import Command


def test_the_cache_of_tests_is_their_own(own_cache: Path, tmp_path: Path) -> None:
    assert cache_folder() == own_cache
    assert own_cache.parent == tmp_path.parent


def test_a_command_keeps_to_it(
    semqa: Command, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what else is set on a machine, commands under test hear nothing."""
    monkeypatch.setenv("SEMQA_MAX_BYTES", "not a number")
    files = semqa("data", "ls", "--json").json["files"]
    assert {Path(file["path"]).parent for file in files} == {own_cache / "quotesum"}
