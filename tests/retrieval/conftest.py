"""Data that several of these tests need."""

from __future__ import annotations

from pathlib import Path

import pytest

from semqa.data.quotesum import Question, read_quotesum


@pytest.fixture
def shared_quotesum(shared: Path) -> list[Question]:
    """The released questions that tests may read."""
    return read_quotesum(shared / "data" / "quotesum" / "dev_a.jsonl")
